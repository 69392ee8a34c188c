package proof

import (
	"errors"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/table"
)

// What is expected of asking for a missing cell is what asking for it brings: the squared error goes down by as much, on
// average over rows of california that lack half of their cells.
func TestQuestionsBringWhatIsExpected(t *testing.T) {
	slow(t)
	p, err := realTable("california")
	if errors.Is(err, benchset.ErrAbsent) {
		t.Skip(err)
	}
	check(t, err)
	m := fit(t, p, "exact", nil)
	whole := p.table.Select(p.test)
	const seed = 1
	t.Logf("seed %d", seed)
	blanked := blankCells(whole, p.target, .5, seed)
	predicted := func(rows *table.Table) []float64 {
		x, err := m.Predict(t.Context(), rows.Source())
		check(t, err)
		return x.Mean
	}
	var asked []psi.Question
	for list, err := range m.Questions(t.Context(), blanked.Source(), psi.Ask{Reference: p.table.Select(p.training).Source()}) {
		check(t, err)
		asked = append(asked, list...)
	}
	at := make([]int, len(asked))
	for i, q := range asked {
		at[i] = q.Row
	}
	told := blanked.Select(at)
	for i, q := range asked {
		c := told.Column(q.Column)
		c.Numbers[i], c.Observed[i] = whole.Column(q.Column).Numbers[q.Row], true
	}
	before, after, y := predicted(blanked.Select(at)), predicted(told), whole.Select(at).Column(p.target).Numbers
	type pair struct{ expected, seen, n float64 }
	sum, by := pair{}, map[string]*pair{}
	for i, q := range asked {
		if by[q.Column] == nil {
			by[q.Column] = &pair{}
		}
		gain := (y[i]-before[i])*(y[i]-before[i]) - (y[i]-after[i])*(y[i]-after[i])
		for _, s := range []*pair{&sum, by[q.Column]} {
			s.expected, s.seen, s.n = s.expected+q.Reduction, s.seen+gain, s.n+1
		}
	}
	var expected, seen []float64
	for _, name := range m.Columns() {
		s := by[name]
		t.Logf("%-20s expected %.3f, seen %.3f", name, s.expected/s.n, s.seen/s.n)
		expected, seen = append(expected, s.expected/s.n), append(seen, s.seen/s.n)
	}
	t.Logf("all: expected %.3f, seen %.3f; correlation over columns %.2f", sum.expected/sum.n, sum.seen/sum.n, correlation(expected, seen))
	if ratio := sum.expected / sum.seen; ratio < .7 || ratio > 1.3 {
		t.Errorf("what is expected is %.2f of what is seen", ratio)
	}
	if r := correlation(expected, seen); r < .7 {
		t.Errorf("the columns' worth correlates by %.2f with what they bring", r)
	}
}
