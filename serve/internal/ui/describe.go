// Package ui describes models to the interactive page: what a reader can choose and change, and the initial values.
package ui

import (
	"math"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// Models is the first document that the page requests.
type Models struct {
	Models []Model `json:"models"`
}

// Model describes a version of a model.
type Model struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Versions    []string  `json:"versions"` // versions of that name that can be asked for; the server sets them
	Task        psi.Task  `json:"task"`
	Target      string    `json:"target"`
	Scale       string    `json:"scale"`        // of attributions, as in explanations
	NonNegative bool      `json:"non_negative"` // no training row had a negative target
	Outputs     []string  `json:"outputs"`      // as in explanations
	Classes     []string  `json:"classes"`      // null for a number
	Players     []Player  `json:"players"`
	Columns     []Column  `json:"columns"`
	Missing     []string  `json:"missing"` // strings to treat as missing, beside the usual ones
	Head        string    `json:"head"`
	Exact       bool      `json:"exact"`
	Digest      string    `json:"digest"`
	Base        []float64 `json:"base"`
	Kept        bool      `json:"kept"` // typical cells come from training rows that the model keeps
}

// Player is a column, or a group of columns, that has an attribution.
type Player struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Column is an input. Times are in seconds since 1970.
type Column struct {
	Name    string     `json:"name"`
	Kind    table.Kind `json:"kind"`
	Labels  []string   `json:"labels"` // of a category; null for others
	Left    int        `json:"left"`   // number of labels that are not listed, because there are many
	Low     *float64   `json:"low"`    // null for a category, and if training saw no cell
	High    *float64   `json:"high"`
	Whole   bool       `json:"whole"` // the numbers seem to be whole
	Gap     bool       `json:"gap"`   // a missing cell is a level of its own, other than an unknown one
	Typical any        `json:"typical"`
}

// maxLabels is the maximum number of listed labels of a column. More are no use in a menu.
const maxLabels = 1000

// Describe returns the description of a model for the page.
func Describe(name, version string, m *psi.Model) (Model, error) {
	manifest := m.Manifest()
	heading, err := m.NoRows(psi.ExplainOptions{})
	if err != nil {
		return Model{}, err
	}
	d := Model{
		Name: name, Version: version, Versions: []string{version},
		Task: manifest.Task, Target: manifest.Target, Scale: string(heading.Scale), NonNegative: heading.NonNegative, Outputs: heading.Outputs, Classes: manifest.Classes(),
		Missing: append([]string{}, manifest.Missing...), Head: heading.Head, Exact: heading.Exact, Digest: heading.Model,
		Base: m.Base(), Kept: m.ReferenceRows() > 0,
	}
	for _, player := range heading.Players {
		d.Players = append(d.Players, Player{Name: player})
	}
	for _, in := range m.Inputs() {
		player := &d.Players[in.Player]
		player.Columns = append(player.Columns, in.Name)
		d.Columns = append(d.Columns, column(in))
	}
	return d, nil
}

func column(in psi.Input) Column {
	c := Column{Name: in.Name, Kind: in.Kind, Whole: in.Whole, Gap: in.Gap}
	switch {
	case in.Kind == table.Category:
		n := min(maxLabels, len(in.Labels))
		c.Labels, c.Left = append([]string{}, in.Labels[:n]...), len(in.Labels)-n
		if in.TypicalLabel != "" {
			c.Typical = in.TypicalLabel
		}
	case !math.IsNaN(in.Low):
		c.Low, c.High = &in.Low, &in.High
		c.Typical = in.Typical
		if in.Kind == table.Boolean {
			c.Typical = in.Typical != 0
		}
	}
	return c
}
