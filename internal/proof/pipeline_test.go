package proof

import (
	"context"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
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

// tested are the rows that were held out.
func (p problem) tested() *table.Table { return p.table.Select(p.test) }

// model is a model of a problem, and what its training took.
type model struct {
	problem
	*psi.Model
	wall, cpu time.Duration
}

// backend trains a head. If the environment names the library of ONNX Runtime, that trains the learned head: it is several
// times as fast as the engine in Go.
func backend(head string) psi.Backend {
	if head == "learned" && os.Getenv("ONNXRUNTIME_SHARED_LIBRARY_PATH") != "" {
		return psi.ONNX
	}
	return psi.Auto
}

// fit trains a head by the default recipe, with changes.
func fit(t testing.TB, p problem, head string, change func(s *psi.Settings)) *model {
	t.Helper()
	m := &model{problem: p}
	start, used := time.Now(), cpuTime(t)
	var err error
	m.Model, err = psi.Train(context.Background(), p.table.Select(p.training).Source(), psi.Config{
		Target: p.target, Validation: p.table.Select(p.validate).Source(), Head: head, Backend: backend(head), Change: change,
	})
	check(t, err)
	t.Cleanup(m.Close)
	m.wall, m.cpu = time.Since(start), cpuTime(t)-used
	return m
}

// nodes of the first network's quadrature.
func (m *model) nodes() int { return m.Manifest().Nodes[0] }

// explained is what the model says of rows, in the target's units.
type explained struct {
	y, prediction, std []float64
	phi, sigma         [][]float64 // [player][row]
	noise              float64     // σ_0
}

func (m *model) explain(t testing.TB, rows *table.Table) explained {
	t.Helper()
	x, err := m.Explain(context.Background(), rows.Source(), psi.ExplainOptions{})
	check(t, err)
	players := len(x.Players)
	e := explained{
		y: rows.Column(m.target).Numbers, prediction: x.Prediction, std: x.PredictionStd,
		phi: make([][]float64, players), sigma: make([][]float64, players),
	}
	// Of the variance of the first prediction, σ_0² is what no column and no gap explains.
	rest := x.PredictionStd[0]*x.PredictionStd[0] - x.HiddenStd[0]*x.HiddenStd[0]
	for i := range x.Rows {
		for j := range players {
			e.phi[j] = append(e.phi[j], x.Mean[i*players+j])
			e.sigma[j] = append(e.sigma[j], x.Std[i*players+j])
		}
	}
	for j := range players {
		rest -= e.sigma[j][0] * e.sigma[j][0]
	}
	e.noise = math.Sqrt(max(0, rest))
	return e
}

// fidelity is the relative RMSE of the attributions of some held out rows against exact
// Shapley values of the same model.
func (m *model) fidelity(t testing.TB, rows int) float64 {
	t.Helper()
	ask := func(mode explain.Mode) []float64 {
		x, err := m.Explain(context.Background(), m.tested().Source(), psi.ExplainOptions{Mode: mode, To: rows})
		check(t, err)
		return x.Mean
	}
	return relativeError(ask(explain.Fast), ask(explain.Exact))
}

// relativeError is the RMSE of a against b over the RMS of b.
func relativeError(a, b []float64) float64 { return rmse(a, b) / rmse(b, make([]float64, len(b))) }

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
