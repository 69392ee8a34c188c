package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/synth"
)

func (p *program) doctorCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check which backends work here, how fast, and what to install",
		Long: `doctor opens each backend and times training steps of a small network on it. For a backend
that does not work it gives the reason and what to install.`,
		Example: `  psi doctor
  psi doctor --json`,
		Args: arguments(),
	}
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), asJSON) }
	return c
}

// diagnosis is the JSON document of doctor.
type diagnosis struct {
	build
	CPUs     int            `json:"cpus"`
	Memory   *int64         `json:"memory_bytes"`
	Backends []backendState `json:"backends"`
}

// backendState describes a backend.
type backendState struct {
	Name    psi.Backend `json:"name"`
	Works   bool        `json:"works"`
	Taken   bool        `json:"taken"` // whether --backend auto selects it: native where it can, go otherwise
	Step    *float64    `json:"step_ms"`
	Reason  *string     `json:"reason"`
	Install *string     `json:"install"`
}

func (p *program) doctor(ctx context.Context, asJSON bool) error {
	d := diagnosis{build: described(), CPUs: runtime.NumCPU(), Memory: memory()}
	d.Schema = "psi.doctor/v1"
	for _, name := range []psi.Backend{psi.Native, psi.Go, psi.ONNX, psi.XLA} {
		state, err := examine(ctx, name)
		if err != nil {
			return err
		}
		state.Taken = state.Works && (name == psi.Native || name == psi.Go)
		d.Backends = append(d.Backends, state)
	}
	if asJSON {
		return p.document(d)
	}
	_, err := p.stdout.Write([]byte(d.text()))
	return err
}

// examine opens a backend and measures it.
func examine(ctx context.Context, name psi.Backend) (backendState, error) {
	state := backendState{Name: name}
	var err error
	if name != psi.Native {
		_, _, err = engine.Open(string(name))
	}
	if err == nil {
		step, failure := timeStep(ctx, name)
		if ctx.Err() != nil {
			return state, ctx.Err()
		}
		if err = failure; err == nil {
			state.Works, state.Step = true, &step
			return state, nil
		}
	}
	reason, install := inFlags(strings.TrimPrefix(err.Error(), string(name)+": ")), toInstall(name)
	state.Reason, state.Install = &reason, &install
	return state, nil
}

// toInstall says how to get a backend.
func toInstall(name psi.Backend) string {
	switch name {
	case psi.XLA:
		return "build psi with -tags xla, and install a PJRT plugin of XLA for your processor"
	case psi.ONNX:
		return "make psi-onnx builds a program with it and puts libonnxruntime.so.1 beside it; ONNXRUNTIME_SHARED_LIBRARY_PATH can name another library"
	}
	return "build psi again"
}

// timeStep returns the time of a training step in milliseconds: 256 rows of synth1 with the default network.
func timeStep(ctx context.Context, backend psi.Backend) (float64, error) {
	sample, err := synth.Generate("synth1", 1024, 0)
	if err != nil {
		return 0, err
	}
	rows, err := sample.Table()
	if err != nil {
		return 0, err
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	const warm, limit, longest = 5, 100, time.Second
	var since time.Time
	steps, took := 0, time.Duration(0)
	_, err = psi.Train(ctx, rows.Source(), psi.Config{
		Target: "y", Backend: backend,
		Progress: func(s psi.Progress) {
			switch {
			case s.Stage != "fit" || ctx.Err() != nil:
			case s.Step == warm: // by then the graph is compiled
				since = time.Now()
			case s.Step > warm:
				steps, took = s.Step-warm, time.Since(since)
				if steps == limit || took > longest {
					enough()
				}
			}
		},
	})
	if steps > 0 {
		return float64(took.Microseconds()) / 1000 / float64(steps), nil
	}
	return 0, err
}

// memory returns the memory of the machine, if the system reports it.
func memory() *int64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return nil
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kilobytes int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kilobytes); n == 1 {
			total := kilobytes << 10
			return &total
		}
	}
	return nil
}

func (d *diagnosis) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "psi %s, %s, %s, %s", version(), d.Go, d.System, prose.Count(d.CPUs, "CPU"))
	if d.Memory != nil {
		fmt.Fprintf(&text, ", %.1f GB of memory", float64(*d.Memory)/1e9)
	}
	text.WriteString("\n\nbackends; --backend auto uses native where it can, and go otherwise\n")
	var lines [][]string
	for _, b := range d.Backends {
		if !b.Works {
			lines = append(lines, []string{string(b.Name), "absent", *b.Reason}, []string{"", "", "to get it: " + *b.Install})
			continue
		}
		speed := fmt.Sprintf("%.1f ms for a small training step", *b.Step)
		switch {
		case b.Taken && b.Name == psi.Native:
			speed += "; auto uses it where it can"
		case b.Taken:
			speed += "; auto uses it otherwise"
		}
		lines = append(lines, []string{string(b.Name), "works", speed})
	}
	text.WriteString(aligned("  ", lines))
	return text.String()
}
