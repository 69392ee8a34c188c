package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReadingNumbers(t *testing.T) {
	const no = math.MaxFloat64
	for _, c := range []struct {
		unit, cell   string
		point, comma float64 // with this decimal sign
	}{
		// The United States, Britain, Switzerland, Germany, France, India, Brazil, Sweden, Japan.
		{"$", "$1,234.50", 1234.5, no},
		{"$", "US$ 1,234.50", 1234.5, no},
		{"£", "£1,234,567", 1234567, no},
		{"CHF", "CHF 1'234.50", 1234.5, no},
		{"CHF", "1’234’567.5 CHF", 1234567.5, no},
		{"€", "€1.234,50", no, 1234.5},
		{"€", "1.234.567,5 €", no, 1234567.5},
		{"€", "1 234,50 €", no, 1234.5},
		{"€", "1\u202f234\u202f567,5\u00a0EUR", no, 1234567.5},
		{"₹", "₹12,34,567.5", 1234567.5, no},
		{"₹", "Rs. 12,34,567", 1234567, no},
		{"R$", "R$ 1.234,5", no, 1234.5},
		{"kr", "1 234 kr", 1234, 1234},
		{"kr", "12,50 kr.", no, 12.5},
		{"¥", "¥1234", 1234, 1234},
		{"¥", "1,234 JPY", 1234, 1.234},

		{"%", "48.4%", 48.4, no},
		{"%", "48,4 %", no, 48.4},
		{"%", "-3%", -3, -3},
		{"$", "(1,200)", -1200, -1.2},
		{"$", "($1,200.00)", -1200, no},
		{"$", "$(5)", -5, -5},
		{"$", "-$5", -5, -5},
		{"$", "-$0.01", -.01, no},
		{"$", "$-5", -5, -5},
		{"$", "$ −5.5", -5.5, no},
		{"$", "$.5", .5, no},
		{"$", "$12k", 12000, 12000},
		{"$", "$3.5m", 3.5e6, no},
		{"$", "3.5M$", 3.5e6, no},
		{"$", "2bn USD", 2e9, 2e9},
		{"", "12k", 12000, 12000},
		{"", "1.1K", 1100, no},
		{"", "0.3M", 300000, no},
		{"", "5'000", 5000, 5000},
		{"", "1,234", 1234, 1.234},
		{"", "1.234", 1.234, 1234},
		{"", "0,123", no, .123},
		{"", "1,5", no, 1.5},
		{"", "+7", 7, 7},
		{"", " 7 ", 7, 7},
		{"", "5.", 5, 5},
		{"", "1e3", 1000, 1000},
		{"", "1,5e-3", no, .0015},

		{"", "", no, no},
		{"", "-", no, no},
		{"", "$", no, no},
		{"", "$5", no, no},  // another unit
		{"$", "€5", no, no}, // another unit
		{"$", "5%", no, no},
		{"", "--5", no, no},
		{"", "-(5)", no, no},
		{"", "(5", no, no},
		{"", "5)", no, no},
		{"", "$5$6", no, no},
		{"", "1,23", no, 1.23},
		{"", "1,2345", no, 1.2345},
		{"", "1,234,56", no, no},
		{"", "1.2.3", no, no},
		{"", "1,234.567,8", no, no},
		{"", "1'234,567", no, 1234.567},
		{"", "0,123,456", no, no},
		{"", "12m", no, no}, // metres, minutes, months
		{"", "12 km", no, no},
		{"", "5kk", no, no},
		{"", "1e3k", no, no},
		{"", "0x10", no, no},
		{"", "1_000", no, no},
		{"", "inf", no, no},
		{"", "NaN", no, no},
		{"", "1e999", no, no},
		{"", "2021-03-04", no, no},
		{"", "10:30", no, no},
		{"", "12-14", no, no},
		{"", "12A", no, no},
		{"", strings.Repeat("1", maxReadBytes+1), no, no},
	} {
		for decimal, want := range map[string]float64{point: c.point, comma: c.comma} {
			got, ok := (&Reading{Decimal: decimal, Unit: c.unit}).Number(c.cell)
			if ok != (want != no) || ok && got != want {
				t.Errorf("%q with %q and decimal %q is %v, %v; want %v", c.cell, c.unit, decimal, got, ok, want)
			}
		}
	}
}

