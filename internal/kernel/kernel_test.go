package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/network"
)

// answers is everything an evaluator says of rows.
func answers(t testing.TB, e form.Evaluator, rows *encode.Batch) map[string][]float32 {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all := passes(t, e, rows)
	few := rows.Head(min(rows.Rows, 3))
	pairs, err := e.Interactions(t.Context(), few)
	check(err)
	masks := make([]float32, few.Rows*5*few.Players())
	for i := range masks {
		row, column := i/(5*few.Players()), i%few.Players()
		masks[i] = float32(i*7%3%2) * few.Observed[row*few.Players()+column]
	}
	coalitions, err := e.Coalitions(t.Context(), few, masks, 5)
	check(err)
	all["interactions"], all["coalitions"] = pairs, coalitions
	return all
}

// passes is what passes say of rows.
func passes(t testing.TB, e form.Evaluator, rows *encode.Batch) map[string][]float32 {
	t.Helper()
	x, err := e.Pass(t.Context(), rows, form.Everything)
	if err != nil {
		t.Fatal(err)
	}
	values, err := e.Pass(t.Context(), rows, 0)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]float32{
		"v": x.Value, "v(∅)": x.Empty, "φ": x.Attributions, "σ": x.Std, "h²": x.HiddenVariance, "v alone": values.Value,
	}
}

// relativeError is the root mean square of got − want over that of want.
func relativeError(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var square, scale float64
	for i, w := range want {
		square += math.Pow(float64(got[i])-float64(w), 2)
		scale += float64(w) * float64(w)
	}
	if square == 0 {
		return 0
	}
	return math.Sqrt(square / scale)
}

// cases are networks that have everything a product form can have.
func cases() map[string]form.Config {
	small := form.Config{
		Inputs: form.Inputs{Numeric: 5, Times: 2, Bins: 5, Gaps: true, Levels: []int{3, 40}}, Outputs: 1, Head: form.Exact, Form: form.Product,
		Frequencies: 3, Embedding: 9, Hidden: 1, Channels: 20, SigmaWidth: 5, HiddenWidth: 7,
	}
	all := map[string]form.Config{"small": small}
	add := func(name string, change func(c *form.Config)) {
		c := small
		change(&c)
		all[name] = c
	}
	add("no hidden layer, no waves", func(c *form.Config) { c.Hidden, c.Frequencies = 0, 0 })
	add("three hidden layers", func(c *form.Config) { c.Hidden = 3 })
	add("classes", func(c *form.Config) { c.Outputs, c.Classes = 7, true })
	add("classes that share σ", func(c *form.Config) { c.Outputs, c.Classes, c.SharedSigma = 7, true, true })
	add("groups of classes that share σ", func(c *form.Config) {
		c.Outputs, c.Classes, c.SharedSigma, c.Inputs.Groups = 3, true, true, [][]int{{3}, {0, 4, 6}, {5, 1}, {2}}
	})
	add("numbers only", func(c *form.Config) { c.Inputs.Levels, c.Inputs.Gaps = nil, false })
	add("categories only", func(c *form.Config) { c.Inputs = form.Inputs{Levels: []int{2, 3, 4, 5}} })
	add("one column", func(c *form.Config) { c.Inputs = form.Inputs{Numeric: 1, Bins: 3} })
	add("groups", func(c *form.Config) { c.Inputs.Groups = [][]int{{3}, {0, 4, 6}, {5, 1}, {2}} })
	add("default", func(c *form.Config) {
		*c = form.Default(form.Inputs{Numeric: 8, Bins: 128}, form.Exact, form.Size{Rows: 20_000, Columns: 8})
	})
	add("pairs", func(c *form.Config) {
		c.Channels, c.PairRank, c.Pairs = 64, 2, c.Inputs.Matchings(4)
	})
	add("pairs of classes, an even number of columns", func(c *form.Config) {
		c.Inputs.Times, c.Inputs.Numeric, c.Outputs, c.Classes = 1, 4, 3, true
		c.Channels, c.PairRank, c.Pairs = 48, 1, c.Inputs.Matchings(3)
	})
	add("pairs of groups", func(c *form.Config) {
		c.Inputs.Groups = [][]int{{3}, {0, 4, 6}, {5, 1}, {2}}
		c.Channels, c.PairRank, c.Pairs = 48, 2, [][]int{{0, 5, 4, 1, 3, 2, 6, 7}, {0, 4, 5, 1, 2, 3, 6, 7}, {6, 3, 0, 4, 2, 1, 5, 7}}
	})
	add("pairs that join groups", func(c *form.Config) {
		c.Channels, c.PairRank, c.Pairs, c.Outputs, c.Classes = 48, 1, c.Inputs.Matchings(3), 3, true
		c.Inputs.Groups = [][]int{{3}, {0, 4, 6}, {5, 1}, {2}}
	})
	add("many columns", func(c *form.Config) { c.Inputs.Numeric = 60 })
	return all
}

