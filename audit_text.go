package psi

import (
	"fmt"
	"io"
	"strings"
)

// Text writes the audit as plain text for people.
func (a *Audit) Text(w io.Writer) error {
	var text strings.Builder
	how := "all coalitions of the columns"
	if a.Method != "exact" {
		how = "sampled orders of the columns"
	}
	fmt.Fprintf(&text, "audit of %d rows against %s (%d model values)\n\n", a.Rows, how, a.Coalitions)
	line := func(name string, value *float64, format, meaning string) {
		if value != nil {
			fmt.Fprintf(&text, "  %-24s %-9s %s\n", name, fmt.Sprintf(format, *value), meaning)
		}
	}
	line("relative_rmse", a.RelativeRMSE, "%.2g", "error of attributions, beside their size (0: exact for the model)")
	line("subgame_relative_rmse", a.SubgameRelativeRMSE, "%.2g", "the same with cells taken away from the rows")
	line("correlation", a.Correlation, "%.6f", "of attributions and Shapley values")
	line("top1", a.Top1, "%.3f", "share of rows that agree on the most important column")
	line("top3", a.Top3, "%.3f", "overlap of the three most important columns")
	line("efficiency_max", a.EfficiencyMax, "%.2g", "largest gap between prediction and base + attributions, in the target's std or the score's units")
	line("mean_attribution_max", a.MeanAttributionMax, "%.2g", "largest mean attribution of a column, in the same")
	line("standard_error", a.StandardError, "%.2g", "of the sampled Shapley values, beside their size")
	line("within_3_se", a.Within3SE, "%.4f", "share of attributions within three standard errors")
	for _, c := range a.CoalitionsError {
		meaning := "error of predictions when the other cells are missing"
		if c.Kept == 1 {
			meaning = "error of predictions from all cells there are"
		}
		line(fmt.Sprintf("rmse, %.0f %% of cells", 100*c.Kept), c.RMSE, "%.4g", meaning)
		line(fmt.Sprintf("log_loss, %.0f %% of cells", 100*c.Kept), c.LogLoss, "%.4g", meaning)
	}
	if err := a.writeLossImportance(&text); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}