// What is written in a style is read in it.
func TestReadingsInvertWriting(t *testing.T) {
	type style struct{ group, decimal, before, after, unit string }
	styles := []style{
		{",", ".", "$", "", "$"},
		{",", ".", "", "%", "%"},
		{"", ".", "", " %", "%"},
		{".", ",", "", " €", "€"},
		{" ", ",", "€ ", "", "€"},
		{"'", ".", "CHF ", "", "CHF"},
		{"\u202f", ",", "", "", ""},
		{",", ".", "", "", ""},
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(styles).Draw(t, "style")
		cents := rapid.Int64Range(-1e14, 1e14).Draw(t, "cents")
		parentheses := rapid.Bool().Draw(t, "parentheses")
		size := max(cents, -cents)
		whole := strconv.FormatInt(size/100, 10)
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + s.group + whole[at:]
		}
		text := s.before + whole + s.decimal + fmt.Sprintf("%02d", size%100) + s.after
		switch {
		case cents < 0 && parentheses:
			text = "(" + text + ")"
		case cents < 0:
			text = "-" + text
		}
		want, err := strconv.ParseFloat(fmt.Sprintf("%d.%02d", size/100, size%100), 64)
		if err != nil {
			t.Fatal(err)
		}
		want = math.Copysign(want, float64(cents))
		if got, ok := (&Reading{Decimal: s.decimal, Unit: s.unit}).Number(text); !ok || got != want {
			t.Fatalf("%q is %v, %v; want %v", text, got, ok, want)
		}
	})
}

func TestReadingDates(t *testing.T) {
	for _, c := range []struct {
		cell  string
		order DateOrder
		want  string // "" if it cannot be read
	}{
		{"31/12/2024", DayFirst, "2024-12-31"},
		{"12/31/2024", DayFirst, ""},
		{"12/31/2024", MonthFirst, "2024-12-31"},
		{"1/2/2024", DayFirst, "2024-02-01"},
		{"1/2/2024", MonthFirst, "2024-01-02"},
		{"1/2/2024", YearFirst, ""},
		{"1.2.24", DayFirst, "2024-02-01"},
		{"1.2.69", DayFirst, "1969-02-01"},
		{"1.2.68", DayFirst, "2068-02-01"},
		{"24-2-1", YearFirst, "2024-02-01"},
		{"1.2.3", DayFirst, ""},
		{"1-2-13", YearFirst, ""},
		{"2024-2-1", DayFirst, "2024-02-01"},
		{"2024-2-1", "", "2024-02-01"},
		{"2024-02-01", "", "2024-02-01"},
		{"1 Feb 2024", "", "2024-02-01"},
		{"1/2/2024", "", ""},
		{"29.2.2023", DayFirst, ""},
		{"29.2.2024 23:59", DayFirst, "2024-02-29T23:59:00Z"},
		{"2/29/2024 1:05:06 pm", MonthFirst, "2024-02-29T13:05:06Z"},
		{"2/29/2024 12:00 AM", MonthFirst, "2024-02-29"},
		{"2/29/2024 25:00", MonthFirst, ""},
		{"2/29-2024", MonthFirst, ""},
		{"0/1/2024", DayFirst, ""},
		{"1/1/0000", DayFirst, ""},
		{"1/1/12024", DayFirst, ""},
		{"1/1", DayFirst, ""},
		{"1/1/", DayFirst, ""},
		{"//", DayFirst, ""},
	} {
		r := &Reading{Dates: map[string]DateOrder{"/": c.order, "-": c.order, ".": c.order}}
		got := ""
		if v, ok := r.Parse(Time, []byte(c.cell)); ok {
			got = string(appendTime(nil, v))
		}
		if got != c.want {
			t.Errorf("%q in the order %q is %q, want %q", c.cell, c.order, got, c.want)
		}
	}
}

