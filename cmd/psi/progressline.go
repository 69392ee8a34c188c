package main

import (
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// progressLine is a line that says how far something is: on a terminal it is drawn again and again, elsewhere written now and then.
type progressLine struct {
	mu    sync.Mutex
	drawn time.Time
	shown int // characters that stand on the terminal
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
	l.put(p, progressBar(share)+" "+text)
}

// put writes over what stands on the terminal.
func (l *progressLine) put(p *program, text string) {
	if width := p.screen.width; width > 0 && utf8.RuneCountInString(text) >= width {
		text = string([]rune(text)[:width-1])
	}
	length := utf8.RuneCountInString(text)
	p.tell("\r" + text + strings.Repeat(" ", max(0, l.shown-length)))
	l.shown = length
}

// wipe takes the line away.
func (l *progressLine) wipe(p *program) {
	if l.shown > 0 {
		p.tell("\r" + strings.Repeat(" ", l.shown) + "\r")
		l.shown = 0
	}
}

func progressBar(share float64) string {
	const cells = 20
	full := int(math.Round(cells * share))
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}
