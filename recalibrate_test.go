package psi

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

// recalibrated is a model recalibrated on rows, saved and opened again.
func recalibrated(t *testing.T, m *Model, rows *table.Table) *Model {
	t.Helper()
	fresh, err := m.Recalibrate(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	path := filepath.Join(t.TempDir(), "fresh.psi")
	if err := fresh.Save(path); err != nil {
		t.Fatal(err)
	}
	read, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(read.Close)
	if a, b := explainSmall(t, fresh, rows), explainSmall(t, read, rows); !slices.Equal(a.Mean, b.Mean) || !slices.Equal(a.Prediction, b.Prediction) || !slices.Equal(a.RangeStd, b.RangeStd) {
		t.Error("the file does not say the same as the model")
	}
	if !slices.Contains(requirements(t, path), "recalibrated") {
		t.Error("older programs would not refuse the file by name")
	}
	return read
}

func requirements(t *testing.T, path string) []string {
	t.Helper()
	file, _, err := artifact.ReadFile(path, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	return file.Requires
}

// wantSameGame sees that attributions and deviations are multiplied by the recorded factor, that φ_0 moved by the recorded shift, and
// that predictions are what they add up to.
func wantSameGame(t *testing.T, m, fresh *Model, rows *table.Table) {
	t.Helper()
	records := fresh.Manifest().Recalibrations
	last := records[len(records)-1]
	before, after := explainSmall(t, m, rows), explainSmall(t, fresh, rows)
	wantScaled(t, "attributions", last.Factor, before.Mean, after.Mean)
	wantScaled(t, "deviations", last.Factor, before.Std, after.Std)
	wantScaled(t, "doubts", last.Factor, before.ModelStd, after.ModelStd)
	wantScaled(t, "interactions", last.Factor, before.Interactions, after.Interactions)
	wantScaled(t, "importances", last.Factor, m.StoredAudit().Outputs[0].Importance, fresh.StoredAudit().Outputs[0].Importance)
	d, c := len(after.Players), len(last.Shift)
	for line, want := range after.Prediction {
		if moved := after.Base[line] - before.Base[line]; math.Abs(moved-last.Shift[line%c]) > 1e-9*(1+math.Abs(before.Base[line])) {
			t.Fatalf("φ_0 moved by %v, but %v is recorded", moved, last.Shift[line%c])
		}
		sum := after.Base[line] + after.Residual[line]
		for _, phi := range after.Mean[line*d : (line+1)*d] {
			sum += phi
		}
		if math.Abs(sum-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("line %d: base and attributions add up to %v, not to %v", line, sum, want)
		}
	}
}

// A number that is measured in another unit, from another zero, is predicted as well as before.
func TestRecalibratedNumber(t *testing.T) {
	rows := small(t, 400)
	m := trainSmall(t, rows, "number", "label", 1)
	moved := &table.Table{Columns: slices.Clone(rows.Columns)}
	y := slices.Clone(rows.Column("number").Numbers)
	for i := range y {
		y[i] = 100 + 1.8*y[i]
	}
	moved.Columns[2] = table.NumberColumn("number", y, nil)
	fresh := recalibrated(t, m, moved)
	wantSameGame(t, m, fresh, moved)
	record := fresh.Manifest().Recalibrations[0]
	original, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	rmse := finiteMetrics(*original)["rmse"]
	t.Logf("%+v; RMSE of the first unit %v", record, rmse)
	if record.Rows != 400 || !strings.HasPrefix(record.Data, "sha256:") || record.Before["rmse"] < 90 || record.After["rmse"] > 1.02*1.8*rmse {
		t.Errorf("%+v: the RMSE was to fall from about 100 to %v", record, 1.8*rmse)
	}
	e, err := fresh.Evaluate(t.Context(), moved.Source())
	if err != nil {
		t.Fatal(err)
	}
	if held := finiteMetrics(*e)["coverage_90"]; math.Abs(held-0.9) > 0.03 {
		t.Errorf("ranges hold %v of the rows, not 90 %%", held)
	}
	p, err := fresh.Predict(t.Context(), moved.Source())
	if err != nil {
		t.Fatal(err)
	}
	if mean := meanOf(p.Mean); math.Abs(mean-meanOf(y)) > 1e-4 {
		t.Errorf("the mean prediction is %v, that of the target %v", mean, meanOf(y))
	}
	if again := recalibrated(t, fresh, moved); len(again.Manifest().Recalibrations) != 2 || math.Abs(again.Manifest().Recalibrations[1].Factor-1) > 0.02 {
		t.Errorf("a second time changes more than the prior does: %+v", again.Manifest().Recalibrations[1])
	}
}

func meanOf(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
}

// Rows whose base rates differ from those of the training get theirs: the mean of each class's probability is its share.
func TestRecalibratedClasses(t *testing.T) {
	all := small(t, 3000)
	rng := rand.New(rand.NewPCG(3, 0))
	for _, classes := range []int{2, 3} {
		rows := ofClasses(t, all, classes)
		m := trainSmall(t, rows.Select(numbers(400)), "label", "number", 1)
		last := m.manifest.Classes()[classes-1]
		var rare []int // nine of ten rows of the last class are gone
		for i := 400; i < rows.Rows(); i++ {
			if rows.Column("label").Text(i) != last || rng.IntN(10) == 0 {
				rare = append(rare, i)
			}
		}
		shifted := rows.Select(rare)
		fresh := recalibrated(t, m, shifted)
		wantSameGame(t, m, fresh, shifted)
		record := fresh.Manifest().Recalibrations[0]
		t.Logf("%+v", record)
		if !(record.After["log_loss"] < record.Before["log_loss"]-0.03) {
			t.Errorf("%d classes: log loss %v after %v", classes, record.After["log_loss"], record.Before["log_loss"])
		}
		before, after, share := ratesOf(t, m, shifted), ratesOf(t, fresh, shifted), sharesOf(m, shifted)
		for c := range share {
			t.Logf("class %d: expected %.3f, then %.3f of %.3f", c, before[c], after[c], share[c])
			if math.Abs(after[c]-share[c]) > 0.005 {
				t.Errorf("%d classes: of class %d %v are expected, and %v are there", classes, c, after[c], share[c])
			}
		}
	}
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// ratesOf are the mean probabilities of the classes.
func ratesOf(t *testing.T, m *Model, rows *table.Table) []float64 {
	t.Helper()
	p, err := m.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Classes) == 2 {
		positive := meanOf(p.Probability)
		return []float64{1 - positive, positive}
	}
	rates := make([]float64, len(p.Classes))
	for i, v := range p.Probability {
		rates[i%len(rates)] += v / float64(p.Rows())
	}
	return rates
}

func sharesOf(m *Model, rows *table.Table) []float64 {
	classes := m.manifest.Classes()
	shares := make([]float64, len(classes))
	for i := range rows.Rows() {
		shares[slices.Index(classes, rows.Column("label").Text(i))] += 1 / float64(rows.Rows())
	}
	return shares
}

// Of rows that lack a class, the class keeps a probability; and too few rows are refused.
func TestRecalibratingOnFewRows(t *testing.T) {
	rows := ofClasses(t, small(t, 400), 2)
	m := trainSmall(t, rows, "label", "number", 1)
	var negative []int
	for i := range rows.Rows() {
		if rows.Column("label").Text(i) == "false" && len(negative) < 40 {
			negative = append(negative, i)
		}
	}
	fresh := recalibrated(t, m, rows.Select(negative))
	if rate := ratesOf(t, fresh, rows.Select(negative))[1]; !(rate > 0.005 && rate < ratesOf(t, m, rows.Select(negative))[1]) {
		t.Errorf("the rate of a class that is not there is %v", rate)
	}
	before := m.Manifest()
	if _, err := m.Recalibrate(t.Context(), rows.Select(negative[:29]).Source()); err == nil || !strings.Contains(err.Error(), "29 rows have an outcome, and recalibrating needs 30") {
		t.Errorf("%v", err)
	}
	if !reflect.DeepEqual(before, m.Manifest()) {
		t.Error("recalibrating changed the model")
	}
}

// A file with a temperature, of an older program, becomes one with a scale; its scores are those that were recalibrated.
func TestRecalibratedOlderFile(t *testing.T) {
	rows := ofClasses(t, small(t, 400), 2)
	m := trainSmall(t, rows, "label", "number", 1)
	m.manifest.Calibration = Calibration{Temperature: 2}
	fresh := recalibrated(t, m, rows)
	wantSameGame(t, m, fresh, rows)
	if c := fresh.Manifest().Calibration; c.Temperature != 0 || c.Scale == 0 {
		t.Errorf("%+v", c)
	}
}
