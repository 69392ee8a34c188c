package synth

import (
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func TestTables(t *testing.T) {
	for _, p := range processes() {
		name := p.name
		s := generate(t, name, 30, 9)
		data, err := s.Table()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, data, "x1,x2,x3,y", map[string][]float64{"x2": s.X[1], "y": s.Y})

		truth, err := s.TruthTable()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, truth,
			"row,mean_x1,mean_x2,mean_x3,std_x1,std_x2,std_x3,draw_x1,draw_x2,draw_x3,noise_std,expected_y",
			map[string][]float64{"mean_x3": s.Mean[2], "std_x1": s.Std[0], "draw_x2": s.Draw[1], "noise_std": s.NoiseStd, "expected_y": s.Expected})
		if last := truth.Column("row").Numbers[29]; last != 29 {
			t.Errorf("%s: row 29 is numbered %g", name, last)
		}
	}
}

func TestTablesWithoutLatentDraws(t *testing.T) {
	for name, inputs := range map[string]string{
		"gauss": "x1,x2,x3,x4,x5",
		"copy":  "x1,x2,x3,x4,x5,x2_copy",
		"null":  "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10",
		"logit": "x1,x2,x3,x4,x5",
	} {
		s := generate(t, name, 30, 9)
		data, err := s.Table()
		if err != nil {
			t.Fatal(err)
		}
		last := len(s.Columns) - 1
		checkTable(t, data, inputs+",y", map[string][]float64{"x2": s.X[1], s.Columns[last]: s.X[last], "y": s.Y})

		truth, err := s.TruthTable()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, truth, "row,mean_"+strings.ReplaceAll(inputs, ",", ",mean_")+",noise_std,expected_y",
			map[string][]float64{"mean_x3": s.Mean[2], "mean_" + s.Columns[last]: s.Mean[last], "noise_std": s.NoiseStd, "expected_y": s.Expected})
	}
}

func checkTable(t *testing.T, got *table.Table, columns string, values map[string][]float64) {
	t.Helper()
	var names []string
	for _, c := range got.Columns {
		names = append(names, c.Name)
		if slices.Contains(c.Observed, false) {
			t.Errorf("column %s has a missing cell", c.Name)
		}
	}
	if have := strings.Join(names, ","); have != columns {
		t.Errorf("columns %s, want %s", have, columns)
	}
	for name, want := range values {
		if !slices.Equal(got.Column(name).Numbers, want) {
			t.Errorf("column %s does not hold its values", name)
		}
	}
}
