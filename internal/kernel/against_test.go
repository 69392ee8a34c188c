package kernel_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/shapley"
)

// hybrids is the game of row i against references by its definition: every hybrid row is a row, and the evaluator of rows values it.
type hybrids struct {
	of         form.Evaluator
	config     form.Config
	rows       *encode.Batch
	i          int
	references *encode.Batch
}

func (h hybrids) Players() int { return h.config.Inputs.Players() }
func (h hybrids) Outputs() int { return h.config.Outputs }

func (h hybrids) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	player := h.config.Inputs.PlayerOf()
	return h.values(ctx, s.Len(), func(c, column int) bool { return s.Has(c, player[column]) })
}

// values are those of n coalitions of columns.
func (h hybrids) values(ctx context.Context, n int, has func(c, column int) bool) ([]float64, error) {
	columns, refs := h.rows.Players(), h.references.Rows
	all := h.rows.Like(n * refs)
	for c := range n {
		for r := range refs {
			all.Set(c*refs+r, h.rows, h.i)
			for d := range columns {
				if h.rows.Observed[h.i*columns+d] != 0 && !has(c, d) {
					all.SetPlayer(c*refs+r, d, h.references, r)
				}
			}
		}
	}
	x, err := h.of.Pass(ctx, all, 0)
	if err != nil {
		return nil, err
	}
	values := make([]float64, n*h.Outputs())
	for i, v := range x.Value {
		row, output := i/h.Outputs(), i%h.Outputs()
		values[row/refs*h.Outputs()+output] += float64(v) / float64(refs)
	}
	return values, nil
}

// enumerated is everything that the definition of the game says of rows: the answers of an evaluator that are no matter of σ or h.
func enumerated(t *testing.T, of form.Evaluator, c form.Config, rows, references *encode.Batch) map[string][]float32 {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all := map[string][]float32{}
	add := func(what string, values []float64) {
		for _, v := range values {
			all[what] = append(all[what], float32(v))
		}
	}
	masks := masksOf(rows)
	columns := rows.Players()
	for i := range rows.Rows {
		h := hybrids{of, c, rows, i, references}
		game := shapley.Restrict(h, c.RowGame(of, rows, i).Present()) // others contribute nothing
		values, err := shapley.Exact(t.Context(), game)
		check(err)
		add("v", values.Grand)
		add("v(∅)", values.Empty)
		add("φ", values.Extend(game).Phi)
		pairs, err := shapley.Interactions(t.Context(), game)
		check(err)
		add("interactions", pairs.Extend(game).I)
		coalitions, err := h.values(t.Context(), masksPerRow, func(k, d int) bool { return masks[(i*masksPerRow+k)*columns+d] != 0 })
		check(err)
		add("coalitions", coalitions)
	}
	return all
}

const masksPerRow = 5

// masksOf are masks of rows, over missing cells too.
func masksOf(rows *encode.Batch) []float32 {
	return formtest.Masks(rand.New(rand.NewPCG(3, 0)), rows.Rows, masksPerRow, rows.Players())
}

// evaluated is what an evaluator says of the same.
func evaluated(t *testing.T, e form.Evaluator, rows *encode.Batch) (map[string][]float32, *form.Explained) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	x, err := e.Pass(t.Context(), rows, form.Everything)
	check(err)
	pairs, err := e.Interactions(t.Context(), rows)
	check(err)
	coalitions, err := e.Coalitions(t.Context(), rows, masksOf(rows), masksPerRow)
	check(err)
	return map[string][]float32{"v": x.Value, "v(∅)": x.Empty, "φ": x.Attributions, "interactions": pairs, "coalitions": coalitions}, x
}

func rms(list []float32) float64 {
	sum := 0.0
	for _, v := range list {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(list)))
}

func againstRows(t testing.TB, n *kernel.Net, references *encode.Batch) form.Evaluator {
	t.Helper()
	e, err := n.Against(references)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// keep lets each row have at most n cells.
func keep(rows *encode.Batch, n int) {
	columns := rows.Players()
	for i := range rows.Rows {
		left := n
		for d := range columns {
			if o := &rows.Observed[i*columns+(d*7+i)%columns]; *o != 0 {
				*o = float32(min(1, left))
				left -= int(*o)
			}
		}
	}
}

// All that is said of rows against references is what enumerating the hybrid rows says, however few nodes the network's own game needs.
func TestAgainstIsTheGameOfHybridRows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			weights := formtest.Weights(rng, c)
			rows := formtest.Rows(rng, c.Inputs, 4, .2)
			for d := range rows.Players() { // one row is complete
				rows.Observed[d] = 1
			}
			if c.Inputs.Players() > form.MaxEnumerated {
				keep(rows, 9)
			}
			for _, number := range []int{1, 3, 70} {
				references := formtest.Rows(rng, c.Inputs, number, .2)
				for set, n := range kernel.OnEach(c, weights, 1) {
					if number > 3 && !slices.Contains([]string{"pairs", "classes", "pairs that join groups"}, name) {
						continue // the loop over references is the same
					}
					want := enumerated(t, n, c, rows, references)
					got, x := evaluated(t, againstRows(t, n, references), rows)
					// Differences of values in 32 bits are as accurate as the values, which may be much larger.
					relative := func(far float64, to []float32) float64 { return far * rms(to) / max(rms(to), rms(want["coalitions"])) }
					for what := range want {
						if far := relative(relativeError(got[what], want[what]), want[what]); !(far < 1e-5) {
							t.Errorf("%s, %d references: %s differs by %.1e", set, number, what, far)
						}
					}
					worth := slices.Clone(x.Value)
					for i := range worth {
						worth[i] -= x.Empty[i]
					}
					if r := relative(x.Residual(), worth); !(r < 1e-5) {
						t.Errorf("%s, %d references: the residual is %.1e", set, number, r)
					}
					own, err := n.Pass(t.Context(), rows, form.Everything)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(x.Value, own.Value) || !slices.Equal(x.Std, own.Std) || !slices.Equal(x.HiddenVariance, own.HiddenVariance) {
						t.Errorf("%s: v, σ or h² are not the row's", set)
					}
				}
			}
		})
	}
}