// Every day is read from every form that package time writes.
func TestReadingsInvertWritingOfDates(t *testing.T) {
	forms := map[DateOrder][]string{DayFirst: {"2/1/2006", "02.01.2006", "02-01-2006 15:04"}, MonthFirst: {"1/2/2006", "01-02-2006 3:04 PM"}, YearFirst: {"2006/1/2"}}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]DateOrder{DayFirst, MonthFirst, YearFirst}).Draw(t, "order")
		form := rapid.SampledFrom(forms[order]).Draw(t, "form")
		at := time.Unix(60*rapid.Int64Range(firstSecond/60, lastSecond/60).Draw(t, "minute"), 0).UTC()
		want, err := time.Parse(form, at.Format(form))
		if err != nil {
			t.Fatal(err)
		}
		r := &Reading{Dates: map[string]DateOrder{"/": order, "-": order, ".": order}}
		if got, ok := r.Parse(Time, []byte(at.Format(form))); !ok || got != float64(want.Unix()) {
			t.Fatalf("%q is %v, %v; want %v", at.Format(form), got, ok, want.Unix())
		}
	})
}

// readAs reads a column with a guess.
func readAs(t *testing.T, guess Guess, cells ...string) (*Column, *Field) {
	t.Helper()
	quoted := make([]string, len(cells))
	for i, cell := range cells {
		quoted[i] = `"` + cell + `"`
	}
	table := mustRead(t, column(quoted...), Options{Guess: &guess})
	return table.Column("c"), table.Schema().Field("c")
}

// many repeats cells.
func many(n int, cells ...string) []string { return slices.Repeat(cells, n) }

