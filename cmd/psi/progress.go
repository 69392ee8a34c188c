package main

import (
	"fmt"
	"math"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// watch shows the progress of a training: on a terminal as a line that is redrawn, elsewhere as a line now and then.
type watch struct {
	program *program
	now     func() time.Time
	start   time.Time
	audit   time.Time // start of the audit
	over    time.Time // end of the training
	drawn   time.Time // time of the last line
	stage   string
	best    float64 // last known validation error
	metric  string  // its metric

	beat *heartbeat // nil unless a program reads the progress
}

func newWatch(p *program, now func() time.Time) *watch {
	start := now()
	return &watch{program: p, now: now, start: start, drawn: start, best: math.NaN()}
}

// Minimum times between lines.
const (
	terminalPause = 100 * time.Millisecond
	plainPause    = 10 * time.Second
)

func (w *watch) progress(s psi.Progress) {
	s.Note = inFlags(s.Note)
	if w.beat != nil {
		w.beat.progress(s)
		if s.Stage == "audit" && w.audit.IsZero() {
			w.audit = w.now()
		}
		return
	}
	if s.Note != "" {
		w.program.note("%s", prose.Printable(s.Note))
	}
	if s.Stage == "audit" && w.audit.IsZero() {
		w.audit = w.now()
	}
	if !math.IsNaN(s.Error) {
		w.best, w.metric = s.Error, s.Metric
	}
	pause := plainPause
	if w.program.screen.stderr {
		pause = terminalPause
	}
	begins := s.Stage != w.stage && w.program.screen.stderr // some stages report only once
	w.stage = s.Stage
	if now := w.now(); begins || now.Sub(w.drawn) >= pause {
		w.drawn = now
		w.draw(s)
	}
}

func (w *watch) draw(s psi.Progress) {
	text := w.line(s)
	if !w.program.screen.stderr {
		w.program.note("%s", text)
		return
	}
	w.program.draw(text)
}

// line describes the state.
func (w *watch) line(s psi.Progress) string {
	text := stageWords(s.Stage)
	if s.Folds > 0 {
		text = fmt.Sprintf("fold %d of %d: %s", s.Fold, s.Folds, text)
	}
	if s.Stage == "read" || s.Stage == "audit" {
		return text
	}
	if w.program.screen.stderr {
		text = progressBar(s.Done) + " " + text
	}
	if s.Member > 0 {
		text += fmt.Sprintf(" (network %d)", s.Member+1)
	}
	text += fmt.Sprintf(", %.0f %%", 100*s.Done)
	if s.Remaining > 0 {
		text += ", about " + lasting(max(time.Second, s.Remaining.Round(time.Second))) + " left"
	}
	if !math.IsNaN(w.best) {
		what := "error"
		if w.metric != "" && w.metric != "rmse" {
			what = w.metric
		}
		text += ", validation " + what + " " + prose.Number(w.best)
	}
	return text
}

// stageWords describes a stage of the training.
func stageWords(stage string) string {
	switch stage {
	case "read":
		return "reading"
	case "scale":
		return "choosing the target's scale"
	case "fit":
		return "learning"
	case "refit", "polish":
		return "refining"
	case "absent":
		return "learning missing cells"
	case "spread":
		return "learning the spread"
	case "doubt":
		return "learning the uncertainty"
	case "audit":
		return "auditing"
	}
	return stage
}

// end is called when the training has ended.
func (w *watch) end() {
	w.program.wipe()
	if w.beat != nil {
		w.beat.end()
	}
	w.over = w.now()
}

func (w *watch) seconds() float64 { return w.over.Sub(w.start).Seconds() }

// auditTook returns the duration of the audit.
func (w *watch) auditTook() time.Duration {
	if w.audit.IsZero() {
		return 0
	}
	return w.over.Sub(w.audit)
}
