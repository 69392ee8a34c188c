package main

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// trainingBeat is what a program is told of a training, in a line of stderr.
type trainingBeat struct {
	Schema    string   `json:"schema"`
	Stage     string   `json:"stage"`
	Member    int      `json:"member"`
	Step      int      `json:"step"`
	Steps     int      `json:"steps"`
	Done      float64  `json:"done"`
	Remaining *float64 `json:"remaining"` // seconds; null while not known
	Error     *float64 `json:"error"`     // of the validation rows, best so far; null while not known
	Metric    *string  `json:"metric"`    // that it is in
	Note      *string  `json:"note"`
	Warning   bool     `json:"warning"` // the note is about columns that are left out or had better be, or about rows that repeat
}

// heartbeat tells a program how far a training is, and that it goes on: a process that writes to a reader who has died is ended by
// the system, so that no training outlives whoever started it.
type heartbeat struct {
	program *program
	mu      sync.Mutex
	last    trainingBeat
	told    time.Time
	ended   chan struct{}
	done    sync.WaitGroup
}

// Times between lines: at least, and at most.
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

// tell writes the line, with b.mu held. A note is told once.
func (b *heartbeat) tell() {
	line, err := json.Marshal(b.last)
	if err != nil {
		panic(err) // numbers and texts alone
	}
	b.program.tell(string(line) + "\n")
	b.told, b.last.Note, b.last.Warning = time.Now(), nil, false
}

func (b *heartbeat) end() {
	close(b.ended)
	b.done.Wait()
}
