package table

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psi-shapley/psi/internal/prose"
)

// decimalSigns is the prior knowledge about the decimal sign of a column.
type decimalSigns struct {
	declared string // set by the caller; "" if not
	fallback string // assumed for columns that do not show it
	shown    bool   // whether other columns show it
}

// signs counts the columns that show their decimal sign. European tables with semicolons often have a comma.
func (g *Guess) signs(all []evidence, delimiter byte) decimalSigns {
	points, commas := 0, 0
	for i := range all {
		if _, of := all[i].clues.unit(); of.point > of.comma {
			points++
		} else if of.comma > 0 {
			commas++
		}
	}
	d := decimalSigns{declared: g.Decimal, fallback: point, shown: commas != points}
	if commas > points || commas == points && delimiter == ';' {
		d.fallback = comma
	}
	return d
}

// of returns the decimal sign of numbers; unclear reports that they do not show it.
func (d decimalSigns) of(numbers amounts) (sign string, unclear bool) {
	switch {
	case numbers.comma > numbers.point:
		return comma, false
	case numbers.point > 0:
		return point, false
	case d.declared != "":
		return d.declared, false
	case numbers.either == 0:
		return point, false
	}
	return d.fallback, true
}

// enough reports whether n of the observed cells are enough.
func (e *evidence) enough(n int) bool { return float64(n) >= fits*float64(e.observed) }

// about reports whether to guess the column.
func (g *Guess) about(column string) bool { return g != nil && !slices.Contains(g.Except, column) }

// guess infers the kind of a column whose cells need not be in plain notation.
func (e *evidence) guess(g *Guess, d decimalSigns, where string) finding {
	plain := e.kind(where)
	if e.observed == 0 || plain.kind == Boolean || plain.kind == Time {
		return plain
	}
	if f, found := e.guessNumber(d, where); found || plain.kind == Number {
		if !found {
			return plain
		}
		return f
	}
	if f, found := e.guessTime(g, where); found {
		return f
	}
	if c := &e.clues; c.truths == e.observed {
		f := finding{kind: Boolean, pair: anyPair, words: booleanWords(c.words, c.word)}
		f.reason = fmt.Sprintf("%sall %s observed cells mean %s or %s", where, prose.Thousands(e.observed), f.words[0], f.words[1])
		return f
	}
	if doubt := e.doubt(g, d); doubt != "" {
		plain.remarks = []string{doubt}
	}
	return plain
}

func (e *evidence) guessNumber(d decimalSigns, where string) (finding, bool) {
	c := &e.clues
	unit, of := c.unit()
	sign, unclear := d.of(of)
	n := of.with(sign)
	plain := c.plain == e.observed
	switch {
	case !e.enough(n), c.enclosed == n:
		return finding{}, false
	case plain && (sign == point || of.point+of.either == 0 || unclear && !d.shown): // 1.234 has a decimal point, unless the table has commas
		return finding{}, false
	case !plain && c.formatted == "" && (c.codes || len(c.several) <= fewValues): // labels, some of which are numbers
		return finding{}, false
	}
	r := &Reading{Decimal: sign, Unit: unit}
	f := finding{kind: Number, reading: r, reason: e.readAs(n, "a number", "numbers", where)}
	example := of.example
	if _, fit := r.Number(c.formatted); fit && !unclear {
		example = c.formatted
	}
	v, fit := r.Number(example)
	switch {
	case unclear:
		f.remarks = append(f.remarks, r.unclear(example))
	case fit:
		f.remarks = append(f.remarks, fmt.Sprintf("%q is read as the number %s; table.Options.Categorical keeps the text as labels", shorten(example), appendNumber(nil, v)))
	}
	if fit {
		f.reason += fmt.Sprintf(": %q is %s", shorten(example), appendNumber(nil, v))
	}
	f.remarks = append(f.remarks, e.missed(n)...)
	return f, true
}

// unclear describes how the other decimal sign would change a number.
func (r *Reading) unclear(example string) string {
	other := Reading{Decimal: comma, Unit: r.Unit}
	if r.Decimal == comma {
		other.Decimal = point
	}
	here, _ := r.Number(example)
	there, _ := other.Number(example)
	return fmt.Sprintf("no cell shows whether %q is %s or %s: it is read as %[2]s. table.Guess.Decimal=%[4]s reads it as %[3]s, and table.Options.Categorical keeps the text as labels",
		shorten(example), appendNumber(nil, here), appendNumber(nil, there), other.Decimal)
}

// readAs describes how many cells fit a reading.
func (e *evidence) readAs(n int, one, many, where string) string {
	if n < e.observed {
		return fmt.Sprintf("%s%s of %s observed cells read as %s", where, prose.Thousands(n), prose.Thousands(e.observed), many)
	}
	if n == 1 {
		return where + "the only observed cell reads as " + one
	}
	return fmt.Sprintf("%sall %s observed cells read as %s", where, prose.Thousands(n), many)
}

