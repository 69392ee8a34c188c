package psi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/psi-shapley/psi/internal/prose"
)

// Loss returns the name of the loss behind LossImportance: "squared error" or "log loss".
func (a *Audit) Loss() string {
	if len(a.CoalitionsError) > 0 && a.CoalitionsError[0].LogLoss != nil {
		return "log loss"
	}
	return "squared error"
}

// SortedLossImportance returns LossImportance in descending order of the mean.
func (a *Audit) SortedLossImportance() []LossImportance {
	size := func(x LossImportance) float64 {
		if x.Mean == nil {
			return math.Inf(-1)
		}
		return *x.Mean
	}
	list := slices.Clone(a.LossImportance)
	slices.SortStableFunc(list, func(x, y LossImportance) int { return cmp.Compare(size(y), size(x)) })
	return list
}

// writeLossImportance lists at most 15 players.
func (a *Audit) writeLossImportance(text *strings.Builder) error {
	const most = 15
	list := a.SortedLossImportance()
	if len(list) == 0 {
		return nil
	}
	over := ""
	if list[0].Units > 0 {
		over = " over groups of rows"
	}
	fmt.Fprintf(text, "\nimportance in loss: how much a column lowers the %s of a row, ± one standard error%s\n", a.Loss(), over)
	var lines strings.Builder
	for _, x := range list[:min(most, len(list))] {
		fmt.Fprintf(&lines, "  %s\t", prose.Printable(x.Player))
		switch {
		case x.Mean == nil:
			lines.WriteString("not measured\n")
		case x.P == nil || x.StandardError == nil:
			fmt.Fprintf(&lines, "%.3g\ttoo few rows for a standard error\n", *x.Mean)
		case x.Found:
			fmt.Fprintf(&lines, "%.3g ± %.2g\tp %.2g\tfound\n", *x.Mean, *x.StandardError, *x.P)
		default:
			fmt.Fprintf(&lines, "%.3g ± %.2g\tp %.2g\n", *x.Mean, *x.StandardError, *x.P)
		}
	}
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	if _, err := t.Write([]byte(lines.String())); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(list) - most; more > 0 {
		found := 0
		for _, x := range list[most:] {
			if x.Found {
				found++
			}
		}
		fmt.Fprintf(text, "  and %d more, %d of them found\n", more, found)
	}
	return nil
}
