package trees

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// onnxRefused are the cases of testdata that psi does not read, and why.
var onnxRefused = map[string]string{
	"pipeline": "before the trees",
	"vote":     "several ensembles",
}

// predictions are what a model's link makes of its outputs: probabilities of both of two classes.
func predictions(m *Model, outputs []float64) []float64 {
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-m.Slope*x)) }
	switch list := append([]float64{}, outputs...); m.Link {
	case Log:
		for i, x := range list {
			list[i] = math.Exp(x)
		}
		return list
	case Logit:
		return []float64{1 - logistic(list[0]), logistic(list[0])}
	case Probability:
		if len(list) == 1 {
			return []float64{1 - list[0], list[0]}
		}
		return list
	case Softmax:
		sum := 0.0
		for i, x := range list {
			list[i] = math.Exp(x)
			sum += list[i]
		}
		for i := range list {
			list[i] /= sum
		}
		return list
	case Logits:
		for i, x := range list {
			list[i] = logistic(x)
		}
		return list
	default:
		return list
	}
}

// Predictions of ONNX files are those of the models they were converted from, and with the covers of training rows, so are attributions.
func TestONNX(t *testing.T) {
	for _, c := range libraries(t, "onnx") {
		t.Run(c.Name, func(t *testing.T) {
			m, err := ReadONNX(c.Binary)
			if why, refused := onnxRefused[c.Name]; refused {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("the error is %v, without %q", err, why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(m.Classes, c.Classes) {
				t.Errorf("the classes are %q, not %q", m.Classes, c.Classes)
			}
			codes, outputs := c.codes(m), len(m.Base)
			values := m.NewGame(Cover).Values(codes, nil)
			off := 0.0
			for i := range c.Rows {
				got := predictions(m, values[i*outputs:][:outputs])
				if len(got) != len(c.Predictions[i]) {
					t.Fatalf("%d predictions, not %d", len(got), len(c.Predictions[i]))
				}
				for k, want := range c.Predictions[i] {
					off = max(off, math.Abs(got[k]-want)/max(0.01, math.Abs(want)))
				}
			}
			t.Logf("%d trees, link %s: off by %.1e", len(m.Trees), m.Link, off)
			if !(off < 1e-5) {
				t.Errorf("predictions are off by %.1e", off)
			}
			if c.Training == nil {
				return
			}
			m.CountCovers((&library{Rows: c.Training}).codes(m))
			g := m.NewGame(Cover)
			phi := g.Attributions(vector.Available()[0], codes, nil)
			for i := range c.Rows {
				for d, want := range c.Contributions[i][0] {
					got := g.Empty()[0]
					if d < len(m.Columns) {
						got = phi[i*len(m.Columns)+d]
					}
					if math.Abs(got-want) > 1e-6 {
						t.Errorf("row %d, column %d: attribution %v, not %v", i, d, got, want)
					}
				}
			}
		})
	}
}

func FuzzReadONNX(f *testing.F) { fuzz(f, "onnx", ReadONNX) }
