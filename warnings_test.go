package psi

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// descending are validations of a phase: the error falls to the end, or only for the first half.
func descending(phase string, toTheEnd bool) (points []train.Point) {
	score := 1.0
	for step := 100; step <= 4000; step += 100 {
		if step <= 2000 || toTheEnd {
			score *= 0.99
		}
		points = append(points, train.Point{Phase: phase, Step: step, Loss: 1, Score: score})
	}
	return points
}

func TestLastFall(t *testing.T) {
	quarter := 1 - math.Pow(0.99, 10)
	for _, c := range []struct {
		what    string
		members [][]train.Point
		want    float64
	}{
		{"falls to the end", [][]train.Point{descending("fit", true)}, quarter},
		{"has settled", [][]train.Point{descending("fit", false)}, 0},
		{"one of two members falls", [][]train.Point{descending("fit", false), descending("fit", true)}, quarter / 2},
		{"other phases do not count", [][]train.Point{append(descending("fit", false), descending("refit", true)...)}, 0},
		{"got worse", [][]train.Point{{{Phase: "fit", Step: 10, Score: 0.5}, {Phase: "fit", Step: 20, Score: 0.6}}}, 0},
		{"one validation", [][]train.Point{{{Phase: "fit", Step: 10, Score: 0.5}}}, 0},
		{"none", nil, 0},
	} {
		if got := lastFall(historyCSV(c.members)); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: fell by %g, expected %g", c.what, got, c.want)
		}
	}
	for _, text := range []string{"", "a,b\n1", "member,phase,step,loss,score\n0,fit,x,1,2\n0,fit,9999999999999999999,1,NaN\n0,fit,-4,1,1e999\n", "member,phase,step,loss,score\n\"", strings.Repeat(",", 1000)} {
		if got := lastFall([]byte(text)); got != 0 {
			t.Errorf("history %.40q: fell by %g", text, got)
		}
	}
}

func TestWarningsOfAModel(t *testing.T) {
	baselines := func(mean, linear, additive float64) map[string]map[string]float64 {
		return map[string]map[string]float64{"mean": {"rmse": mean}, "linear": {"rmse": linear}, "additive": {"rmse": additive}}
	}
	falling := historyCSV([][]train.Point{descending("fit", true)})
	for _, c := range []struct {
		what      string
		baselines map[string]map[string]float64
		share     float64
		history   []byte
		want      []string
	}{
		{what: "better than all", baselines: baselines(3, 2, 1.5), share: 1},
		{what: "an old file"},
		{what: "linear wins", baselines: baselines(3, 0.9, 1.1), want: []string{NoBetterThanLinear}},
		{what: "additive wins more", baselines: baselines(3, 0.9, 0.8), want: []string{NoBetterThanAdditive}},
		{what: "the mean wins too", baselines: baselines(1, 0.9, 0.8), want: []string{NoBetterThanMean}},
		{what: "cut, and falling", share: 0.4, history: falling, want: []string{CutShort}},
		{what: "cut to almost nothing", share: 0.002, want: []string{CutShort}},
		{what: "falling", history: falling, want: []string{StillFalling}},
		{what: "all", baselines: baselines(3, 0.9, 1.1), history: falling, want: []string{NoBetterThanLinear, StillFalling}},
	} {
		m := &Model{history: c.history, manifest: Manifest{
			Task: Regression, Metrics: map[string]float64{"rmse": 1}, Baselines: c.baselines,
			Provenance: Provenance{Share: c.share}, Settings: Settings{Steps: 1000},
		}}
		list := m.Warnings()
		if list == nil || len(list) != len(c.want) {
			t.Errorf("%s: %v", c.what, list)
			continue
		}
		for i, w := range list {
			if w.Kind != c.want[i] || !strings.HasSuffix(w.Message, ".") || !strings.HasSuffix(w.Remedy, ".") {
				t.Errorf("%s: warning %d is %+v, expected %s", c.what, i, w, c.want[i])
			}
		}
	}
}

func TestRemedyByEffort(t *testing.T) {
	for effort, want := range map[string]string{"": "Settings.Steps=2000", "best": "Settings.Steps=2000", "fast": "Config.Effort=normal"} {
		m := &Manifest{Settings: Settings{Steps: 1000}, Provenance: Provenance{Effort: effort}}
		if got := m.trainLonger(); !strings.Contains(got, want) {
			t.Errorf("effort %q: %s", effort, got)
		}
	}
}

func TestBaselinesOfAManifest(t *testing.T) {
	var m Manifest
	if err := json.Unmarshal([]byte(`{}`), &m); err != nil || m.PlainModels() != nil || m.checkBaselines() != nil {
		t.Errorf("an old manifest has baselines: %v, %v", m.Baselines, err)
	}
	m.Baselines = map[string]map[string]float64{"oracle": {"rmse": 0}}
	if m.checkBaselines() == nil {
		t.Error("an unknown baseline is accepted")
	}
	m = Manifest{LinearColumns: []string{"a"}}
	if m.checkBaselines() == nil {
		t.Error("a linear model of an unknown column is accepted")
	}
}

func TestLossesInWords(t *testing.T) {
	m := &Manifest{
		Task: Regression, Metrics: map[string]float64{"rmse": 584280.3, "r2": 0.5},
		Baselines: map[string]map[string]float64{"linear": {"rmse": 523456.7, "r2": 0.6}},
	}
	if w, _ := m.beaten(); !strings.Contains(w.Message, "rmse 584,280 on validation rows, against 523,457 (R² 0.500, against 0.600)") {
		t.Error(w.Message)
	}
	m.Provenance.Share = 0.3
	if w, _ := m.beaten(); w.Remedy != "Train with a longer time budget (Config.TimeBudget), or use a linear model instead." {
		t.Error(w.Remedy)
	}
}

// Medians are compared by the error that they make least: by rmse a mean may beat the best of them.
func TestMediansAreComparedByTheirError(t *testing.T) {
	m := &Manifest{
		Task: Regression, Scale: encode.Target{Link: encode.Log}, Metrics: map[string]float64{"rmse": 4, "mae": 1, "r2": .1},
		Baselines: map[string]map[string]float64{"linear": {"rmse": 3, "mae": 2, "r2": .4}},
	}
	if w, beaten := m.beaten(); beaten {
		t.Error(w.Message)
	}
	m.Metrics["mae"] = 2.5
	if w, _ := m.beaten(); w.Message != "The model predicts no better than a linear model: mae 2.5 on validation rows, against 2." {
		t.Error(w.Message)
	}
}

func TestTriedScalesInWords(t *testing.T) {
	m := &Manifest{Target: "price", TargetScale: &ScaleChoice{Skewness: 4.7, LogMeanRMSE: 175512.4, IdentityRMSE: 18.25}}
	if text := m.ScaleText(); !strings.Contains(text, "the rmse was 175,512 on the scale log-mean and 18.25 on its own") {
		t.Error(text)
	}
}