// Everything the kernel says of random networks and rows with gaps is what the engine's graph says.
func TestAgreesWithTheEngine(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b, _, err := engine.Open("auto")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			weights := formtest.Weights(rng, c)
			nodes := form.ExactNodes(c.Inputs.Players())
			rows := formtest.Rows(rng, c.Inputs, 70, .2)
			onEngine := func(c form.Config) (form.Evaluator, error) {
				graph, err := network.New(c)
				if err != nil {
					return nil, err
				}
				params := graph.NewParams()
				return graph.NewEvaluator(b, params, "", engine.Final, nodes), params.Put("", weights)
			}
			oracle, err := onEngine(c)
			if c.Joined() > 2 { // there is no graph for that
				oracle, err = c.NewEnumerated(onEngine)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer oracle.Close()
			want := answers(t, oracle, rows)
			for set, n := range kernel.OnEach(c, weights, nodes) {
				got := answers(t, n, rows)
				for what := range want {
					if far := relativeError(got[what], want[what]); !(far < 1e-5) {
						t.Errorf("%s: %s differs by %.1e", set, what, far)
					}
				}
			}
		})
	}
}

// A row's answer is the same bits whatever rows are beside it, and whether its cells were met before.
func TestRowsDoNotSeeTheirNeighbours(t *testing.T) {
	for name, c := range cases() {
		rng := rand.New(rand.NewPCG(7, 0))
		weights := formtest.Weights(rng, c)
		rows := formtest.Rows(rng, c.Inputs, 70, .2)
		for i := 0; i < rows.Rows && rows.Numeric > 0; i += 2 { // cells of one position and different values, as beyond the last bin
			rows.Numbers[i*rows.Numeric*2] = float32(c.Inputs.Bins)
		}
		twice := rows.Like(0)
		twice.Append(rows)
		twice.Append(rows)
		evaluators := map[string]form.Evaluator{}
		for set, n := range kernel.OnEach(c, weights, form.ExactNodes(c.Inputs.Players())) {
			evaluators[set] = n
			evaluators[set+", against rows"] = againstRows(t, n, rows.Slice(40, 42))
		}
		for set, n := range evaluators {
			whole := passes(t, n, twice)
			for _, size := range []int{1, 3, 33} {
				for from := 0; from < rows.Rows; from += size {
					to := min(from+size, rows.Rows)
					for what, got := range passes(t, n, rows.Slice(from, to)) {
						width := len(whole[what]) / twice.Rows
						if !slices.Equal(got, whole[what][from*width:to*width]) || !slices.Equal(got, whole[what][(rows.Rows+from)*width:(rows.Rows+to)*width]) {
							t.Fatalf("%s, %s: %s of rows %d to %d depends on the others", name, set, what, from, to)
						}
					}
				}
			}
		}
	}
}

// σ_d that classes share is the formula's, in double precision, from weights that are read one by one: the same for each class.
func TestSharedSigmaByHand(t *testing.T) {
	c := cases()["classes that share σ"]
	c.Inputs = form.Inputs{Levels: []int{2, 3, 4}}
	c.Hidden = 0
	rng := rand.New(rand.NewPCG(11, 0))
	weights := formtest.Weights(rng, c)
	rows := formtest.Rows(rng, c.Inputs, 9, .2)
	relu := func(x float64) float64 { return max(x, 0) }
	w := func(name string, at int) float64 { return float64(weights[name][at]) }
	for set, n := range kernel.OnEach(c, weights, 3) {
		x, err := n.Pass(t.Context(), rows, form.Everything)
		if err != nil {
			t.Fatal(err)
		}
		for r := range rows.Rows {
			for d := range 3 {
				last := w("sigma_out_bias", d)
				for j := range c.SigmaWidth {
					inner := w("sigma_in_bias", d*c.SigmaWidth+j)
					for i := range c.Embedding {
						z := relu(w("levels", int(rows.Codes[r*3+d])*c.Embedding+i))
						inner += z * w("sigma_in", (d*c.Embedding+i)*c.SigmaWidth+j)
					}
					for k := range form.ContextWidth {
						lifted := w("sigma_context_bias", d*form.ContextWidth+k)
						for o := range c.Outputs {
							lifted += float64(x.Value[r*c.Outputs+o]) * w("sigma_context", (d*c.Outputs+o)*form.ContextWidth+k)
						}
						inner += relu(lifted) * w("sigma_lifted", (d*form.ContextWidth+k)*c.SigmaWidth+j)
					}
					last += relu(inner) * w("sigma_out", d*c.SigmaWidth+j)
				}
				want := float64(rows.Observed[r*3+d]) * w("noise_scale", 0) * math.Log1p(math.Exp(last))
				for o := range c.Outputs {
					if got := float64(x.Std[(r*c.Outputs+o)*3+d]); math.Abs(got-want) > 1e-5*(1+want) {
						t.Fatalf("%s: σ of column %d for class %d is %v, want %v", set, d, o, got, want)
					}
				}
			}
		}
	}
}
