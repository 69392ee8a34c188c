package psi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/table"
)

// LeftOut is a column that training did not use as a feature: it carries no information, or it seems to identify rows.
// It has no attribution. Tables to predict may contain the column, with any cells, or omit it.
type LeftOut struct {
	Name   string `json:"name"`
	Place  int    `json:"place"` // index among the model's columns and those left out, in the order of the table
	Reason string `json:"reason"`
}

// narrow returns the columns to use as features, given their traits, and reports the others. Informative columns are
// never all left out because they seem to identify rows. If no column is informative, narrow keeps all.
func (t *training) narrow(all []dataset.Trait) []string {
	kept := func(c dataset.Trait) bool { return slices.Contains(t.Keep, c.Column) }
	null := func(c dataset.Trait) bool { return c.Null != "" && !kept(c) }
	identifier := func(c dataset.Trait) bool { return c.Identifier != "" && !kept(c) }
	text := func(c dataset.Trait) bool { return c.Text != "" && !kept(c) }
	out := func(c dataset.Trait) bool { return null(c) || t.LeaveOutIdentifiers && (identifier(c) || text(c)) }
	if !slices.ContainsFunc(all, not(out)) {
		out = null
	}
	none := !slices.ContainsFunc(all, not(out))

	var inputs, nulls, texts, identifiers, suspects []string
	for place, c := range all {
		reason, list := c.Null, &nulls
		switch {
		case none || !out(c):
			inputs = append(inputs, c.Column)
			if none || identifier(c) || text(c) {
				t.told = append(t.told, c.Column)
			}
			if !none && (identifier(c) || text(c)) {
				suspects = append(suspects, because(c, cmp.Or(c.Text, c.Identifier)))
			}
			continue
		case text(c):
			reason, list = c.Text, &texts
		case t.LeaveOutIdentifiers && identifier(c):
			reason, list = c.Identifier, &identifiers
		}
		*list = append(*list, because(c, reason))
		t.leftOut = append(t.leftOut, LeftOut{Name: c.Column, Place: place, Reason: reason})
	}
	t.columns = len(inputs)
	if none {
		const same = "Nothing can be learned from any column, so all predictions will be about the same"
		t.warn(inputs, same, same)
	}
	t.warn(nulls, "Not used as a feature: nothing can be learned from it", "Not used as features: nothing can be learned from them")
	t.warn(texts, "Not used as a feature: psi does not read sentences (Config.Keep uses every text as a label)",
		"Not used as features: psi does not read sentences (Config.Keep uses every text as a label)")
	t.warn(identifiers, "Not used as a feature: it seems to identify rows rather than to describe them (Config.Keep uses it)",
		"Not used as features: they seem to identify rows rather than to describe them (Config.Keep uses them)")
	t.warn(suspects, "Used as a feature, though it seems to identify rows rather than to describe them",
		"Used as features, though they seem to identify rows rather than to describe them")
	return inputs
}

func not(f func(dataset.Trait) bool) func(dataset.Trait) bool {
	return func(c dataset.Trait) bool { return !f(c) }
}

func because(c dataset.Trait, reason string) string {
	return fmt.Sprintf("column %q: %s", c.Column, reason)
}

// warn reports a warning about one or several columns, if there are any.
func (t *training) warn(columns []string, one, several string) {
	const few = 12
	text := several
	if len(columns) == 1 {
		text = one
	}
	if more := len(columns) - few; more > 0 {
		columns = append(columns[:few:few], fmt.Sprintf("%d more", more))
	}
	if len(columns) > 0 {
		t.say(Progress{Stage: "read", Error: math.NaN(), Note: strings.Join(columns, "; ") + ". " + text, Warning: true})
	}
}

// noteGaps reports the columns whose only information is whether a cell is missing.
func (t *training) noteGaps(schema *table.Schema) {
	for _, p := range t.in.Encoder.Players {
		rare := len(p.Levels) == 0 && p.Rare > 0
		switch {
		case slices.Contains(t.told, p.Name) || slices.Contains(t.Keep, p.Name):
		case rare:
			t.note(fmt.Sprintf("column %q: no label is in three rows or more: the column can say nothing but whether it is missing", p.Name))
		case slices.Contains(schema.Field(p.Name).Notes, table.NoteConstant):
			t.note(fmt.Sprintf("column %q: %s", p.Name, table.NoteConstant))
		}
	}
}

// narrowGroups returns the groups without the columns that are left out.
func (t *training) narrowGroups() []Group {
	var groups []Group
	for _, g := range t.Groups {
		g.Columns = slices.DeleteFunc(slices.Clone(g.Columns), func(name string) bool {
			return slices.ContainsFunc(t.leftOut, func(l LeftOut) bool { return l.Name == name })
		})
		if len(g.Columns) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// checkLeftOut checks that LeftOut and Columns partition the columns of one table.
func (m *Manifest) checkLeftOut() error {
	names, before := map[string]bool{m.Target: true}, -1
	for _, f := range m.Columns {
		names[f.Name] = true
	}
	for _, l := range m.LeftOut {
		if l.Name == "" || names[l.Name] || l.Place <= before || l.Place >= len(m.Columns)+len(m.LeftOut) {
			return fmt.Errorf("the column %.40q that is left out has another's name or place", l.Name)
		}
		names[l.Name], before = true, l.Place
	}
	return nil
}
