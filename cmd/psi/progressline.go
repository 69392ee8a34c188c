package main

import (
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// bottomLine is the line of a terminal for progress. Other messages replace it.
type bottomLine struct {
	mu    sync.Mutex
	shown int // characters displayed
}

// tell writes to stderr. Its errors cannot be reported anywhere.
func (p *program) tell(text string) {
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
		p.note("%s", text)
		return
	}
	p.draw(progressBar(share) + " " + text)
}

func progressBar(share float64) string {
	const cells = 20
	full := int(math.Round(cells * share))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}
