package psi

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/internal/baseline"
	"github.com/psi-shapley/psi/internal/prose"
)

// Values of Warning.Kind.
const (
	NoBetterThanMean     = "no_better_than_mean"
	NoBetterThanLinear   = "no_better_than_linear"
	NoBetterThanAdditive = "no_better_than_additive"
	Leak                 = "leak"
	TooGood              = "too_good"
	CutShort             = "cut_short"
	StillFalling         = "still_falling"
)

// Warning is a reason to distrust a model as a whole. It may have learned too little, or from values that are not known
// at prediction time.
type Warning struct {
	Kind    string `json:"kind"`
	Message string `json:"message"` // one sentence on what was found
	Remedy  string `json:"remedy"`  // one sentence on what to do
}

// String returns Message and Remedy.
func (w Warning) String() string { return w.Message + " " + w.Remedy }

// Warnings returns the reasons to distrust the model, the most important first. It returns an empty slice, not nil, if
// there are none.
func (m *Model) Warnings() []Warning {
	list := []Warning{}
	if w, beaten := m.manifest.beaten(); beaten {
		list = append(list, w)
	}
	if w, suspicious := m.manifest.leak(); suspicious {
		list = append(list, w)
	}
	if m.manifest.cutShort() {
		list = append(list, Warning{
			CutShort, fmt.Sprintf("There was time for %s of the steps of effort %s.", percent(m.manifest.Provenance.Share), m.manifest.effort()),
			"Train with a longer time budget (Config.TimeBudget), or without one.",
		})
	} else if fall := lastFall(m.history); fall > stillFalling {
		list = append(list, Warning{
			StillFalling, fmt.Sprintf("The validation error was still falling when training ended: by %.1f %% in the last quarter of its steps.", 100*fall),
			m.manifest.trainLonger(),
		})
	}
	return list
}

// cutShort reports whether a time budget or an interruption skipped steps.
func (m *Manifest) cutShort() bool {
	share := m.Provenance.Share
	return share > 0 && math.Round(100*share) < 100
}

// percent formats a share in whole per cent.
func percent(share float64) string {
	if share < 0.01 {
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func (m *Manifest) effort() Effort { return cmp.Or(Effort(m.Provenance.Effort), Normal) }

// trainLonger says how to train longer.
func (m *Manifest) trainLonger() string {
	if m.effort() == Fast {
		return "Train with effort normal (Config.Effort=normal)."
	}
	return fmt.Sprintf("Train with more steps (Settings.Steps=%d).", 2*m.Settings.Steps)
}

// beaten returns a warning if the validation loss of a baseline is at most the model's. The mean has precedence,
// because a model that is no better has learned nothing. Otherwise the baseline with the lowest loss is named.
func (m *Manifest) beaten() (w Warning, beaten bool) {
	metric := m.LossMetric()
	own, known := m.Metrics[metric]
	if !known {
		return Warning{}, false
	}
	var best *Baseline
	for _, b := range m.PlainModels() {
		loss, measured := b.Metrics[metric]
		if !measured || loss > own {
			continue
		}
		if best == nil || best.Name != baseline.Mean && loss < best.Metrics[metric] {
			best = &b
		}
	}
	if best == nil {
		return Warning{}, false
	}
	figures := fmt.Sprintf("%s %s on validation rows, against %s", lossWords(metric), prose.Number(own), prose.Number(best.Metrics[metric]))
	if r2, known := m.Metrics["r2"]; known && metric == "rmse" {
		figures += fmt.Sprintf(" (R² %.3f, against %.3f)", r2, best.Metrics["r2"])
	}
	switch best.Name {
	case baseline.Linear:
		return m.beatenByLinear(figures), true
	case baseline.Additive:
		return Warning{
			NoBetterThanAdditive, fmt.Sprintf("The model predicts no better than an additive model, one curve for each column: %s.", figures),
			m.learnMore() + ", or use an additive model instead.",
		}, true
	}
	constant := "the mean of the target"
	if m.Task != Regression {
		constant = "the base rate of each class"
	}
	return Warning{
		NoBetterThanMean, fmt.Sprintf("The model predicts no better than %s: %s.", constant, figures),
		"Do not use it: its columns may not tell the target. Train with more rows, other columns or more effort (Config.Effort=best).",
	}, true
}

// learnMore says how the model may become better than a baseline.
func (m *Manifest) learnMore() string {
	if m.cutShort() {
		return "Train with a longer time budget (Config.TimeBudget)"
	}
	return "Train with more rows or more effort (Config.Effort=best)"
}

func (m *Manifest) beatenByLinear(figures string) Warning {
	const limit, named = 40, 5 // columns of a setting, and of a sentence
	n := len(m.LinearColumns)
	if n == 0 || n > limit {
		return Warning{
			NoBetterThanLinear, fmt.Sprintf("The model predicts no better than a linear model: %s.", figures),
			m.learnMore() + ", or use a linear model instead.",
		}
	}
	names := strings.Join(m.LinearColumns[:min(n, named)], ", ")
	if more := n - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return Warning{
		NoBetterThanLinear, fmt.Sprintf("The model predicts no better than a linear model of %d of the %d columns (%s): %s.", n, len(m.Columns), names, figures),
		fmt.Sprintf("Train on these alone (%s), or use a linear model instead.", columnsSetting("table.Options.Keep", m.LinearColumns)),
	}
}

func lossWords(metric string) string {
	if metric == "log_loss" {
		return "log loss"
	}
	return metric
}

// stillFalling is the smallest fall of the validation error in the last quarter of the steps that causes a warning. ADR
// 0029 lists the falls of trainings that were long enough, and of others.
const stillFalling = 0.025

// lastFall returns the share by which the best validation error of phase fit fell in the last quarter of its steps,
// averaged over members. It returns 0 if the history does not contain it.
func lastFall(history []byte) float64 {
	lines, err := csv.NewReader(bytes.NewReader(history)).ReadAll()
	if err != nil || len(lines) < 2 || !slices.Equal(lines[0], historyColumns()) {
		return 0
	}
	type point struct {
		step  int
		score float64
	}
	members := map[string][]point{}
	var order []string
	for _, line := range lines[1:] {
		step, wrongStep := strconv.Atoi(line[2])
		score, wrongScore := strconv.ParseFloat(line[4], 64)
		if line[1] != "fit" || wrongStep != nil || wrongScore != nil || !(score > 0) {
			continue
		}
		if members[line[0]] == nil {
			order = append(order, line[0])
		}
		members[line[0]] = append(members[line[0]], point{step, score})
	}
	sum := 0.0
	for _, member := range order {
		points := members[member]
		last := points[len(points)-1].step
		before, best := math.Inf(1), math.Inf(1)
		for _, p := range points {
			best = min(best, p.score)
			if 4*p.step <= 3*last {
				before = best
			}
		}
		if !math.IsInf(before, 1) {
			sum += (before - best) / before / float64(len(order))
		}
	}
	return sum
}