// missed describes what happens to cells that do not fit.
func (e *evidence) missed(n int) []string {
	such := ""
	if e.clues.stray != "" {
		such = fmt.Sprintf(" (such as %q)", e.clues.stray)
	}
	switch others := e.observed - n; others {
	case 0:
		return nil
	case 1:
		return []string{"1 cell does not read so" + such + " and is missing"}
	default:
		return []string{fmt.Sprintf("%s cells do not read so%s and are missing", prose.Thousands(others), such)}
	}
}

// guessTime infers the order of dates. Cells may be dates in several notations.
func (e *evidence) guessTime(g *Guess, where string) (finding, bool) {
	c := &e.clues
	orders, unclear := c.orders(g.DateOrder)
	if unclear != "" {
		return finding{}, false
	}
	n := c.times
	for between, order := range orders {
		n += c.dates[between].count(order)
	}
	if n == 0 || e.times == e.observed || !e.enough(n) {
		return finding{}, false
	}
	f := finding{kind: Time, reading: &Reading{Dates: orders}, reason: e.readAs(n, "a date or time", "dates or times", where)}
	if example, seconds, shown := c.exampleOf(f.reading); example != "" {
		f.reason += fmt.Sprintf(": %q is %s", shorten(example), appendTime(nil, seconds))
		other := "table.Guess.DateOrder gives another order, and"
		if shown {
			other = "other cells show that order;"
		}
		f.remarks = append(f.remarks, fmt.Sprintf("%q is read as %s; %s table.Options.Categorical keeps the text as labels", shorten(example), appendTime(nil, seconds), other))
	}
	f.remarks = append(f.remarks, e.missed(n)...)
	return f, true
}

// exampleOf returns a numeric date that the reading accepts, preferably one that other orders read differently. shown
// reports whether dates with its separator show their order. example is "" if there is no such date.
func (c *clues) exampleOf(r *Reading) (example string, seconds float64, shown bool) {
	for _, between := range []string{"/", "-", "."} {
		of := c.dates[between]
		if of == nil {
			continue
		}
		for _, example := range []string{of.unclear, of.day, of.month} {
			if seconds, found := r.time([]byte(example)); found {
				order, _ := of.order()
				return example, seconds, order != ""
			}
		}
	}
	return "", 0, false
}

// orders returns the orders of dates by separator; unclear explains why they cannot be inferred.
func (c *clues) orders(declared DateOrder) (orders map[string]DateOrder, unclear string) {
	orders = map[string]DateOrder{}
	common, agree := DateOrder(""), true
	for _, between := range slices.Sorted(maps.Keys(c.dates)) {
		order, contrary := c.dates[between].order()
		if order == "" {
			order = declared
		}
		if order == "" && contrary != "" {
			return nil, contrary
		}
		if order != "" {
			orders[between] = order
			agree = agree && (common == "" || common == order)
			common = order
		}
	}
	for _, between := range slices.Sorted(maps.Keys(c.dates)) {
		switch of := c.dates[between]; {
		case orders[between] != "":
		case common != "" && agree:
			orders[between] = common
		case between == "." || of.unclear == "": // with points, the month never precedes the day
			orders[between] = DayFirst
		default:
			return nil, fmt.Sprintf("these look like dates, but no cell shows whether %q starts with the day or the month: table.Guess.DateOrder=dmy or table.Guess.DateOrder=mdy says it", shorten(of.unclear))
		}
	}
	return orders, ""
}

// order returns the order that the dates show; "" if they show none.
func (d *dates) order() (order DateOrder, unclear string) {
	const slips = 1 - fits
	less, more := min(d.days, d.months), max(d.days, d.months)
	switch {
	case more == 0 && d.both == 0:
		return YearFirst, ""
	case more == 0:
		return "", ""
	case float64(less) > slips*float64(less+more):
		return "", fmt.Sprintf("these look like dates, but %q starts with the day and %q with the month: table.Guess.DateOrder=dmy or table.Guess.DateOrder=mdy reads those of one order, and the others are missing",
			shorten(d.day), shorten(d.month))
	case d.days > d.months:
		return DayFirst, ""
	}
	return MonthFirst, ""
}

// count returns how many of the dates fit an order.
func (d *dates) count(order DateOrder) int {
	switch order {
	case DayFirst:
		return d.days + d.both
	case MonthFirst:
		return d.months + d.both
	}
	return d.years
}

// doubt explains why cells that look like dates or numbers are labels; "" if they do not look like these.
func (e *evidence) doubt(g *Guess, d decimalSigns) string {
	c := &e.clues
	look := c.lookLikeTimes()
	if _, unclear := c.orders(g.DateOrder); unclear != "" && e.enough(look) {
		return unclear
	}
	_, of := c.unit()
	sign, _ := d.of(of)
	n, what := of.with(sign), "numbers"
	if look > n {
		n, what = look, "dates"
	}
	codes := what == "numbers" && c.formatted == "" && (c.codes || len(c.several) <= fewValues)
	if 2*n < e.observed || c.stray == "" || codes {
		return ""
	}
	return fmt.Sprintf("%s of %s observed cells are %s, too few to have the column read so: if %q means that the value is missing, add it to the missing tokens",
		prose.Thousands(n), prose.Thousands(e.observed), what, c.stray)
}
