package trees

import (
	"math"
	"reflect"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
)

// bare are columns with nothing but what tensors do not hold.
func bare(columns []Column) []Column {
	list := make([]Column, len(columns))
	for d, c := range columns {
		list[d] = Column{Name: c.Name, Labels: c.Labels}
	}
	return list
}

func TestTensors(t *testing.T) {
	e, _ := random(3, 7, 5, 6, 2)
	content, err := artifact.EncodeTensors(e.Tensors())
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := artifact.DecodeTensors(content)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromTensors(tensors, bare(e.Columns))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, e) {
		t.Error("the ensemble of the tensors is another")
	}
}

// A number that is changed makes another ensemble or an error, never a panic.
func TestTensorsAreChecked(t *testing.T) {
	e, _ := random(3, 4, 3, 4, 1)
	refused := 0
	for name := range e.Tensors() {
		for _, wrong := range []int64{math.MinInt64, -2, -1, 0, 1, 5, 1000, math.MaxInt64} {
			for at := range len(e.Tensors()[name].Ints) {
				tensors := e.Tensors()
				tensors[name].Ints[at] = wrong
				if changed, err := FromTensors(tensors, bare(e.Columns)); err != nil {
					refused++
				} else {
					changed.NewGame(Cover)
				}
			}
		}
		for at := range len(e.Tensors()[name].Doubles) {
			tensors := e.Tensors()
			tensors[name].Doubles[at] = math.NaN()
			if _, err := FromTensors(tensors, bare(e.Columns)); err == nil {
				t.Errorf("%s may have NaN", name)
			}
		}
		tensors := e.Tensors()
		delete(tensors, name)
		if _, err := FromTensors(tensors, bare(e.Columns)); err == nil {
			t.Errorf("%s may be missing", name)
		}
	}
	if refused == 0 {
		t.Error("no change was refused")
	}
}