func TestGuessedReadings(t *testing.T) {
	for _, c := range []struct {
		name    string
		guess   Guess
		cells   []string
		kind    Kind
		reading *Reading
		first   string // cell, as it is read
		notes   string // some of them
	}{
		{"money", Guess{}, []string{"$1,234.50", "$12", "7"}, Number, &Reading{Decimal: ".", Unit: "$"}, "1234.5", `"$1,234.50" is read as the number 1234.5; table.Options.Categorical`},
		{"euros", Guess{}, []string{"€1.234,50", "€12,5"}, Number, &Reading{Decimal: ",", Unit: "€"}, "1234.5", ""},
		{"per cent", Guess{}, []string{"48.4%", "3%"}, Number, &Reading{Decimal: ".", Unit: "%"}, "48.4", ""},
		{"accountants'", Guess{}, []string{"(1,200)", "1,300", "1,300,500"}, Number, &Reading{Decimal: "."}, "-1200", ""},
		{"thousands", Guess{}, []string{"12k", "900", "3.5M"}, Number, &Reading{Decimal: "."}, "12000", ""},
		{"apostrophes", Guess{}, []string{"5'000", "900"}, Number, &Reading{Decimal: "."}, "5000", ""},
		{"decimal commas", Guess{}, []string{"1,5", "2"}, Number, &Reading{Decimal: ","}, "1.5", ""},
		{"thousands shown", Guess{}, []string{"1,234", "1,234,567"}, Number, &Reading{Decimal: "."}, "1234", ""},
		{"thousands or decimals", Guess{}, []string{"1,234", "567"}, Number, &Reading{Decimal: "."}, "1234", `no cell shows whether "1,234" is 1234 or 1.234: it is read as 1234. table.Guess.Decimal=, reads it as 1.234`},
		{"decimals by choice", Guess{Decimal: ","}, []string{"1,234", "567"}, Number, &Reading{Decimal: ","}, "1.234", ""},
		{"points by choice", Guess{Decimal: ","}, []string{"1.234", "567"}, Number, &Reading{Decimal: ","}, "1234", ""},
		{"a choice leaves alone what numbers show", Guess{Decimal: ","}, []string{"$1,234", "$5.50"}, Number, &Reading{Decimal: ".", Unit: "$"}, "1234", ""},
		{"plain numbers", Guess{}, []string{"1.234", "567"}, Number, nil, "1.234", ""},
		{"plain numbers despite a choice", Guess{Decimal: ","}, []string{"1.5", "567"}, Number, nil, "1.5", ""},
		{"two currencies", Guess{}, []string{"$5", "€5"}, Category, nil, "$5", ""},
		{"strays", Guess{}, append(many(19, "$5.5"), "n.k."), Number, &Reading{Decimal: ".", Unit: "$"}, "5.5", `1 cell does not read so (such as "n.k.") and is missing`},
		{"too many strays", Guess{}, append(many(9, "$5.5"), "n.k."), Category, nil, "$5.5", `9 of 10 observed cells are numbers, too few to have the column read so: if "n.k." means`},
		{"numbers and strays", Guess{}, append(repeated(190, "%d.5"), "n.k.", "unknown"), Number, &Reading{Decimal: "."}, "0.5", `2 cells do not read so`},
		{"codes", Guess{}, append(repeated(190, "%d.5"), "V12"), Category, nil, "0.5", ""},
		{"few numbers and a label", Guess{}, append(many(50, "1", "2"), "other"), Category, nil, "1", ""},
		{"labels in parentheses", Guess{}, []string{"(1)", "(2)"}, Category, nil, "(1)", ""},

		{"days first", Guess{}, []string{"01/02/2011", "31/12/2011"}, Time, &Reading{Dates: map[string]DateOrder{"/": DayFirst}}, "2011-02-01", ""},
		{"months first", Guess{}, []string{"01/02/2011", "12/31/2011"}, Time, &Reading{Dates: map[string]DateOrder{"/": MonthFirst}}, "2011-01-02", ""},
		{
			"several forms",
			Guess{},
			[]string{"01/02/2011", "2011-05-06", "Mar 4, 2011", "12/31/2011", "31.12.2011"},
			Time,
			&Reading{Dates: map[string]DateOrder{"/": MonthFirst, ".": DayFirst}}, "2011-01-02", "",
		},
		{"the order of another form", Guess{}, []string{"01-02-2011", "31/12/2011"}, Time, &Reading{Dates: map[string]DateOrder{"/": DayFirst, "-": DayFirst}}, "2011-02-01", ""},
		{"short years", Guess{}, []string{"1/2/11", "31/12/99"}, Time, &Reading{Dates: map[string]DateOrder{"/": DayFirst}}, "2011-02-01", ""},
		{"years first", Guess{}, []string{"2011-1-2", "2011-12-31"}, Time, &Reading{Dates: map[string]DateOrder{}}, "2011-01-02", ""},
		{"short years first", Guess{}, []string{"70-1-31", "99-12-31"}, Time, &Reading{Dates: map[string]DateOrder{"-": YearFirst}}, "1970-01-31", ""},
		{"unclear dates", Guess{}, []string{"01/02/2011", "03/04/2011"}, Category, nil, "01/02/2011", `no cell shows whether "01/02/2011" starts with the day or the month: table.Guess.DateOrder=dmy`},
		{"dates by choice", Guess{DateOrder: MonthFirst}, []string{"01/02/2011", "03/04/2011"}, Time, &Reading{Dates: map[string]DateOrder{"/": MonthFirst}}, "2011-01-02", ""},
		{
			"a choice leaves alone what dates show",
			Guess{DateOrder: MonthFirst},
			[]string{"01/02/2011", "31.12.2011", "12/31/2011"},
			Time,
			&Reading{Dates: map[string]DateOrder{"/": MonthFirst, ".": DayFirst}}, "2011-01-02", `"01/02/2011" is read as 2011-01-02; other cells show that order`,
		},
		{"a choice between dates at odds", Guess{DateOrder: MonthFirst}, append(many(40, "01/02/2011"), "31/12/2011", "12/31/2011"), Time, &Reading{Dates: map[string]DateOrder{"/": MonthFirst}}, "2011-01-02", "1 cell does not read so"},
		{"dates at odds", Guess{}, []string{"31/12/2011", "12/31/2011"}, Category, nil, "31/12/2011", `"31/12/2011" starts with the day and "12/31/2011" with the month`},
		{"dates and strays", Guess{}, append(many(40, "2011-05-06"), "later"), Time, &Reading{Dates: map[string]DateOrder{}}, "2011-05-06", "1 cell does not read so"},

		{"dates with points", Guess{}, []string{"01.02.2011", "03.04.2011"}, Time, &Reading{Dates: map[string]DateOrder{".": DayFirst}}, "2011-02-01", `"01.02.2011" is read as 2011-02-01; table.Guess.DateOrder`},
		{"strays first", Guess{}, append(many(100, "n.k."), many(2500, "$5.5")...), Number, &Reading{Decimal: ".", Unit: "$"}, "", "100 cells do not read so"},
		{"many spellings", Guess{}, many(6000, "yes", "N", "0"), Boolean, nil, "yes", ""},

		{"spellings", Guess{}, []string{"yes", "No ", "Y", "n", "TRUE", "0", "1", "f"}, Boolean, nil, "yes", ""},
		{"digits first", Guess{}, []string{"1", "0", "No"}, Boolean, nil, "Yes", ""},
		{"letters", Guess{}, []string{"Y", "N"}, Boolean, nil, "Y", ""},
		{"a third answer", Guess{}, []string{"yes", "no", "maybe"}, Category, nil, "yes", ""},
		{"labels", Guess{}, []string{"red", "green"}, Category, nil, "red", ""},
		{"numbers", Guess{}, []string{"1", "0", "1"}, Number, nil, "1", ""},
		{"versions", Guess{}, []string{"1.2.3", "1.10.0"}, Category, nil, "1.2.3", ""},
		{"telephones", Guess{}, []string{"555-1234", "+49 30 1234"}, Category, nil, "555-1234", ""},
		{"bands", Guess{}, []string{"18-25", "26-40", ">40"}, Category, nil, "18-25", ""},
		{"nothing", Guess{}, []string{"", "NA"}, Number, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, field := readAs(t, c.guess, c.cells...)
			if field.Kind != c.kind || fmt.Sprint(field.Reading) != fmt.Sprint(c.reading) || read.Text(0) != c.first || !strings.Contains(strings.Join(field.Notes, "\n"), c.notes) {
				t.Errorf("%q: a %v read by %v, %q; %s %q\nwant a %v read by %v, %q, %q",
					c.cells[:2], field.Kind, field.Reading, read.Text(0), field.Reason, field.Notes, c.kind, c.reading, c.first, c.notes)
			}
			if err := field.Reading.Validate(field.Kind); err != nil {
				t.Error(err)
			}
		})
	}
}

