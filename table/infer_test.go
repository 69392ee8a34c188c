package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// column is a CSV text of one column named c.
func column(cells ...string) string { return "c\n" + strings.Join(cells, "\n") + "\n" }

// repeated counts from 0 with the format.
func repeated(n int, format string) []string {
	cells := make([]string, n)
	for i := range cells {
		cells[i] = fmt.Sprintf(format, i)
	}
	return cells
}

func TestInferredKindsAndReasons(t *testing.T) {
	const notNumberDateOrBoolean = " is neither a number, a date nor true or false; "
	for _, c := range []struct {
		name, text string
		kind       Kind
		reason     string
		notes      []string
	}{
		{
			"numbers", column("1", "-2.5", "3e4", ".5", "NA", "+6"), Number,
			"all 5 observed cells parse as numbers; 5 distinct values", nil,
		},
		{
			"many numbers", column(repeated(1500, "%d.5")...), Number,
			"all 1,500 observed cells parse as numbers; more than 1,000 distinct values",
			[]string{"the numbers count up by one from row to row: the column seems to be a row number"},
		},
		{
			"one number", column("7", "?"), Number,
			"the only observed cell parses as a number; 1 distinct value",
			[]string{"every observed cell is the same: the column can say nothing but whether it is missing"},
		},
		{
			"codes", column("012", "100"), Number,
			"all 2 observed cells parse as numbers; 2 distinct values",
			[]string{"numbers such as 012 start with 0: if these are codes, declare the column a category, which keeps them as written"},
		},
		{
			"true and false", column("TRUE", "false", "True", ""), Boolean,
			"all 3 observed cells are FALSE or TRUE; 2 distinct values", nil,
		},
		{"yes and no", column("no", "yes", "?"), Boolean, "all 2 observed cells are no or yes; 2 distinct values", nil},
		{"t and f", column("T", "F"), Boolean, "all 2 observed cells are F or T; 2 distinct values", nil},
		{
			"only yes", column("Yes"), Boolean, "the only observed cell is No or Yes; 1 distinct value",
			[]string{"every observed cell is the same: the column can say nothing but whether it is missing"},
		},
		{
			"only y", column("y"), Category, "the cells are not all of one kind; 1 distinct label",
			[]string{"every observed cell is the same: the column can say nothing but whether it is missing"},
		},
		{"two pairs of words", column("yes", "false"), Category, "the cells are not all of one kind; 2 distinct labels", nil},
		{"dates", column("2011-01-31", "2011/02/01", "NA"), Time, "all 2 observed cells parse as dates or times; 2 distinct values", nil},
		{
			"one date", column("2011-01-31"), Time, "the only observed cell parses as a date or time; 1 distinct value",
			[]string{"every observed cell is the same: the column can say nothing but whether it is missing"},
		},
		{"dates and others", column("2011-01-31", "later"), Category, "the cells are not all of one kind; 2 distinct labels", nil},
		{"labels", column("red", "green", "red"), Category, `"red" in row 0` + notNumberDateOrBoolean + "2 distinct labels", nil},
		{"hexadecimal", column("0x10", "1_0"), Category, `"0x10" in row 0` + notNumberDateOrBoolean + "2 distinct labels", nil},
		{
			"identifiers", column(repeated(20, "id%d")...), Category, `"id0" in row 0` + notNumberDateOrBoolean + "20 distinct labels",
			[]string{"every label is different: the column seems to identify rows rather than to describe them"},
		},
		{
			"mostly numbers", column(append(repeated(19, "%d"), "n.k.")...), Category, `"n.k." in row 19` + notNumberDateOrBoolean + "20 distinct labels",
			[]string{
				`19 of 20 observed cells are numbers: if "n.k." means that the value is missing, add it to the missing tokens`,
				"every label is different: the column seems to identify rows rather than to describe them",
			},
		},
		{
			"decimal commas", "c;d\n1,5;x\n2;y\n", Category, `"1,5" in row 0` + notNumberDateOrBoolean + "2 distinct labels",
			[]string{"these look like numbers with a decimal comma: write a decimal point to have them read as numbers"},
		},
		{
			"unclear dates", column("01/02/2011", "31.12.2011", "3-4-2011"), Category, `"01/02/2011" in row 0` + notNumberDateOrBoolean + "3 distinct labels",
			[]string{"these look like dates, but which number is the month is unclear: write them as 2006-01-31 to have them read as times"},
		},
		{
			"nothing", column("NA", "?"), Number, "all 2 cells are missing, so it is taken for numbers",
			[]string{"every cell is missing: the column can say nothing"},
		},
		{"no rows", "c\n", Number, "there are no rows, so it is taken for numbers", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			field := mustRead(t, c.text, Options{}).Schema().Field("c")
			if field.Kind != c.kind || field.Reason != c.reason || !slices.Equal(field.Notes, c.notes) {
				t.Errorf("got  %s: %s %q\nwant %s: %s %q", field.Kind, field.Reason, field.Notes, c.kind, c.reason, c.notes)
			}
		})
	}
}

