package table

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"
)

func TestConstructorsMarkMissingCells(t *testing.T) {
	numbers := NumberColumn("n", []float64{1, math.NaN(), 3}, nil)
	if !slices.Equal(numbers.Observed, []bool{true, false, true}) || numbers.Numbers[1] != 0 {
		t.Errorf("NaN is not missing: %+v", numbers)
	}
	hidden := NumberColumn("n", []float64{1, 2}, []bool{false, true})
	if !slices.Equal(hidden.Numbers, []float64{0, 2}) {
		t.Errorf("a hidden number is kept: %v", hidden.Numbers)
	}
	labels := CategoryColumn("c", []string{"b", "a", "b", "c"}, []bool{true, true, true, false})
	if !slices.Equal(labels.Levels, []string{"b", "a"}) || !slices.Equal(labels.Codes, []int32{0, 1, 0, -1}) {
		t.Errorf("levels %q, codes %v", labels.Levels, labels.Codes)
	}
	times := TimeColumn("t", []time.Time{{}, time.Unix(7, 5e8)}, nil)
	if !slices.Equal(times.Observed, []bool{false, true}) || times.Numbers[1] != 7.5 {
		t.Errorf("times %v, observed %v", times.Numbers, times.Observed)
	}
	wantTexts(t, BooleanColumn("b", []bool{true, true, false}, []bool{true, false, true}), "true", "·", "false")
}

func TestConstructorsCopyTheirArguments(t *testing.T) {
	values, observed := []float64{1, 2}, []bool{true, true}
	c := NumberColumn("n", values, observed)
	values[0], observed[0] = 9, false
	if c.Numbers[0] != 1 || !c.Observed[0] {
		t.Error("the column shares memory with the caller's slices")
	}
}

func TestSelect(t *testing.T) {
	table := everyKind(t)
	selected := table.Select([]int{3, 0, 0})
	if selected.Rows() != 3 || selected.Column("absent") != nil {
		t.Fatalf("%d rows", selected.Rows())
	}
	for i, c := range selected.Columns {
		original := table.Columns[i]
		wantTexts(t, c, texts(original)[3], texts(original)[0], texts(original)[0])
		if !slices.Equal(c.Levels, original.Levels) {
			t.Errorf("levels changed from %q to %q", original.Levels, c.Levels)
		}
	}
	selected.Columns[0].Numbers[0] = -1
	if table.Columns[0].Numbers[3] == -1 {
		t.Error("a selection shares memory with its table")
	}
}

func TestNewRefusesInconsistentColumns(t *testing.T) {
	number := NumberColumn("n", []float64{1, 2}, nil)
	for want, columns := range map[string][]*Column{
		`a column has no name; give every column a name`:                     {NumberColumn("", nil, nil)},
		`column "n": two columns have this name; rename one of them`:         {number, number},
		`column "m": the column has 1 rows but "n" has 2`:                    {number, NumberColumn("m", []float64{1}, nil)},
		`column "m": the column has 2 number cells but 1 observed marks`:     {NumberColumn("m", []float64{1, 2}, []bool{true})},
		`column "m": the column has 2 time cells but 1 observed marks`:       {TimeColumn("m", make([]time.Time, 2), []bool{true})},
		`column "m": the column has 2 boolean cells but 1 observed marks`:    {BooleanColumn("m", make([]bool, 2), []bool{true})},
		`column "m": the column has 2 category cells but 1 observed marks`:   {CategoryColumn("m", make([]string, 2), []bool{true})},
		`row 1, column "m": +Inf is observed but not a finite number`:        {NumberColumn("m", []float64{1, math.Inf(1)}, nil)},
		`row 0, column "m": a boolean is 0 or 1, not 2`:                      {{Name: "m", Kind: Boolean, Numbers: []float64{2}, Observed: []bool{true}}},
		`row 0, column "m": code 1 is outside the 1 levels`:                  {{Name: "m", Kind: Category, Codes: []int32{1}, Levels: []string{"a"}, Observed: []bool{true}}},
		`row 0, column "m": the time 1e+15 lies outside the years 1 to 9999`: {{Name: "m", Kind: Time, Numbers: []float64{1e15}, Observed: []bool{true}}},
		`column "m": unknown column kind 9`:                                  {{Name: "m", Kind: 9, Numbers: []float64{1}, Observed: []bool{true}}},
	} {
		if _, err := New(columns...); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestKindNames(t *testing.T) {
	for kind, want := range map[Kind]string{Number: "number", Category: "category", Boolean: "boolean", Time: "time", 7: "Kind(7)"} {
		if kind.String() != want {
			t.Errorf("%q, want %q", kind.String(), want)
		}
	}
	field := Field{Name: "a", Kind: Time, Reason: "r"}
	text, err := json.Marshal(field)
	if err != nil || string(text) != `{"name":"a","kind":"time","reason":"r"}` {
		t.Fatalf("%s %v", text, err)
	}
	var back Field
	if err := json.Unmarshal(text, &back); err != nil || back.Kind != Time {
		t.Errorf("%+v %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"kind":"colour"}`), &back); err == nil {
		t.Error("an unknown kind was accepted")
	}
	if _, err := json.Marshal(Kind(7)); err == nil {
		t.Error("an unknown kind was written")
	}
}

func TestNumberText(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "-1.5": -1.5, "1000000": 1e6, "0.000001": 1e-6, "1e-07": 1e-7, "1e+21": 1e21, "123456789012345680000": 123456789012345678901} {
		if got := NumberColumn("n", []float64{v}, nil).Text(0); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	noon := float64(time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Unix())
	for _, c := range []struct {
		kind Kind
		cell string
		want float64
		ok   bool
	}{
		{Number, " -1.5e3 ", -1500, true},
		{Number, "Inf", math.Inf(1), true},
		{Number, "12 km", 0, false},
		{Number, "0x10", 0, false},
		{Boolean, "Yes", 1, true},
		{Boolean, "f", 0, true},
		{Boolean, "1", 1, true},
		{Boolean, "2", 0, false},
		{Boolean, "maybe", 0, false},
		{Time, "2024-02-29T12:00:00Z", noon, true},
		{Time, "29 Feb 2024", noon - 12*3600, true},
		{Time, "02/03/2024", 0, false},
		{Category, "1", 0, false},
	} {
		got, ok := c.kind.Parse([]byte(c.cell))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v.Parse(%q) = %v, %v; want %v, %v", c.kind, c.cell, got, ok, c.want, c.ok)
		}
	}
}

func TestMissingIsWhatCSVTakesForMissing(t *testing.T) {
	csv := newMissingTokens(nil)
	for _, cell := range []string{"", "  ", "NA", "na", "n/a", "NaN", "nan ", "NULL", "?", "none", "0", "-", "NAN A", "ＮＡ"} {
		if got, want := Missing([]byte(cell)), csv.has([]byte(cell)); got != want {
			t.Errorf("Missing(%q) = %v, but CSV has %v", cell, got, want)
		}
	}
}

// Holds is what New checks of observed cells.
func TestHoldsIsWhatNewTakes(t *testing.T) {
	for _, kind := range []Kind{Number, Boolean, Time} {
		for _, v := range []float64{0, 1, 0.5, -1, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), firstSecond, firstSecond - 1, lastSecond, lastSecond + 1} {
			_, err := New(&Column{Name: "x", Kind: kind, Observed: []bool{true}, Numbers: []float64{v}})
			if got := kind.Holds(v); got != (err == nil) {
				t.Errorf("%v.Holds(%v) = %v, but New says %v", kind, v, got, err)
			}
		}
	}
}
