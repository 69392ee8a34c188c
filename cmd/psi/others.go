package main

import (
	"fmt"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

// others counts the cells whose labels were unseen or rare in training.
type others struct {
	players []string // players that have such cells
	of      map[string]*otherLabels
}

type otherLabels struct {
	cells   int
	example string // one of the labels; "" for a group, whose cells are not distinguished
}

func (o *others) add(e *explain.Explanation) {
	for i, other := range e.Other {
		if !other {
			continue
		}
		row, d := i/len(e.Players), i%len(e.Players)
		name := e.Players[d]
		labels := o.of[name]
		if labels == nil {
			if o.of == nil {
				o.of = map[string]*otherLabels{}
			}
			labels = &otherLabels{}
			if e.Values[d] != nil {
				labels.example = e.Values[d].Text(row)
			}
			o.of[name], o.players = labels, append(o.players, name)
		}
		labels.cells++
	}
}

// tellOthers reports once per run which labels were read as other, for at most a few columns.
func (p *program) tellOthers(o others) {
	const most, longest = 12, 40
	for i, name := range o.players {
		if i == most {
			p.note("… and the same in %s more", prose.Count(len(o.players)-most, "column"))
			return
		}
		labels := o.of[name]
		example := ""
		if text := []rune(labels.example); len(text) > longest {
			example = fmt.Sprintf(", such as %q", string(text[:longest-1])+"…")
		} else if len(text) > 0 {
			example = fmt.Sprintf(", such as %q", labels.example)
		}
		have := "have labels"
		if labels.cells == 1 {
			have = "has a label"
		}
		p.note("%s of %s %s that training saw rarely or never%s: read as other", prose.Count(labels.cells, "cell"), prose.Printable(name), have, example)
	}
}