func TestSampleIsNamedInTheReason(t *testing.T) {
	source, err := OpenReader(strings.NewReader(column(repeated(30, "%d")...)), CSV, Options{SampleRows: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := source.Schema().Field("c").Reason, "in the first 5 rows all 5 observed cells parse as numbers; 5 distinct values"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTimeLayouts(t *testing.T) {
	for text, want := range map[string]string{
		"2011-01-31":                 "2011-01-31",
		"2011/01/31":                 "2011-01-31",
		"2011-01-31T12:30":           "2011-01-31T12:30:00Z",
		"2011-01-31 12:30:15":        "2011-01-31T12:30:15Z",
		"2011/01/31 12:30:15.25":     "2011-01-31T12:30:15.25Z",
		"2011-01-31T12:30:15Z":       "2011-01-31T12:30:15Z",
		"2011-01-31T12:30:15+02:00":  "2011-01-31T10:30:15Z",
		"2011-01-31 12:30:15.5-0330": "2011-01-31T16:00:15.5Z",
		"2011-01-31T12:30+02:00":     "2011-01-31T10:30:00Z",
		"31 Jan 2011":                "2011-01-31",
		"31-Jan-2011":                "2011-01-31",
		"Jan 31, 2011":               "2011-01-31",
		"31 January 2011":            "2011-01-31",
		"January 31, 2011":           "2011-01-31",
	} {
		wantTexts(t, mustRead(t, "c\n\""+text+"\"\n", Options{Kinds: map[string]Kind{"c": Time}}).Column("c"), want)
	}
	for _, text := range []string{"2011-02-30", "2011-1-1", "0000-01-01", "0001-01-01T00:00:00+01:00", "20110131T1230", "01/02/2011", "2011-01/31", "a long sentence about nothing at all"} {
		if _, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q was read as a time", text)
		}
	}
}

func TestOverrides(t *testing.T) {
	text := "zip,grade,flag\n01234,1,1\n01235,2,0\n"
	table := mustRead(t, text, Options{Categorical: []string{"zip"}, Kinds: map[string]Kind{"grade": Category, "flag": Boolean, "absent": Time}})
	wantTexts(t, table.Column("zip"), "01234", "01235")
	wantTexts(t, table.Column("grade"), "1", "2")
	wantTexts(t, table.Column("flag"), "true", "false")
	if got, want := table.Schema().Field("zip").Reason, "declared a category; 2 distinct labels"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBooleansKeepTheirWords(t *testing.T) {
	smoker := mustRead(t, column("No", "Yes", "NO"), Options{}).Column("c")
	wantTexts(t, smoker, "No", "Yes", "No")
	declared := mustRead(t, column("No", "Yes"), Options{Kinds: map[string]Kind{"c": Boolean}}).Column("c")
	wantTexts(t, declared, "No", "Yes")
	plain := mustRead(t, column("false", "true"), Options{}).Column("c")
	if plain.Levels != nil {
		t.Errorf("plain booleans have levels %q", plain.Levels)
	}
}

func TestTablesMadeByProgramsHaveASchema(t *testing.T) {
	schema := everyKind(t).Schema()
	if got, want := schema.Field("answer").Reason, "given as boolean; 2 distinct values"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if schema.Field("absent") != nil {
		t.Error("an absent field was found")
	}
}

func TestCodesAreNoted(t *testing.T) {
	upFrom := func(first, n float64) []float64 {
		var values []float64
		for v := range int(n) {
			values = append(values, first+float64(v))
		}
		return values
	}
	for _, c := range []struct {
		name   string
		values []float64
		noted  bool
	}{
		{"MSSubClass", []float64{20, 30, 40, 45, 50, 60, 70, 75, 80, 85, 90, 120, 160, 180, 190}, true},
		{"branch", []float64{1001, 1004, 2033, 7100}, true},
		{"occupation", []float64{11, 23, 29, 53, 71}, true},
		{"Pclass", upFrom(1, 3), true},
		{"zipcode", upFrom(10, 5), true},
		{"event_type", upFrom(0, 4), true},
		{"shop_id", upFrom(1, 9), true},
		{"shopId", upFrom(1, 9), true},
		{"shopID", upFrom(1, 9), true},
		{"ID", upFrom(1, 9), true},
		{"country_id", upFrom(-1, 9), true},
		{"PROVINCE ID", upFrom(1, 9), true},

		{"age", upFrom(18, 28), false},
		{"age of the few", []float64{22, 23, 25, 26, 27, 30, 31, 35, 36, 41}, false},
		{"age of fewer", []float64{22, 24, 25, 27, 29, 31}, false},
		{"rooms", []float64{1, 2, 3, 4, 5, 6, 8, 11, 17, 26}, false},
		{"visits", []float64{0, 1, 2, 3, 9, 40}, false},
		{"score", []float64{0, 9, 26, 37, 41, 44, 55, 61, 89, 94, 100}, false},
		{"saturation", append([]float64{46, 60, 67, 74}, upFrom(82, 19)...), false},
		{"year", []float64{1950, 1985, 1990, 1998, 2010}, false},
		{"dose", []float64{50, 100, 150, 200}, false},
		{"grade", upFrom(1, 5), false},
		{"hour", upFrom(0, 24), false},
		{"change", []float64{-20, 11, 35, 90}, false},
		{"length", []float64{20.5, 31, 75, 190}, false},
		{"two", []float64{20, 75}, false},
		{"flag_id", []float64{0, 1}, false},
		{"paid", upFrom(1, 6), false},
		{"humid", upFrom(1, 6), false},
		{"many_id", upFrom(1, 31), false},
	} {
		column := NumberColumn(c.name, slices.Repeat(c.values, 12), nil)
		rows, err := New(column)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rows.Schema().Fields[0].Notes, "; ")
		if noted := strings.Contains(notes, "may be codes") && strings.Contains(notes, "table.Options.Categorical"); noted != c.noted {
			t.Errorf("%s: noted as codes is %v, want %v: %q", c.name, noted, c.noted, notes)
		}
	}
}

// Values that hardly repeat, or whose text said more already, are not noted as codes.
func TestCodesNeedEvidence(t *testing.T) {
	values := []float64{20, 31, 45, 75, 90, 120, 160, 185}
	for repeats, want := range map[int]bool{4: false, 5: true} {
		column := NumberColumn("branch", slices.Repeat(values, repeats), nil)
		if got := likelyCodes([]*Column{column}, column.Len()); got != want {
			t.Errorf("%d times each: %v, want %v", repeats, got, want)
		}
	}
	cells := slices.Repeat([]string{"012", "100", "231", "777"}, 10)
	notes := mustRead(t, column(cells...), Options{}).Schema().Field("c").Notes
	if len(notes) != 1 || !strings.Contains(notes[0], "start with 0") {
		t.Errorf("notes %q, want the one on zeros alone", notes)
	}
}

func TestTruth(t *testing.T) {
	for word, want := range map[string]bool{"true": true, "Yes": true, "T": true, "FALSE": false, "no": false, "f": false} {
		if got, ok := Truth(word); !ok || got != want {
			t.Errorf("%s is %v, %v", word, got, ok)
		}
	}
	for _, word := range []string{"", "1", "maybe", "truer"} {
		if _, ok := Truth(word); ok {
			t.Errorf("%q is taken for false or true", word)
		}
	}
}
