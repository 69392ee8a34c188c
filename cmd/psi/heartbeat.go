package main

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// trainingBeat is a progress line on stderr for programs.
type trainingBeat struct {
	Schema    string   `json:"schema"`
	Stage     string   `json:"stage"`
	Member    int      `json:"member"`
	Step      int      `json:"step"`
	Steps     int      `json:"steps"`
	Done      float64  `json:"done"`
	Remaining *float64 `json:"remaining"` // seconds; null while unknown
	Error     *float64 `json:"error"`     // best error of the validation rows so far; null while unknown
	Metric    *string  `json:"metric"`    // metric of Error
	Note      *string  `json:"note"`
	Warning   bool     `json:"warning"` // the note is about columns that are or should be left out, or about duplicate rows
}

// heartbeat reports the progress of a training to a program. Its regular lines also end orphaned trainings: the system
// ends a process that writes to a reader that has died.
type heartbeat struct {
	program *program
	mu      sync.Mutex
	last    trainingBeat
	told    time.Time
	ended   chan struct{}
	done    sync.WaitGroup
}

// Minimum and maximum time between lines.
const (
	beatPause = 100 * time.Millisecond
	beatEvery = time.Second
)

func (w *watch) tellPrograms() {
	b := &heartbeat{program: w.program, ended: make(chan struct{}), last: trainingBeat{Schema: "psi.progress/v1", Stage: "read"}}
	w.beat = b
	b.done.Go(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.mu.Lock()
				b.tell()
				b.mu.Unlock()
			case <-b.ended:
				return
			}
		}
	})
}

func (b *heartbeat) progress(s psi.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	begins := s.Stage != b.last.Stage || s.Member != b.last.Member
	b.last.Stage, b.last.Member, b.last.Step, b.last.Steps, b.last.Done = s.Stage, s.Member, s.Step, s.Steps, s.Done
	b.last.Remaining = nil
	if s.Remaining > 0 {
		seconds := s.Remaining.Seconds()
		b.last.Remaining = &seconds
	}
	if !math.IsNaN(s.Error) && !math.IsInf(s.Error, 0) {
		b.last.Error, b.last.Metric = &s.Error, &s.Metric
	}
	if s.Note != "" {
		b.last.Note, b.last.Warning = &s.Note, s.Warning
	}
	if begins || s.Note != "" || time.Since(b.told) >= beatPause {
		b.tell()
	}
}

// tell writes the line, with b.mu held. A note is written once.
func (b *heartbeat) tell() {
	line, err := json.Marshal(b.last)
	if err != nil {
		panic(err) // cannot fail: only numbers and texts
	}
	b.program.tell(string(line) + "\n")
	b.told, b.last.Note, b.last.Warning = time.Now(), nil, false
}

func (b *heartbeat) end() {
	close(b.ended)
	b.done.Wait()
}
