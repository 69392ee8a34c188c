package table

import (
	"bytes"
	"maps"
	"math"
	"slices"
)

// clues counts how the cells of a text column can be parsed if they are not in the plain notation.
type clues struct {
	bare      amounts             // numbers without a unit
	units     map[string]*amounts // numbers by unit
	plain     int                 // numbers that parseNumber accepts
	enclosed  int                 // numbers in parentheses
	several   map[float64]bool    // some distinct plain numbers
	formatted string              // the longest of the first numbers that are not plain

	times int               // cells that parseTime accepts
	dates map[string]*dates // numeric dates, by separator

	truths int    // words of booleans, and 0 and 1
	word   string // the first such word
	words  int    // its pair

	strays int    // cells that fit none of these
	stray  string // the first of them
	codes  bool   // whether any of them has a digit
}

// amounts counts numbers by their possible decimal signs.
type amounts struct {
	point, comma int    // numbers that need this decimal sign
	any          int    // numbers with the same value under both
	either       int    // numbers with different values under both, such as 1,234
	example      string // the first of these
}

// dates counts numeric dates by their possible orders.
type dates struct {
	day, month string // the first date with the day, or the month, first
	unclear    string // the first date that fits both
	days       int    // dates with the day first
	months     int    // with the month first
	both       int    // that fit both
	years      int    // that may have the year first
	all        int
}

const (
	maxUnits  = 8
	fewValues = 20 // maximum number of distinct numbers that, among labels, may be codes
)

// add examines an observed cell. number reports whether parseNumber accepts it, with the value v.
func (c *clues) add(cell []byte, v float64, number bool) {
	if number {
		c.addPlain(cell, v)
		return
	}
	const few = 10_000 // maximum number of such cells that do not decide, because the table may be sorted by the column
	if c.strays > few && c.strays > c.read()+c.truths {
		c.strays++ // enough of them: stop examining cells
		return
	}
	if _, pair, is := parseBoolean(cell); is {
		if c.truths++; c.word == "" {
			c.word, c.words = string(bytes.TrimSpace(cell)), pair
		}
		c.addStray(cell) // neither a number nor a date
		return
	}
	if _, is := parseTime(cell); is {
		c.times++
		return
	}
	if d, is := cutDate(limited(cell)); is && c.addDate(d, string(cell)) {
		return
	}
	a, is := parseAmount(string(limited(cell)))
	if !is || !c.addAmount(a, string(cell)) {
		c.addStray(cell)
	}
}

// read returns the number of cells that are numbers or dates.
func (c *clues) read() int {
	n := c.lookLikeTimes() + c.bare.all()
	for _, of := range c.units {
		n += of.all()
	}
	return n
}

// lookLikeTimes returns the number of cells that are dates in some order.
func (c *clues) lookLikeTimes() int {
	n := c.times
	for _, of := range c.dates {
		n += of.all
	}
	return n
}

func (c *clues) addStray(cell []byte) {
	if c.strays++; c.stray == "" {
		c.stray = shorten(string(cell))
	}
	c.codes = c.codes || bytes.ContainsAny(limited(cell), "0123456789")
}

// addPlain counts a number that parseNumber accepts.
func (c *clues) addPlain(cell []byte, v float64) {
	c.plain++
	if math.IsInf(v, 0) {
		c.addStray(cell)
		return
	}
	if v == 0 || v == 1 {
		c.truths++
	}
	if len(c.several) <= fewValues {
		if c.several == nil {
			c.several = map[float64]bool{}
		}
		c.several[v] = true
	}
	digits := bytes.TrimLeft(bytes.TrimSpace(cell), "+-")
	switch at := bytes.IndexByte(digits, '.'); {
	case at < 0:
		c.bare.any++
	case at >= 1 && at <= 3 && digits[0] != '0' && len(digits) == at+4 && isDigit(digits[at+1]) && isDigit(digits[at+2]) && isDigit(digits[at+3]):
		c.bare.addEither(string(cell))
	default:
		c.bare.point++
	}
}

func (a *amounts) addEither(cell string) {
	if a.either++; a.either == 1 {
		a.example = cell
	}
}

// addAmount counts a number, if the cell is one.
func (c *clues) addAmount(a amount, cell string) bool {
	p, isPoint := a.value(point)
	q, isComma := a.value(comma)
	to := &c.bare
	if a.unit != "" {
		if to = c.units[a.unit]; to == nil {
			to = &amounts{}
		}
	}
	switch {
	case !isPoint && !isComma, len(c.units) == maxUnits && a.unit != "" && c.units[a.unit] == nil:
		return false
	case isPoint && isComma && p == q:
		to.any++
	case isPoint && isComma:
		to.addEither(cell)
	case isPoint:
		to.point++
	default:
		to.comma++
	}
	if a.unit != "" {
		if c.units == nil {
			c.units = map[string]*amounts{}
		}
		c.units[a.unit] = to
	}
	if a.enclosed {
		c.enclosed++
	}
	const first = 100
	if c.read() < first && len(cell) > len(c.formatted) || c.formatted == "" {
		c.formatted = cell
	}
	return true
}

// addDate counts a date, if the cell is one in some order.
func (c *clues) addDate(d date, cell string) bool {
	day, isDay := d.seconds(DayFirst)
	month, isMonth := d.seconds(MonthFirst)
	_, isYear := d.seconds(YearFirst)
	switch {
	case !isDay && !isMonth && !isYear:
		return false
	case d.long == 0: // 2024-1-2 has one order only
		c.times++
		return true
	}
	if c.dates == nil {
		c.dates = map[string]*dates{}
	}
	of := c.dates[d.between]
	if of == nil {
		of = &dates{}
		c.dates[d.between] = of
	}
	first := func(of *string) {
		if *of == "" {
			*of = cell
		}
	}
	of.all++
	if isYear {
		of.years++
	}
	switch {
	case isDay && isMonth:
		if of.both++; day != month {
			first(&of.unclear)
		}
	case isDay:
		of.days++
		first(&of.day)
	case isMonth:
		of.months++
		first(&of.month)
	}
	return true
}

// unit returns the most common unit, "" if there is none, and the numbers with that unit or without one.
func (c *clues) unit() (unit string, of amounts) {
	largest := 0
	for _, name := range slices.Sorted(maps.Keys(c.units)) {
		if n := c.units[name].all(); n > largest {
			unit, largest = name, n
		}
	}
	of = c.bare
	if u := c.units[unit]; u != nil {
		of.point, of.comma, of.any, of.either = of.point+u.point, of.comma+u.comma, of.any+u.any, of.either+u.either
		if u.example != "" {
			of.example = u.example
		}
	}
	return unit, of
}

func (a amounts) all() int { return a.point + a.comma + a.any + a.either }

// with returns how many of the numbers can have a decimal sign.
func (a amounts) with(decimal string) int {
	if decimal == comma {
		return a.any + a.either + a.comma
	}
	return a.any + a.either + a.point
}
