package main

import (
	"fmt"
	"sync"

	"github.com/psi-shapley/psi/internal/prose"
)

// unread counts text cells that do not fit the reading of their columns. It is safe for concurrent use.
type unread struct {
	lock sync.Mutex

	from, to int // range of rows of each table that count; 0, 0 means all

	columns []string // columns that have such cells
	cells   map[string]int
	example map[string]string
}

func (u *unread) add(row int, column, text string) {
	u.lock.Lock()
	defer u.lock.Unlock()
	if row < u.from || u.to > 0 && row >= u.to {
		return
	}
	if u.cells == nil {
		u.cells, u.example = map[string]int{}, map[string]string{}
	}
	if u.cells[column]++; u.cells[column] == 1 {
		u.columns, u.example[column] = append(u.columns, column), text
	}
}

// tellUnread reports once per run what could not be read, for at most a few columns.
func (p *program) tellUnread(u *unread) {
	u.lock.Lock()
	defer u.lock.Unlock()
	const most, longest = 12, 40
	for i, name := range u.columns {
		if i == most {
			p.note("… and the same in %s more", prose.Count(len(u.columns)-most, "column"))
			return
		}
		example := u.example[name]
		if text := []rune(example); len(text) > longest {
			example = string(text[:longest-1]) + "…"
		}
		do := "do"
		if u.cells[name] == 1 {
			do = "does"
		}
		p.note("%s", fmt.Sprintf("%s of %s %s not parse as in training, such as %q: treated as missing", prose.Count(u.cells[name], "cell"), prose.Printable(name), do, example))
	}
}
