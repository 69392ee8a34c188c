package psi

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// checkOrder rejects options that cannot be combined with OrderBy.
func (t *training) checkOrder() error {
	switch {
	case t.OrderBy == "" && t.ValidationAfter != "":
		return wrongSetting("Config.ValidationAfter is given without a column", "name it in Config.OrderBy")
	case t.OrderBy == "":
		return nil
	case t.OrderBy == t.Target:
		return wrongSetting("the target is to order the rows", "name another column in Config.OrderBy")
	case t.Validation != nil:
		return wrongSetting("Config.Validation and Config.OrderBy cannot be combined", "leave one of them out")
	case t.ValidationBy != "":
		return wrongSetting("Config.ValidationBy and Config.OrderBy cannot be combined", "leave one of them out")
	}
	return nil
}

// after parses ValidationAfter as a cell of the order column and rewrites it in psi's notation; nil if it is empty.
func (t *training) after(schema *table.Schema) (*float64, error) {
	if t.ValidationAfter == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	f := schema.Field(t.OrderBy)
	example := "42"
	switch f.Kind {
	case table.Number:
	case table.Time:
		example = "2024-03-01"
	default: // dataset reports the error of the column
		return nil, nil //nolint:nilnil // there is none
	}
	v, ok := f.Reading.Parse(f.Kind, []byte(t.ValidationAfter))
	if !ok || !f.Kind.Holds(v) {
		return nil, &table.Error{
			Row: -1, Column: f.Name, Message: fmt.Sprintf("the values of the column are of kind %v, and %q is not", f.Kind, t.ValidationAfter),
			Remedy: "write it as in the table, such as " + example,
		}
	}
	t.ValidationAfter = (&table.Column{Kind: f.Kind, Numbers: []float64{v}, Observed: []bool{true}}).Text(0)
	return &v, nil
}

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
				t.warnedColumns = append(t.warnedColumns, c.Column)
			}
			if !none && (identifier(c) || text(c)) {
				suspects = append(suspects, columnMessage(c, cmp.Or(c.Text, c.Identifier)))
			}
			continue
		case text(c):
			reason, list = c.Text, &texts
		case t.LeaveOutIdentifiers && identifier(c):
			reason, list = c.Identifier, &identifiers
		}
		*list = append(*list, columnMessage(c, reason))
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

func columnMessage(c dataset.Trait, reason string) string {
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
		t.report(Progress{Stage: "read", Error: math.NaN(), Note: strings.Join(columns, "; ") + ". " + text, Warning: true})
	}
}

// noteGaps reports the columns whose only information is whether a cell is missing.
func (t *training) noteGaps(schema *table.Schema) {
	for _, p := range t.in.Encoder.Players {
		rare := len(p.Levels) == 0 && p.Rare > 0
		switch {
		case slices.Contains(t.warnedColumns, p.Name) || slices.Contains(t.Keep, p.Name):
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

const (
	maxRepeats = 0.05 // maximum share of copied rows without a warning
	minRepeats = 10   // minimum number of copies that is worth a warning
)

// warnOfRepeats warns if rows occur more than once although chance cannot explain it, because a number differs from row
// to row. Copies among both training and validation rows make the validation error and the uncertainty too small.
func (t *training) warnOfRepeats() {
	if t.ValidationBy != "" { // it keeps copies on one side, and samples them together
		return
	}
	r := t.in.Repeats
	if share := float64(r.Copies) / float64(max(1, r.Rows)); !r.Distinctive || r.Copies < minRepeats || share <= maxRepeats {
		return
	}
	text := fmt.Sprintf("%d of %d rows", r.Copies, r.Rows)
	if r.Sample {
		text = fmt.Sprintf("About %.0f%% of the rows", 100*float64(r.Copies)/float64(r.Rows))
	}
	harm := "Copies of one row both train and validate, so validation looks too good and doubt too small"
	if t.Validation != nil || slices.ContainsFunc(t.in.Encoder.Players, func(p encode.Player) bool { return p.Name == t.OrderBy }) { // copies have the same place in the order
		harm = "They are taken for independent, so doubt looks too small"
	}
	remedy := "If a column says which rows belong together, such as a patient, name it with Config.ValidationBy; else remove the copies"
	if t.OrderBy != "" {
		remedy = "Remove the copies"
	}
	t.report(Progress{Stage: "read", Error: math.NaN(), Warning: true, Note: text + " appear more than once, with all features and the target the same. " + harm + ". " + remedy})
}

// Validation rows of a number that are set aside for its intervals: a quarter of them, within these bounds.
const (
	minAside    = 100
	maxAside    = 1000
	asideStream = 0xA51DE
)

// setAside divides the validation rows of a number into rows that choose the weights and rows that set the intervals.
// Rows of the same unit stay together. If there are too few for both, all rows serve both.
func setAside(d train.Data, units []uint64) (choosing, aside train.Data) {
	all := map[uint64][]int{}
	var order []uint64
	for i := range d.Len() {
		unit := uint64(i)
		if units != nil {
			unit = units[i]
		}
		if all[unit] == nil {
			order = append(order, unit)
		}
		all[unit] = append(all[unit], i)
	}
	rng := rand.New(rand.NewPCG(1, asideStream))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	away, n := make([]bool, d.Len()), 0
	for _, unit := range order {
		if rows := all[unit]; n+len(rows) <= min(d.Len()/4, maxAside) {
			for _, i := range rows {
				away[i] = true
			}
			n += len(rows)
		}
	}
	if n < minAside {
		return d, d
	}
	var stay, leave []int
	for i, is := range away {
		if is {
			leave = append(leave, i)
		} else {
			stay = append(stay, i)
		}
	}
	return rowsOf(d, stay), rowsOf(d, leave)
}

// rowsOf returns the given rows of d.
func rowsOf(d train.Data, rows []int) train.Data {
	some := train.Data{Rows: d.Rows.Like(len(rows))}
	for k, i := range rows {
		some.Rows.Set(k, d.Rows, i)
		some.Target, some.Weight = append(some.Target, d.Target[i]), append(some.Weight, d.Weight[i])
	}
	return some
}
