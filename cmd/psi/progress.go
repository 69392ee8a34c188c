package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
		w.program.logf("%s", prose.Printable(s.Note))
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
		w.program.logf("%s", text)
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
		text += ", about " + formatDuration(max(time.Second, s.Remaining.Round(time.Second))) + " left"
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

// bottomLine is the line of a terminal for progress. Other messages replace it.
type bottomLine struct {
	mu    sync.Mutex
	shown int // characters displayed
}

// print writes to stderr. Its errors cannot be reported anywhere.
func (p *program) print(text string) {
	p.bottom.mu.Lock()
	defer p.bottom.mu.Unlock()
	p.wipeLine()
	_, _ = io.WriteString(p.stderr, text)
}

// draw replaces the bottom line.
func (p *program) draw(text string) {
	p.bottom.mu.Lock()
	defer p.bottom.mu.Unlock()
	if width := p.screen.width; width > 0 && utf8.RuneCountInString(text) >= width {
		text = string([]rune(text)[:width-1])
	}
	length := utf8.RuneCountInString(text)
	_, _ = io.WriteString(p.stderr, "\r"+text+strings.Repeat(" ", max(0, p.bottom.shown-length)))
	p.bottom.shown = length
}

// wipe clears the bottom line.
func (p *program) wipe() {
	p.bottom.mu.Lock()
	defer p.bottom.mu.Unlock()
	p.wipeLine()
}

// wipeLine is wipe with p.bottom.mu held.
func (p *program) wipeLine() {
	if p.bottom.shown > 0 {
		_, _ = io.WriteString(p.stderr, "\r"+strings.Repeat(" ", p.bottom.shown)+"\r")
		p.bottom.shown = 0
	}
}

// progressLine shows progress: on a terminal it is redrawn, elsewhere written now and then.
type progressLine struct {
	mu    sync.Mutex
	drawn time.Time
}

func (l *progressLine) draw(p *program, share float64, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := plainPause
	if p.screen.stderr {
		pause = terminalPause
	}
	if time.Since(l.drawn) < pause {
		return
	}
	l.drawn = time.Now()
	if !p.screen.stderr {
		p.logf("%s", text)
		return
	}
	p.draw(progressBar(share) + " " + text)
}

func progressBar(share float64) string {
	const cells = 20
	full := int(math.Round(cells * share))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

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
	printed time.Time
	ended   chan struct{}
	done    sync.WaitGroup
}

// Minimum and maximum time between lines.
const (
	beatPause = 100 * time.Millisecond
	beatEvery = time.Second
)

func (w *watch) startHeartbeat() {
	b := &heartbeat{program: w.program, ended: make(chan struct{}), last: trainingBeat{Schema: "psi.progress/v1", Stage: "read"}}
	w.beat = b
	b.done.Go(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				b.mu.Lock()
				b.print()
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
	if begins || s.Note != "" || time.Since(b.printed) >= beatPause {
		b.print()
	}
}

// print writes the line, with b.mu held. A note is written once.
func (b *heartbeat) print() {
	line, err := json.Marshal(b.last)
	if err != nil {
		panic(err) // cannot fail: only numbers and texts
	}
	b.program.print(string(line) + "\n")
	b.printed, b.last.Note, b.last.Warning = time.Now(), nil, false
}

func (b *heartbeat) end() {
	close(b.ended)
	b.done.Wait()
}

// reading shows on a terminal how far tables are read: the rows so far, and the share of the bytes. A nil reading shows
// nothing.
type reading struct {
	program *program
	now     func() time.Time
	name    string
	size    int64 // of all files; 0 if unknown

	mu           sync.Mutex
	bytes        int64
	rows         int
	start, drawn time.Time
}

// readingPatience is the initial time without output: most tables are read by then.
const readingPatience = 500 * time.Millisecond

// newReading returns nil if stderr is not a terminal.
func newReading(p *program, name string, size int64, now func() time.Time) *reading {
	if !p.screen.stderr {
		return nil
	}
	return &reading{program: p, now: now, name: name, size: size, start: now()}
}

// count returns a reader whose bytes are counted. Only formats that are read sequentially have a share.
func (r *reading) count(from io.Reader) io.Reader {
	if r == nil {
		return from
	}
	return &countedReader{from, r}
}

// countedReader reports its bytes to a reading.
type countedReader struct {
	io.Reader
	reading *reading
}

func (c *countedReader) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.reading.add(int64(n), 0)
	return n, err
}

// add counts what was read.
func (r *reading) add(bytes int64, rows int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += bytes
	r.rows += rows
	now := r.now()
	if now.Sub(r.start) < readingPatience || now.Sub(r.drawn) < terminalPause {
		return
	}
	r.drawn = now
	r.program.draw(r.line())
}

// line describes the state.
func (r *reading) line() string {
	text := "reading " + prose.Printable(r.name)
	if r.rows > 0 {
		text += ", " + prose.Count(r.rows, "row")
	}
	if r.size > 0 && r.bytes > 0 {
		share := min(1, float64(r.bytes)/float64(r.size))
		text = progressBar(share) + " " + text + fmt.Sprintf(", %.0f %%", 100*share)
	}
	return text
}

// end clears the line.
func (r *reading) end() {
	if r != nil {
		r.program.wipe()
	}
}
