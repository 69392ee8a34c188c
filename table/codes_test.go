package table

import (
	"slices"
	"strings"
	"testing"
)

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
