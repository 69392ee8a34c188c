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
