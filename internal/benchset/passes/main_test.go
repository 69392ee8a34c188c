package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/synth"
)

func TestCosts(t *testing.T) {
	s, err := synth.Generate("synth3", 3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Change: func(s *psi.Settings) {
		s.Channels, s.Embedding, s.Width, s.Steps, s.RefitSteps, s.SpreadSteps = 8, 8, 16, 20, 5, 5
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	dir := t.TempDir()
	model, data := filepath.Join(dir, "m.psi"), filepath.Join(dir, "rows.csv")
	if err := m.Save(model); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("x1,x2,x3\n")
	for range 500 {
		text.WriteString("1,2,3\n")
	}
	if err := os.WriteFile(data, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{model, data, "200"}, &out); err != nil {
		t.Fatal(err)
	}
	var c costs
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if c.Rows != 200 || c.Players != 3 || c.Explain.Wall <= 0 || c.Interactions.CPU <= 0 || c.Coalition.Wall <= 0 || c.Coalition.Wall > c.Explain.Wall {
		t.Errorf("%+v", c)
	}
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{"usage": {"m.psi"}, "not a number": {"m.psi", "rows.csv", "0"}, "none.csv": {"m.psi", "none.csv", "1"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that says %s", args, err, want)
		}
	}
}