// A column that does not show its decimal sign has that of the others, or of tables with semicolons.
func TestDecimalSignsGoByTheTable(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n\"1,234\",2\n":                 "1234",
		"a;b\n1,234;2\n":                     "1.234",
		"a;b\n1,234;2.5\n":                   "1234",
		"a,b\n\"1,234\",\"2,5\"\n":           "1.234",
		"a,b\n1.234,\"2,5\"\n":               "1234",
		"a,b\n1.234,\"2,5\"\n0.5,\"2,50\"\n": "1.234",
		"a;b\n1.234;2\n":                     "1.234",
	} {
		if got := mustRead(t, text, Options{Guess: &Guess{}}).Column("a").Text(0); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Another table is read by the readings of the first, whatever its own cells show, from text and from typed files.
func TestReadingsOfAnotherTable(t *testing.T) {
	first := mustRead(t, "price;when;on\n€1.234,50;31/12/2011;yes\n€2;1/2/2011;N\n", Options{Guess: &Guess{}})
	options := func(unread *[]string) Options {
		return Options{Unread: func(row int, column, text string) { *unread = append(*unread, fmt.Sprint(row, " ", column, " ", text)) }}.As(first.Schema())
	}
	const later = "on;price;when;other\ny;3.000;3/4/2011;x\n0;$5;3/14/2011;x\nno;;2011-05-06;x\n"
	check := func(t *testing.T, read *Table, unread []string) {
		t.Helper()
		wantTexts(t, read.Column("price"), "3000", "·", "·")
		wantTexts(t, read.Column("when"), "2011-04-03", "·", "2011-05-06")
		wantTexts(t, read.Column("on"), "yes", "no", "no")
		if read.Column("other") != nil {
			t.Error("a column of no interest was read")
		}
		if want := []string{"1 price $5", "1 when 3/14/2011"}; !slices.Equal(unread, want) {
			t.Errorf("unread are %q, want %q", unread, want)
		}
	}
	var unread []string
	read := mustRead(t, later, options(&unread))
	read.Column("on").Levels = []string{"no", "yes"} // the words are those of the file
	check(t, read, unread)

	text := mustRead(t, later, Options{Kinds: map[string]Kind{"price": Category, "when": Category, "on": Category}})
	for _, format := range []Format{Arrow, Parquet} {
		unread = nil
		read, err := readWhole(strings.NewReader(string(written(t, text, format, 10))), format, options(&unread))
		if err != nil {
			t.Fatal(err)
		}
		read.Column("on").Levels = []string{"no", "yes"}
		check(t, read, unread)
	}
}

func TestColumnsOfTextAreRead(t *testing.T) {
	r := &Reading{Decimal: ".", Unit: "$"}
	c := CategoryColumn("c", []string{"$5", "five", "", "$5"}, []bool{true, true, false, true})
	wantTexts(t, c.Read(Number, r), "5", "·", "·", "5")
	if c.Read(Category, nil) != c {
		t.Error("a category is not a category")
	}
}

func TestReadingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		r    Reading
	}{
		{Number, Reading{}},
		{Number, Reading{Decimal: ";"}},
		{Number, Reading{Decimal: ".", Dates: map[string]DateOrder{"/": DayFirst}}},
		{Time, Reading{Decimal: "."}},
		{Time, Reading{Unit: "$"}},
		{Time, Reading{Dates: map[string]DateOrder{"+": DayFirst}}},
		{Time, Reading{Dates: map[string]DateOrder{"/": "dym"}}},
		{Category, Reading{Decimal: "."}},
		{Boolean, Reading{}},
		{Number, Reading{Decimal: ".", Unit: strings.Repeat("$", maxReadBytes+1)}},
	} {
		if c.r.Validate(c.kind) == nil {
			t.Errorf("a %v may have %v", c.kind, c.r)
		}
	}
}

