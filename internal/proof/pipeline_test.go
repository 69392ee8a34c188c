package proof

import (
	"context"
	"math"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

func slow(t testing.TB) {
	t.Helper()
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("trains for minutes: set PSI_SLOW=1")
	}
}

// problem is a table with a numeric target and its rows divided in three.
type problem struct {
	table                    *table.Table
	target                   string
	training, validate, test []int
}

// model is a trained network with all it needs to explain rows of its problem.
type model struct {
	problem
	encoder   *encode.Encoder
	scale     encode.Target
	net       *network.Network
	evaluator *network.Evaluator
	weights   map[string][]float32
	nodes     int
	wall, cpu time.Duration
}

// change alters the defaults before a fit.
type change func(n *network.Config, c *train.Config)

// fit trains a head by the default recipe, with changes.
func fit(t testing.TB, p problem, head network.Head, changes ...change) *model {
	t.Helper()
	backend, _, err := engine.Open("auto")
	check(t, err)
	m := &model{problem: p}
	training := p.table.Select(p.training)
	m.encoder, err = encode.Fit(training, p.inputs(), network.DefaultBins(len(p.training)))
	check(t, err)
	m.scale = encode.FitTarget(training.Column(p.target).Numbers)

	n := network.Default(m.inputs(), head, len(p.training))
	c := train.Default(head, len(p.training))
	for _, change := range changes {
		change(&n, &c)
	}
	m.net, err = network.New(n)
	check(t, err)
	run, err := train.New(m.net, backend, c, m.data(t, p.training), m.data(t, p.validate))
	check(t, err)
	start, used := time.Now(), cpuTime(t)
	check(t, run.Train(context.Background(), train.Watch{}))
	m.wall, m.cpu = time.Since(start), cpuTime(t)-used
	m.weights, err = run.Weights()
	check(t, err)
	m.nodes = run.Nodes()
	params := m.net.NewParams()
	check(t, params.Put("final", m.weights))
	m.evaluator = m.net.NewEvaluator(backend, params, "final", engine.Final, m.nodes)
	return m
}

func (p problem) inputs() []string {
	var names []string
	for _, c := range p.table.Columns {
		if c.Name != p.target {
			names = append(names, c.Name)
		}
	}
	return names
}

func (m *model) inputs() network.Inputs {
	return network.Inputs{Numeric: m.encoder.Numeric(), Bins: m.encoder.Bins, Levels: m.encoder.EmbeddingRows()}
}

func (m *model) data(t testing.TB, rows []int) train.Data {
	t.Helper()
	part := m.table.Select(rows)
	b, err := m.encoder.Encode(part)
	check(t, err)
	return train.Data{Rows: b, Target: m.scale.Encode(part.Column(m.target).Numbers)}
}

// explained is what the model says of rows, in the target's units.
type explained struct {
	y, prediction, std []float64
	phi, sigma         [][]float64 // [player][row]
}

func (m *model) explain(t testing.TB, d train.Data) explained {
	t.Helper()
	x, err := m.evaluator.Explain(context.Background(), d.Rows)
	check(t, err)
	players := d.Rows.Players()
	e := explained{phi: make([][]float64, players), sigma: make([][]float64, players)}
	noise := float64(network.NoiseStd(m.weights)[0])
	for i, v := range x.Value {
		e.y = append(e.y, m.scale.Mean+m.scale.Std*float64(d.Target[i]))
		e.prediction = append(e.prediction, m.scale.Mean+m.scale.Std*float64(v))
		variance := noise*noise + float64(x.HiddenVariance[i])
		for j := range players {
			s := float64(x.Std[i*players+j])
			variance += s * s
			e.phi[j] = append(e.phi[j], m.scale.Std*float64(x.Attributions[i*players+j]))
			e.sigma[j] = append(e.sigma[j], m.scale.Std*s)
		}
		e.std = append(e.std, m.scale.Std*math.Sqrt(variance))
	}
	return e
}

// noise is σ_0 in the target's units.
func (m *model) noise() float64 { return m.scale.Std * float64(network.NoiseStd(m.weights)[0]) }

// fidelity is the relative RMSE of the attributions of some test rows against exact
// Shapley values of the same model.
func (m *model) fidelity(t testing.TB, rows int) float64 {
	t.Helper()
	ctx := context.Background()
	d := m.data(t, m.test[:min(rows, len(m.test))])
	x, err := m.evaluator.Explain(ctx, d.Rows)
	check(t, err)
	var got, want []float64
	for i := range d.Rows.Rows {
		exact, err := shapley.Exact(ctx, m.evaluator.RowGame(d.Rows, i))
		check(t, err)
		for j := range d.Rows.Players() {
			got = append(got, float64(x.Attributions[i*d.Rows.Players()+j]))
			want = append(want, exact.At(0, j))
		}
	}
	return rmse(got, want) / rmse(want, make([]float64, len(want)))
}

// blank hides each cell of d with probability p.
func blank(d train.Data, p float64, draw func() float64) train.Data {
	rows := *d.Rows
	rows.Observed = slices.Clone(rows.Observed)
	for i := range rows.Observed {
		if draw() < p {
			rows.Observed[i] = 0
		}
	}
	return train.Data{Rows: &rows, Target: d.Target}
}

// coverage is the share of y within z standard deviations of the mean.
func coverage(y, mean, std []float64, z float64) float64 {
	in := 0
	for i := range y {
		if math.Abs(y[i]-mean[i]) <= z*std[i] {
			in++
		}
	}
	return float64(in) / float64(len(y))
}

// z90 bounds the middle 90 % of a normal distribution.
const z90 = 1.6448536269514722

func rmse(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

func at(x []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = x[r]
	}
	return out
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
