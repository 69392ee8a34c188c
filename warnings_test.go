package psi

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
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

// A model that is too good is doubted; once a column is asked about, that says it all.
func TestTooGoodModelIsDoubted(t *testing.T) {
	for _, c := range []struct {
		task     Task
		metric   string
		value    float64
		suspects []Suspect
		want     string
	}{
		{Regression, "r2", 0.9989, nil, ""},
		{Regression, "r2", 0.999, nil, TooGood},
		{Binary, "auroc", 1, nil, TooGood},
		{Multiclass, "macro_auroc", 0.9995, nil, TooGood},
		{Binary, "auroc", 1, []Suspect{{"a", "auroc", 0.99}}, Leak},
		{Regression, "rmse", 2, nil, ""},
	} {
		m := &Manifest{Task: c.task, Metrics: map[string]float64{c.metric: c.value}, Suspects: c.suspects}
		if w, suspicious := m.leak(); w.Kind != c.want || suspicious != (c.want != "") || suspicious && !strings.HasSuffix(w.Message, ".") {
			t.Errorf("%s of %g: %+v", c.metric, c.value, w)
		}
	}
}

func TestDropFlag(t *testing.T) {
	for want, names := range map[string][]string{
		"Config.Drop=a,größe_2": {"a", "größe_2"},
		"Config.Drop":           {"a", "paid late"},
	} {
		if got := columnsSetting("Config.Drop", names); got != want {
			t.Errorf("%q: %s", names, got)
		}
	}
	for _, name := range []string{"a,b", "$(rm)", "", "x'y"} {
		if got := columnsSetting("Config.Drop", []string{name}); got != "Config.Drop" {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestManySuspectsAreFewWords(t *testing.T) {
	m := &Manifest{Task: Binary}
	for i := range 8 {
		m.Suspects = append(m.Suspects, Suspect{fmt.Sprint("c", i), "auroc", 0.99})
	}
	w, _ := m.leak()
	if !strings.Contains(w.Message, `"c4" (AUROC 0.99) and 3 more alone`) || strings.Contains(w.Message, "c5") || !strings.Contains(w.Remedy, "c7)") {
		t.Errorf("%+v", w)
	}
}

func TestUnsoundSuspects(t *testing.T) {
	m := &Manifest{Task: Binary, Columns: []table.Field{{Name: "a"}}}
	for _, c := range []struct {
		suspect Suspect
		sound   bool
	}{
		{Suspect{"a", "auroc", 0.99}, true},
		{Suspect{"b", "auroc", 0.99}, false},
		{Suspect{"a", "r2", 0.99}, false},
		{Suspect{"a", "auroc", 1.01}, false},
		{Suspect{"a", "auroc", math.NaN()}, false},
	} {
		m.Suspects = []Suspect{c.suspect}
		if err := m.checkSuspects(); (err == nil) != c.sound {
			t.Errorf("%+v: %v", c.suspect, err)
		}
	}
}

func TestCheckLeftOut(t *testing.T) {
	for _, test := range []struct {
		left  []LeftOut
		right bool
	}{
		{nil, true},
		{[]LeftOut{{Name: "c", Place: 0}, {Name: "d", Place: 3}}, true},
		{[]LeftOut{{Name: "", Place: 0}}, false},
		{[]LeftOut{{Name: "a", Place: 0}}, false},
		{[]LeftOut{{Name: "y", Place: 0}}, false},
		{[]LeftOut{{Name: "c", Place: 0}, {Name: "c", Place: 1}}, false},
		{[]LeftOut{{Name: "c", Place: 1}, {Name: "d", Place: 1}}, false},
		{[]LeftOut{{Name: "c", Place: -1}}, false},
		{[]LeftOut{{Name: "c", Place: 3}}, false},
	} {
		m := Manifest{Target: "y", Columns: []table.Field{{Name: "a"}, {Name: "b"}}, LeftOut: test.left}
		if err := m.checkLeftOut(); (err == nil) != test.right {
			t.Errorf("%v: %v", test.left, err)
		}
	}
}
