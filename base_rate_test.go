package psi_test

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
)

// A row of which nothing is known has the shares of the classes among the training rows for probabilities, and the base for
// its score.
func TestNothingKnownIsTheBaseRate(t *testing.T) {
	for _, classes := range []int{2, 3, 4} {
		for _, head := range []string{"exact", "learned"} {
			rng := newRand(t, uint64(classes))
			rows, held := people(t, rng, 300, classes), people(t, rng, 120, classes)
			m := reopened(t, trained(t, rows, psi.Config{Head: head, Validation: held.Source(), Change: func(s *psi.Settings) {
				quick(s)
				s.Members = 2
			}}))
			manifest := m.Manifest()
			if c := manifest.Calibration; c.Scale == 1 || c.Slope == 0 {
				t.Fatalf("calibration %+v: nothing to see", c)
			}
			shares := make([]float64, classes)
			for i := range rows.Rows() {
				shares[slices.Index(manifest.Classes(), rows.Column("y").Text(i))] += 1 / float64(rows.Rows())
			}
			if classes == 2 {
				shares = shares[1:]
			}
			e := explained(t, m, rows.Select([]int{0, 1}), psi.ExplainOptions{Unknown: m.Columns()})
			for i, p := range e.Probability {
				if want := shares[i%len(shares)]; !(math.Abs(p-want) <= 1e-6) {
					t.Errorf("%d classes, %s head: probability %.8f of nothing known, base rate %.8f", classes, head, p, want)
				}
				near(t, "score of nothing known", e.Prediction[i], e.Base[i])
			}
		}
	}
}

// The attributions of a calibrated model of classes are the Shapley values of the scores that it predicts of the row's
// coalitions: each is asked for as a row of its own, with the cells of other players missing.
func TestAttributionsAreOfPredictedScores(t *testing.T) {
	rng := newRand(t, 7)
	for _, classes := range []int{2, 3} {
		rows := people(t, rng, 200, classes)
		m := trained(t, rows, psi.Config{Change: quick})
		whole := people(t, rng, 3, classes)
		players := m.Columns()
		d, n := len(players), whole.Rows()
		scores := make([][]float64, 1<<d) // of a coalition [rows, outputs]
		for s := range scores {
			var unknown []string
			for j, name := range players {
				if s>>j&1 == 0 {
					unknown = append(unknown, name)
				}
			}
			scores[s] = explained(t, m, whole, psi.ExplainOptions{Unknown: unknown}).Prediction
		}
		for _, mode := range []explain.Mode{explain.Fast, explain.Exact} {
			e := explained(t, m, whole, psi.ExplainOptions{Mode: mode})
			addUp(t, e)
			for line := range len(scores[0]) {
				near(t, "empty coalition", scores[0][line], e.Base[line])
				for j := range d {
					want := 0.0
					for s := range scores {
						if s>>j&1 == 0 {
							want += weightOf(s, d) * (scores[s|1<<j][line] - scores[s][line])
						}
					}
					near(t, string(mode)+" attribution", e.Mean[line*d+j], want)
				}
			}
			if len(e.Mean) != n*len(e.Outputs)*d {
				t.Errorf("%d attributions", len(e.Mean))
			}
		}
	}
}

// weightOf is |S|! (d − |S| − 1)! / d! of a coalition S of d players.
func weightOf(s, d int) float64 {
	size := 0
	for j := range d {
		size += s >> j & 1
	}
	return math.Gamma(float64(size+1)) * math.Gamma(float64(d-size)) / math.Gamma(float64(d+1))
}

// A program that would divide the base too must not read a model of classes, and may read one of a number.
func TestScaleIsRequired(t *testing.T) {
	_, content := saved(t, trained(t, people(t, newRand(t, 8), 100, 3), psi.Config{Change: moment}))
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"product", "scale", "shared-sigma"}) {
		t.Errorf("requires %q, %v", file.Requires, err)
	}
}
