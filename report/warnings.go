package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// What is worth a warning.
const (
	manyMissing  = .2
	fewOutside   = .001
	strongEnough = .8
)

// warnings say in words what a reader should know of the columns.
func (r *Report) warnings() []Warning {
	list := []Warning{}
	warn := func(kind string, columns []int, words string, values ...any) {
		list = append(list, Warning{kind, columns, fmt.Sprintf(words, values...)})
	}
	rows := float64(r.Data.Rows)
	for i := range r.Columns {
		c, at := &r.Columns[i], []int{i}
		if share := float64(c.Missing) / rows; c.Missing == r.Data.Rows {
			warn("missing", at, "%s is missing in every row.", c.Name)
		} else if share >= manyMissing {
			words := "%s is missing in %s of rows. There it has no attribution, and the prediction is made without it."
			if c.GapLevel {
				words = "%s is missing in %s of rows. The model takes a gap for a value of its own, which has an attribution."
			}
			warn("missing", at, words, c.Name, percent(share))
		}
		if c.constant() {
			warn("constant", at, "%s has one value only: nothing here tells what it does.", c.Name)
		}
		if c.Unknown > 0 {
			warn("unknown", at, "%s of %s %s a label that training did not know or hardly knew. The model reads all of these as one, “other”.",
				cells(c.Unknown), c.Name, either(c.Unknown, "has", "have"))
		}
		if float64(c.Outside) > fewOutside*rows {
			warn("outside", at, "%s of %s %s beyond all that training saw: what is said of these rows is a guess from the nearest values.",
				cells(c.Outside), c.Name, either(c.Outside, "lies", "lie"))
		}
		if c.Rare > 0 && c.Levels > 2 {
			warn("rare", at, "%d of the %d labels of %s %s in fewer than %d rows: what is said of %s rests on little.", c.Rare, c.Levels, c.Name, either(c.Rare, "is", "are"), rareRows, either(c.Rare, "it", "them"))
		}
	}
	for _, group := range r.alike() {
		names := make([]string, len(group.columns))
		for i, at := range group.columns {
			names[i] = r.Columns[at].Name
		}
		warn("associated", group.columns, "%s tell much the same (%s): they share the credit, and how it falls on the one or the other says little.", joined(names), group.measure())
	}
	return list
}

// alike is columns that tell much the same, each of one other at least.
type alike struct {
	columns   []int
	low, high float64 // strength of the associations
}

func (a alike) measure() string {
	if a.low == a.high {
		return fmt.Sprintf("%.2f of 1", a.low)
	}
	return fmt.Sprintf("%.2f to %.2f of 1", a.low, a.high)
}

// alike joins the columns of strong associations.
func (r *Report) alike() []alike {
	var groups []alike
	for _, a := range r.Associations {
		size := math.Abs(a.Value)
		if size < strongEnough {
			continue
		}
		joined := alike{[]int{a.A, a.B}, size, size}
		groups = slices.DeleteFunc(groups, func(g alike) bool {
			if !slices.Contains(g.columns, a.A) && !slices.Contains(g.columns, a.B) {
				return false
			}
			joined.columns = append(joined.columns, g.columns...)
			joined.low, joined.high = min(joined.low, g.low), max(joined.high, g.high)
			return true
		})
		slices.Sort(joined.columns)
		joined.columns = slices.Compact(joined.columns)
		groups = append(groups, joined)
	}
	slices.SortStableFunc(groups, func(a, b alike) int { return cmp.Compare(b.high, a.high) })
	return groups
}

// joined lists names as a person does.
func joined(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (c *Column) constant() bool {
	if c.Labels != nil {
		return c.Levels == 1 && !c.GapLevel
	}
	return c.Least != nil && *c.Least == *c.Greatest && !c.GapLevel
}

func cells(n int) string {
	return fmt.Sprintf("%d %s", n, either(n, "cell", "cells"))
}

func either(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// percent writes a share so that neither 0 nor 100 % is said of what is only little or much.
func percent(share float64) string {
	switch {
	case share > 0 && share < .001:
		return "under 0.1 %"
	case share < .1 || share > .9 && share < 1:
		return fmt.Sprintf("%.1f %%", 100*min(share, .999))
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