// FuzzReading: whatever the bytes, a reading ends in a finite number or a time of the calendar, a guess finds one by which
// the cells can be read, and a number that is written plainly is the same by the reading with a decimal point.
func FuzzReading(f *testing.F) {
	for _, cell := range []string{"$1,234.50", "(1'200)", "48,4 %", "1.234.567,5 €", "12k", "31.12.2024 23:59", "1/2/24 3:04 pm", "Rs. 12,34,567", "−5", "1e400", "yes"} {
		f.Add(cell, "$5")
	}
	f.Fuzz(func(t *testing.T, cell, other string) {
		for _, decimal := range []string{point, comma} {
			for _, unit := range []string{"", "$", "%"} {
				if v, ok := (&Reading{Decimal: decimal, Unit: unit}).Parse(Number, []byte(cell)); ok && !Number.Holds(v) {
					t.Fatalf("%q is %v", cell, v)
				}
			}
		}
		if v, plain := parseNumber([]byte(cell)); plain && !math.IsInf(v, 0) && len(cell) <= maxReadBytes {
			if got, ok := (&Reading{Decimal: point}).Parse(Number, []byte(cell)); !ok || got != v {
				t.Fatalf("%q is %v, but by a reading %v, %v", cell, v, got, ok)
			}
		}
		for _, order := range []DateOrder{DayFirst, MonthFirst, YearFirst} {
			r := &Reading{Dates: map[string]DateOrder{"/": order, "-": order, ".": order}}
			if v, ok := r.Parse(Time, []byte(cell)); ok && !Time.Holds(v) {
				t.Fatalf("%q is %v", cell, v)
			}
		}
		e := evidence{guesses: true}
		cells := []string{cell, other, cell}
		e.add(textColumn{rows: len(cells), cell: func(row int) []byte { return []byte(cells[row]) }}, newMissingTokens(nil))
		found := e.guess(&Guess{}, decimalSigns{fallback: point}, "")
		if found.reading == nil {
			return
		}
		if err := found.reading.Validate(found.kind); err != nil {
			t.Fatal(err)
		}
		for _, text := range cells {
			if _, ok := found.reading.Parse(found.kind, []byte(text)); !ok && !Missing([]byte(text)) {
				t.Fatalf("%q is no %v by %v", text, found.kind, found.reading)
			}
		}
	})
}

