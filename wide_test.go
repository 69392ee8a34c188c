package psi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// made is a model that was not trained.
type made struct {
	players []encode.Player
	target  encode.Target
	change  func(*Settings)
	weights func(w map[string][]float32) // changes the first ones
}

// save writes the model to a file.
func (c made) save(t testing.TB) string {
	t.Helper()
	if c.target.Task == "" {
		c.target = encode.Target{Task: Regression, Std: 1}
	}
	s := DefaultSettings(string(form.Exact), Size{Rows: 20_000, Columns: len(c.players), Classes: c.target.Task != Regression})
	s.Bags = 0 // its weights are made, not trained
	if c.change != nil {
		c.change(&s)
	}
	for i := range c.players {
		if p := &c.players[i]; p.Numeric() {
			p.Scale = 1
			for k := range s.Bins + 1 {
				p.Edges = append(p.Edges, float64(k)/7)
			}
		}
	}
	m := &Model{manifest: Manifest{
		Task: c.target.Task, Target: "y", Scale: c.target, Encoder: &encode.Encoder{Players: c.players, Bins: s.Bins}, Settings: s,
		Calibration: Calibration{Temperature: 1, Noise: 1},
	}}
	for _, p := range c.players {
		m.manifest.Columns = append(m.manifest.Columns, table.Field{Name: p.Name, Kind: p.Kind})
	}
	m.config = m.manifest.network()
	for i := range s.Members {
		member := form.Member{Nodes: min(8, form.MaxNodes(len(c.players))), Weights: m.config.Start(uint64(i))}
		if c.weights != nil {
			c.weights(member.Weights)
		}
		m.manifest.Nodes = append(m.manifest.Nodes, member.Nodes)
		m.members = append(m.members, member)
	}
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func numberPlayers(n int) []encode.Player {
	players := make([]encode.Player, n)
	for i := range players {
		players[i] = encode.Player{Name: fmt.Sprint("x", i), Kind: table.Number}
	}
	return players
}

func categoryPlayer(name string, levels int) encode.Player {
	p := encode.Player{Name: name, Kind: table.Category}
	for k := range levels {
		p.Levels = append(p.Levels, fmt.Sprintf("label %07d", k))
	}
	return p
}

func manyClasses(n int) encode.Target {
	target := encode.Target{Task: Multiclass, Kind: table.Category, Base: make([]float64, n)}
	for k := range n {
		target.Classes = append(target.Classes, fmt.Sprintf("class %03d", k))
	}
	return target
}

// Large models stay within the budgets of files, and open in seconds although every column's values are looked at.
func TestLargeModelsOpen(t *testing.T) {
	for name, c := range map[string]made{
		"1,000 columns":            {players: numberPlayers(1000)},
		"a category of 10⁵ labels": {players: append(numberPlayers(3), categoryPlayer("c", 100_000))},
		"a category of 10⁶ labels and few weights": {
			players: []encode.Player{categoryPlayer("c", 1_000_000)}, change: func(s *Settings) { s.Embedding, s.Channels = 1, 1 },
		},
		"100 classes": {players: numberPlayers(200), target: manyClasses(100)},
		"64 members":  {players: numberPlayers(20), change: func(s *Settings) { s.Members, s.Channels = 64, 16 }},
	} {
		path := c.save(t)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rose := peak(t, func() {
			m, err := Open(path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			m.Close()
		})
		took := time.Since(start)
		t.Logf("%s: %d kB opened in %v and %d MiB", name, info.Size()>>10, took, rose>>20)
		if most := 64<<20 + 16*info.Size(); took > 20*time.Second || rose > most {
			t.Errorf("%s: %d bytes opened in %v and %d MiB", name, info.Size(), took, rose>>20)
		}
	}
}
