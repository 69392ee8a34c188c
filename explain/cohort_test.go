package explain

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// Labels make cohorts by how common they are, many numbers halves; rows without a value are in none.
func TestCohorts(t *testing.T) {
	towns := table.CategoryColumn("town", []string{"b", "a", "b", "c", "", "a", "b"}, []bool{true, true, true, true, false, true, true})
	got := Cohorts(towns)
	if len(got) != 3 || got[0].Name != "b" || !slices.Equal(got[0].Rows, []int{0, 2, 6}) || got[1].Name != "a" || got[2].Name != "c" {
		t.Errorf("towns: %+v", got)
	}
	ages := table.NumberColumn("age", []float64{1, 2, 3, 4, 5, 6, 7, 8, math.NaN()}, nil)
	got = Cohorts(ages)
	if len(got) != 2 || got[0].Name != "up to 4.5" || !slices.Equal(got[0].Rows, []int{0, 1, 2, 3}) || !slices.Equal(got[1].Rows, []int{4, 5, 6, 7}) {
		t.Errorf("ages: %+v", got)
	}
	if got := Cohorts(table.NumberColumn("none", []float64{math.NaN()}, nil)); len(got) != 0 {
		t.Errorf("a column without values has cohorts: %+v", got)
	}
}

// Each of a few values is a cohort of its own, as the hours of a day are: numbers in their order, labels by how common they are.
func TestCohortsOfFewValues(t *testing.T) {
	const rows = 240
	numbers := func(values int) *table.Column {
		list := make([]float64, rows)
		for i := range list {
			list[i] = float64((rows - i) % values)
		}
		return table.NumberColumn("hr", list, nil)
	}
	labels := func(values int) *table.Column {
		list := make([]string, rows)
		for i := range list {
			list[i] = fmt.Sprintf("label %02d", (i*i)%values)
		}
		return table.CategoryColumn("town", list, nil)
	}
	for _, c := range []struct{ values, want int }{{2, 2}, {24, 24}, {31, 31}, {32, 2}, {100, 2}} {
		got := Cohorts(numbers(c.values))
		if len(got) != c.want {
			t.Errorf("%d cohorts of %d values, want %d", len(got), c.values, c.want)
		}
		for i, cohort := range got {
			if c.want > 2 && cohort.Name != fmt.Sprint(i) {
				t.Errorf("cohort %d of %d values is %s", i, c.values, cohort.Name)
			}
		}
	}
	many := Cohorts(labels(127))
	if len(many) != maxBars || len(Cohorts(labels(13))) != 7 { // squares modulo 13
		t.Errorf("%d cohorts of many labels, %d of seven", len(many), len(Cohorts(labels(13))))
	}
	for i := range many[1:] {
		if len(many[i].Rows) < len(many[i+1].Rows) {
			t.Errorf("%s comes before %s", many[i].Name, many[i+1].Name)
		}
	}
	own := make([]float64, 30)
	for i := range own {
		own[i] = float64(i * i)
	}
	if got := Cohorts(table.NumberColumn("own", own, nil)); len(got) != 2 {
		t.Errorf("%d cohorts of 30 rows with 30 values", len(got))
	}
	gains := make([]float64, 300) // nearly all 0
	copy(gains, own[:20])
	if got := Cohorts(table.NumberColumn("gain", gains, nil)); len(got) != 2 {
		t.Errorf("%d cohorts of a column that is nearly always 0", len(got))
	}
}