// Nothing but missing cells is the reference of the network's own game.
func TestAgainstMissingCells(t *testing.T) {
	for name, c := range cases() {
		rng := rand.New(rand.NewPCG(7, 0))
		weights := formtest.Weights(rng, c)
		rows, nothing := formtest.Rows(rng, c.Inputs, 9, .2), formtest.Rows(rng, c.Inputs, 2, 1)
		for set, n := range kernel.OnEach(c, weights, form.ExactNodes(c.Inputs.Players())) {
			want, _ := evaluated(t, n, rows)
			want["v(∅)"] = make([]float32, len(want["v"]))
			got, _ := evaluated(t, againstRows(t, n, nothing), rows)
			for what := range want {
				if far := relativeError(got[what], want[what]); !(far < 1e-5) && what != "v(∅)" {
					t.Errorf("%s, %s: %s differs by %.1e", name, set, what, far)
				}
			}
			for _, v := range got["v(∅)"] {
				if math.Abs(float64(v)) > 1e-5 {
					t.Errorf("%s, %s: v(∅) is %g", name, set, v)
				}
			}
		}
	}
}

// A player whose cells are those of the reference contributes exactly nothing.
func TestAgainstItself(t *testing.T) {
	for name, c := range cases() {
		rng := rand.New(rand.NewPCG(7, 0))
		weights := formtest.Weights(rng, c)
		row := formtest.Rows(rng, c.Inputs, 1, .2)
		reference := formtest.Rows(rng, c.Inputs, 1, .2)
		player := c.Inputs.PlayerOf()
		same := func(p int) bool { return p%2 == 0 }
		for d, p := range player {
			if same(p) {
				reference.SetPlayer(0, d, row, 0)
			}
		}
		for set, n := range kernel.OnEach(c, weights, 2) {
			x, err := againstRows(t, n, reference).Pass(t.Context(), row, form.Attributions)
			if err != nil {
				t.Fatal(err)
			}
			for i, phi := range x.Attributions {
				if p := i % c.Inputs.Players(); same(p) && phi != 0 {
					t.Errorf("%s, %s: the attribution of player %d is %g, want 0", name, set, p, phi)
				}
			}
		}
	}
}

// The exact number of nodes is bounded, and attributions of very wide rows still add up.
func TestAgainstWithManyColumns(t *testing.T) {
	c := form.Config{
		Inputs: form.Inputs{Numeric: 700, Bins: 3}, Outputs: 1, Head: form.Exact, Form: form.Product,
		Embedding: 4, Channels: 32, SigmaWidth: 1, HiddenWidth: 1,
	}
	c.Pairs, c.PairRank = c.Inputs.Matchings(2), 1
	rng := rand.New(rand.NewPCG(7, 0))
	n, err := kernel.New(c, formtest.Weights(rng, c), 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := againstRows(t, n, formtest.Rows(rng, c.Inputs, 3, .1)).Pass(t.Context(), formtest.Rows(rng, c.Inputs, 5, .1), form.Attributions)
	if err != nil {
		t.Fatal(err)
	}
	if r := x.Residual(); !(r < 3e-5) {
		t.Errorf("the residual is %.1e", r)
	}
}

func TestAgainstRefuses(t *testing.T) {
	c := cases()["small"]
	rng := rand.New(rand.NewPCG(7, 0))
	n, err := kernel.New(c, formtest.Weights(rng, c), 1)
	if err != nil {
		t.Fatal(err)
	}
	for what, references := range map[string]*encode.Batch{
		"there are no reference rows":       encode.NewBatch(0, 5, 2),
		"the reference rows have 1 columns": encode.NewBatch(2, 1, 0),
	} {
		if _, err := n.Against(references); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("the error is %v, want: %s", err, what)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	rows := formtest.Rows(rng, c.Inputs, 3, 0)
	if _, err := againstRows(t, n, rows).Pass(stopped, rows, form.Attributions); err == nil {
		t.Error("a pass goes on after its context is done")
	}
}
