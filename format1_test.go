package psi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Model files of format 1 give the answers that psi 0.1 gave: every number to 1e-5 of the target's standard deviation. Their model_std was the
// deviation over networks that learned from the same rows, which is no doubt: it is null.
func TestFormat1(t *testing.T) {
	files, err := filepath.Glob("testdata/format1/*.psi")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".psi")
		t.Run(name, func(t *testing.T) {
			m, err := psi.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			target := "number"
			if classes := len(m.Manifest().Scale.Classes); classes > 0 {
				target = map[int]string{2: "two", 7: "seven"}[classes]
			}
			rows, err := table.Read(t.Context(), fmt.Sprintf("testdata/format1/rows-%s.csv", target), m.ReadOptions())
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Interactions: m.Head() == "exact"})
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			w := explain.NewJSONWriter(&got)
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".psi") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			unit := 1.0
			if target == "number" {
				unit = m.Manifest().Scale.Std
			}
			worst := differences(t, "", decoded(t, want), decoded(t, got.Bytes()), 1e-5*unit)
			t.Logf("off by %.1e of the target's standard deviation", worst/unit)
		})
	}
}

func decoded(t *testing.T, document []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// differences reports where two JSON documents differ, numbers by more than the tolerance, and returns how far they lie apart at
// most. A document may have fields that the wanted one lacks.
func differences(t *testing.T, at string, want, got any, tolerance float64) (worst float64) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s: %v, want an object", at, got)
		}
		for key, value := range want {
			if key == "model_std" {
				value = nil
			}
			worst = max(worst, differences(t, at+"."+key, value, object[key], tolerance))
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Fatalf("%s: %v, want a list of %d", at, got, len(want))
		}
		for i, value := range want {
			worst = max(worst, differences(t, fmt.Sprintf("%s[%d]", at, i), value, list[i], tolerance))
		}
	case float64:
		number, ok := got.(float64)
		if worst = math.Abs(want - number); !ok || !(worst <= tolerance) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	default:
		if want != got {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	return worst
}
