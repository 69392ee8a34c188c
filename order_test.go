package psi

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

// sales is a table of one row a day, newest first.
func sales(t *testing.T, rows int) *table.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 0))
	day, x, y := make([]time.Time, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		day[i] = time.Date(2024, 1, rows-i, 0, 0, 0, 0, time.UTC)
		x[i] = rng.NormFloat64()
		y[i] = 2*x[i] + rng.NormFloat64()
	}
	all, err := table.New(table.TimeColumn("day", day, nil), table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTrainByOrder(t *testing.T) {
	rows := sales(t, 120)
	for _, c := range []struct {
		config     Config
		columns    string
		held       int
		provenance string
	}{
		{Config{OrderBy: "day"}, "day,x", 12, "the newest fraction of 0.1 in day"},
		{Config{OrderBy: "day", Drop: []string{"day"}, ValidationFraction: 0.25}, "x", 30, "the newest fraction of 0.25 in day"},
		{Config{OrderBy: "day", ValidationAfter: "31 Mar 2024"}, "day,x", 120 - 91, "the newest rows, after 2024-03-31 in day"},
	} {
		c.config.Target, c.config.Change = "y", tiny
		m, err := Train(t.Context(), rows.Source(), c.config)
		if err != nil {
			t.Fatal(err)
		}
		from := m.Manifest().Provenance
		if got := strings.Join(m.Columns(), ","); got != c.columns || from.ValidationRows != c.held || from.Validation != c.provenance || from.ValidationBy() != "" {
			t.Errorf("columns %s, %d validation rows, %q by %q; want %s, %d, %q", got, from.ValidationRows, from.Validation, from.ValidationBy(), c.columns, c.held, c.provenance)
		}
		m.Close()
	}
	if by := (Provenance{Validation: "the newest fraction of 0.1 in a, by b"}).ValidationBy(); by != "" {
		t.Errorf("rows are said to be kept together by %q", by)
	}
}

func TestOrderMistakes(t *testing.T) {
	rows := sales(t, 40)
	for want, c := range map[string]Config{
		"without a column":       {ValidationAfter: "2024-01-05"},
		"the target is to order": {OrderBy: "y"},
		"Config.Validation and Config.OrderBy cannot be combined": {OrderBy: "day", Validation: rows.Source()},
		"cannot be combined":         {OrderBy: "day", ValidationBy: "x"},
		"no such column":             {OrderBy: "when"},
		"such as 2024-03-01":         {OrderBy: "day", ValidationAfter: "soon"},
		"such as 42":                 {OrderBy: "x", ValidationAfter: "Inf"},
		"no row is after":            {OrderBy: "day", ValidationAfter: "2030-01-01"},
		"training needs at least 10": {OrderBy: "day", ValidationAfter: "2024-01-09T23:59"},
	} {
		c.Target, c.Change = "y", tiny
		m, err := Train(t.Context(), rows.Source(), c)
		if err == nil {
			m.Close()
			t.Errorf("no error, want %q", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A checkpoint of other validation rows is refused.
func TestResumeWithAnotherOrder(t *testing.T) {
	rows := sales(t, 60)
	config := Config{Target: "y", Change: tiny, OrderBy: "day", ValidationAfter: "2024-02-10", Checkpoint: filepath.Join(t.TempDir(), "c")}
	m, err := Train(t.Context(), rows.Source(), config)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	config.Resume = true
	if m, err = Train(t.Context(), rows.Source(), config); err != nil {
		t.Fatal(err)
	}
	m.Close()
	config.ValidationAfter = "2024-02-11"
	if _, err := Train(t.Context(), rows.Source(), config); err == nil || !strings.Contains(err.Error(), "another training") {
		t.Errorf("resumed with other validation rows: %v", err)
	}
}

// Copies of a row share its day, so that they do not validate each other.
func TestOrderedRowsThatRepeat(t *testing.T) {
	rows := sales(t, 60)
	twice := make([]int, 120)
	for i := range twice {
		twice[i] = i / 2
	}
	for _, dropped := range []bool{false, true} {
		var notes []string
		c := Config{Target: "y", Change: tiny, OrderBy: "day", Progress: func(p Progress) { notes = append(notes, p.Note) }}
		if dropped {
			c.Drop = []string{"day"}
		}
		m, err := Train(t.Context(), rows.Select(twice).Source(), c)
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
		at := slices.IndexFunc(notes, func(n string) bool { return strings.Contains(n, "appear more than once") })
		if at < 0 {
			t.Fatal("copies are not warned of")
		}
		if strings.Contains(notes[at], "both train and validate") != dropped || strings.Contains(notes[at], "Config.ValidationBy") {
			t.Errorf("dropped %v: %s", dropped, notes[at])
		}
	}
}

func TestCheckpointSaysWhatDiffers(t *testing.T) {
	now := maker{Psi: "0.2", Backend: Native, CPU: "avx512"}
	for _, c := range []struct {
		made         maker
		says, advice string
	}{
		{maker{Psi: "0.2", Backend: Native, CPU: "avx2"}, "avx2 instructions", "PSI_CPU=avx2"},
		{maker{Psi: "0.2", Backend: "onnx"}, "backend onnx", "Config.Backend=onnx"},
		{maker{Psi: "0.1", Backend: Native, CPU: "avx512"}, "psi 0.1", "without Config.Resume"},
		{maker{}, "older version", "without Config.Resume"}, // written before checkpoints said it
		{now, "another training", "without Config.Resume"},
	} {
		message, remedy := c.made.differsFrom(now)
		if !strings.Contains(message, c.says) || !strings.Contains(remedy, c.advice) {
			t.Errorf("%+v: %q; %q", c.made, message, remedy)
		}
	}
}