// Text of typed files is guessed as that of CSV is, but for what is plainly a number or a declared category.
func TestGuessedReadingsOfTypedFiles(t *testing.T) {
	text := "price,share,when,iso,code,word,odd\n"
	for i := range 50 {
		text += fmt.Sprintf("\"$1,%03d.50\",%d%%,%d/12/2020,2020-01-%02d,%04d,%s,%d\n", i, i, 1+i%31, 1+i%31, i, []string{"yes", "no"}[i%2], i)
	}
	text = strings.NewReplacer(",41%", ",n.k.", ",47%", ",n.k.").Replace(text)
	want := mustRead(t, text, Options{Guess: &Guess{}})
	stored := mustRead(t, text, Options{Categorical: []string{"price", "share", "when", "iso", "code", "word"}})
	for _, format := range []Format{Arrow, Parquet} {
		for _, rows := range []int{7, 100} {
			in := strings.NewReader(string(written(t, stored, format, rows)))
			got, err := readWhole(in, format, Options{Guess: &Guess{}, ChunkRows: 9})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"price", "share", "when", "iso", "odd"} {
				a, b := want.Column(name), got.Column(name)
				if a.Kind != b.Kind || !slices.Equal(a.Numbers, b.Numbers) || !slices.Equal(a.Observed, b.Observed) {
					t.Errorf("%v: column %s is a %v, want a %v", format, name, b.Kind, a.Kind)
				}
			}
			for _, name := range []string{"code", "word"} {
				if kind := got.Column(name).Kind; kind != Category {
					t.Errorf("%v: column %s is a %v", format, name, kind)
				}
			}
			if _, err := New(got.Columns...); err != nil {
				t.Error(err)
			}
			refused, err := readWhole(strings.NewReader(string(written(t, stored, format, rows))), format, Options{Guess: &Guess{}, Categorical: []string{"price"}})
			if err != nil || refused.Column("price").Kind != Category || refused.Column("share").Kind != Number {
				t.Errorf("%v: a declared category is not one (%v)", format, err)
			}
		}
	}
	var unread []string
	source, err := OpenReader(strings.NewReader(string(written(t, stored, Arrow, 7))), Arrow, Options{
		Guess: &Guess{}, Unread: func(row int, column, text string) { unread = append(unread, fmt.Sprint(row, " ", column, " ", text)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAll(t.Context(), source); err != nil || !slices.Equal(unread, []string{"41 share n.k.", "47 share n.k."}) {
		t.Errorf("%q are unread (%v)", unread, err)
	}
	if f := source.Schema().Field("price"); f.Kind != Number || f.Reading == nil || f.Reading.Unit != "$" || len(f.Notes) != 1 {
		t.Errorf("%+v", f)
	}
}
