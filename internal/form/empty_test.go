package form_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
)

// fixed gives the same answer to every question.
type fixed struct {
	form.Evaluator
	answer form.Explained
}

func (f fixed) Pass(context.Context, *encode.Batch, form.Want) (*form.Explained, error) {
	x := f.answer
	return &x, nil
}

func ensembleOf(t *testing.T, answers ...form.Explained) *form.Answer {
	t.Helper()
	left := answers
	e, err := form.Config{Outputs: 1}.NewEnsemble(make([]form.Member, len(answers)), func(form.Member) (form.Evaluator, error) {
		answer := left[0]
		left = left[1:]
		return fixed{answer: answer}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Pass(t.Context(), encode.NewBatch(2, 1, 0), form.Attributions)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Attributions add up to v − v(∅).
func TestResidualOfGamesThatStartElsewhere(t *testing.T) {
	x := form.Explained{Value: []float32{5, 1}, Empty: []float32{2, 3}, Attributions: []float32{1, 2, -1, -1}}
	if r := x.Residual(); r != 0 {
		t.Errorf("the residual is %g, want 0", r)
	}
	x.Attributions[0] = 3 // 2 too much, of 3 and −2
	if r, want := x.Residual(), 2/math.Sqrt(9+4); math.Abs(r-want) > 1e-12 {
		t.Errorf("the residual is %g, want %g", r, want)
	}
	x.Empty = nil // of 5 and 1
	if r, want := x.Residual(), 3/math.Sqrt(25+1); math.Abs(r-want) > 1e-12 {
		t.Errorf("the residual from 0 is %g, want %g", r, want)
	}
}

// v(∅) of an ensemble is the mean of its members', and a slice of its answer has the rows' own.
func TestEmptyOfEnsembles(t *testing.T) {
	one := form.Explained{Value: []float32{5, 1}, Empty: []float32{2, 3}, Attributions: []float32{3, -2}}
	two := form.Explained{Value: []float32{1, 2}, Empty: []float32{0, -1}, Attributions: []float32{1, 3}}
	a := ensembleOf(t, one, two)
	if want := []float32{1, 1}; !slices.Equal(a.Empty, want) || a.Residual() != 0 {
		t.Errorf("v(∅) is %v, want %v; the residual is %g", a.Empty, want, a.Residual())
	}
	if got := ensembleOf(t, one).Slice(1, 2, 2).Empty; !slices.Equal(got, []float32{3}) {
		t.Errorf("v(∅) of the second row is %v, want 3", got)
	}
	one.Empty, two.Empty = nil, nil
	if a := ensembleOf(t, one, two); a.Empty != nil || a.Slice(0, 1, 2).Empty != nil {
		t.Errorf("v(∅) is %v, but no member says so", a.Empty)
	}
}

// An answer whose v(∅) is not finite is refused.
func TestEmptyMustBeFinite(t *testing.T) {
	e, err := form.Config{Outputs: 1}.NewEnsemble(make([]form.Member, 1), func(form.Member) (form.Evaluator, error) {
		return fixed{answer: form.Explained{Value: []float32{5, 1}, Empty: []float32{2, float32(math.NaN())}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Pass(t.Context(), encode.NewBatch(2, 1, 0), 0); err == nil || err.Error() != (&form.NotFiniteError{Row: 1}).Error() {
		t.Errorf("the error is %v", err)
	}
}
