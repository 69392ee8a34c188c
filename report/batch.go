package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// BatchSchema identifies the format of the document of a batch.
const BatchSchema = "psi.report.batch/v1"

// Batch is the document behind the page of a batch: its results, without any rows.
type Batch struct {
	Schema string `json:"schema"`
	Cover
	Model Model `json:"model"`
	Game  *Game `json:"game"` // nil means that of psi's own models, the observational one
	Intervals
	Scale   Scale    `json:"scale"`
	Outputs []string `json:"outputs"`
	Players []string `json:"players"`

	Run         Run                 `json:"run"`
	Done        Verdict             `json:"done"`        // whether all rows were explained
	Trust       Trust               `json:"trust"`       // from the audit of some of its rows
	Drift       []Verdict           `json:"drift"`       // per output: whether columns matter as they did in training
	Importances [][]BatchImportance `json:"importances"` // per output, in descending order; empty if no row was explained
	Advice      []string            `json:"advice"`      // what to do
}

// Run is the outcome of a batch, from its summary.
type Run struct {
	Name         string       `json:"name"`  // location of the input
	Out          string       `json:"out"`   // location of the parts; "" if unknown
	Job          string       `json:"job"`   // job id
	Model        string       `json:"model"` // digest of the model
	In           string       `json:"in"`
	Mode         explain.Mode `json:"mode"`
	Z            float64      `json:"z"`
	Submitted    time.Time    `json:"submitted"`
	Seconds      float64      `json:"seconds"` // from the plan to the summary
	Files        int          `json:"files"`
	Units        int          `json:"units"`
	Failed       int          `json:"failed"` // failed units
	Rows         int          `json:"rows"`   // rows explained
	BytesRead    int64        `json:"bytes_read"`
	BytesWritten int64        `json:"bytes_written"`
	ResidualMax  float64      `json:"residual_max"` // largest |prediction − base − Σ attributions|
	Missing      []RunMissing `json:"missing"`      // per player
	Failures     []RunFailure `json:"failures"`     // the first of them
	Outputs      []RunOutput  `json:"-"`
	Game         psi.Game     `json:"-"` // "" means the model's own
	References   int          `json:"-"` // reference rows of the game
	Audit        *psi.Audit   `json:"-"` // of some rows; nil if there is none

	made  made // how the model came to be
	other bool // explained in another game than the model's own
}

// RunMissing counts the missing cells of a player.
type RunMissing struct {
	Player string  `json:"player"`
	Ratio  float64 `json:"ratio"`
}

// RunOutput summarises the attributions of players to an output.
type RunOutput struct {
	Output  string
	NDCG    *float64 // agreement of the players' ranking with training; nil if unknown
	Players []RunPlayer
}

// RunPlayer summarises the attributions of a player to an output over all rows.
type RunPlayer struct {
	Player  string
	Size    float64  // mean |f_d|
	Std     float64  // mean σ_d
	Doubt   *float64 // mean epistemic uncertainty; nil if unknown
	Trained *float64 // mean |f_d| in training; nil if unknown
}

// RunFailure is the reason why a unit failed.
type RunFailure struct {
	Unit     int    `json:"unit"`
	File     string `json:"file"`
	Groups   []int  `json:"row_groups"` // nil means the whole file
	Row      *int64 `json:"row"`        // nil if the failure is not about a row
	Column   string `json:"column"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
	Attempts int    `json:"attempts"`
}

// Verdict is an assessment with a level, a sentence and its evidence.
type Verdict struct {
	Level   string   `json:"level"` // good, fair, poor or unchecked
	Verdict string   `json:"verdict"`
	Words   []string `json:"words"`
}

// BatchImportance summarises a player over all rows of a batch.
type BatchImportance struct {
	Player  int      `json:"player"`
	Mean    float64  `json:"mean"`    // mean |attribution|
	Std     float64  `json:"std"`     // mean standard deviation of its attribution
	Doubt   *float64 `json:"doubt"`   // mean epistemic uncertainty; nil if unknown
	Trained *float64 `json:"trained"` // Mean in training; nil if unknown
}

// GatherBatch returns the report of a batch that the model explained. name is the model's name for readers. It reads no
// rows. It returns an error if run does not fit the model.
func GatherBatch(model *psi.Model, name string, run Run, cover Cover) (*Batch, error) {
	if run.Model != model.Digest() {
		return nil, run.otherModel()
	}
	e, err := model.NoRows(psi.ExplainOptions{Mode: run.Mode})
	if err != nil {
		return nil, err
	}
	if err := run.check(e); err != nil {
		return nil, err
	}
	if run.Z > 0 {
		e.Z = run.Z
	}
	if run.Game != "" && !slices.Contains(model.Games(), run.Game) || run.References < 0 {
		return nil, unsound("the model does not have the game %q with %d reference rows", shorten(string(run.Game)), run.References)
	}
	manifest := model.Manifest()
	run.Game, run.made = cmp.Or(run.Game, model.Game()), madeOf(&manifest)
	run.other = run.Game != model.Game()
	run.cut()
	b := &Batch{
		Schema: BatchSchema, Cover: cover.titled("Batch report on " + model.Manifest().Target), Model: modelOf(model, name, e.Exact), Intervals: intervalsOf(e), Scale: e.Scale, Outputs: e.Outputs, Players: e.Players,
		Run: run, Done: run.done(), Trust: run.trust(e), Importances: [][]BatchImportance{}, Drift: []Verdict{},
	}
	if run.Game != psi.ObservationalGame {
		game := gameOf(model, run.Game, run.References)
		b.Game = &game
	}
	for i := range run.Outputs {
		b.Importances = append(b.Importances, run.Outputs[i].importances())
		b.Drift = append(b.Drift, run.drift(&run.Outputs[i]))
	}
	b.Advice = b.advice()
	return b, nil
}

func (o *RunOutput) importances() []BatchImportance {
	list := make([]BatchImportance, len(o.Players))
	for d, p := range o.Players {
		list[d] = BatchImportance{d, p.Size, p.Std, p.Doubt, p.Trained}
	}
	slices.SortStableFunc(list, func(a, b BatchImportance) int { return cmp.Compare(b.Mean, a.Mean) })
	return list
}

// Limits of a page, whatever a summary contains.
const (
	maxFailures  = 1000
	longestWords = 500
)

func (r *Run) otherModel() error {
	remedy := "give the model of the batch"
	if r.Out != "" {
		remedy += ": a copy of it is " + r.Out + "/_psi/model.psi"
	}
	return &table.Error{Row: -1, Message: fmt.Sprintf("another model explained this batch: %q", shorten(r.Model)), Remedy: remedy}
}

// unsound reports a summary that no batch of the model can have.
func unsound(words string, values ...any) error {
	return &table.Error{Row: -1, Message: "invalid batch summary: " + fmt.Sprintf(words, values...), Remedy: "copy it again, or write it again with psi batch resume"}
}

// check rejects results that no batch of the model can have: a summary is an untrusted file.
func (r *Run) check(e *explain.Explanation) error {
	switch {
	case min(int64(r.Files), int64(r.Units), int64(r.Failed), int64(r.Rows), r.BytesRead, r.BytesWritten) < 0:
		return unsound("a count is below 0")
	case r.Failed > r.Units || len(r.Failures) > r.Failed:
		return unsound("%d of %d units failed, but %d failures are listed", r.Failed, r.Units, len(r.Failures))
	case !amount(r.Seconds) || !amount(r.ResidualMax):
		return unsound("it took %g seconds, and its largest residual is %g", r.Seconds, r.ResidualMax)
	case !amount(r.Z):
		return unsound("z is %g", r.Z)
	case len(r.Missing) != len(e.Players):
		return unsound("it has %d columns, the model %d", len(r.Missing), len(e.Players))
	case len(r.Outputs) != len(e.Outputs):
		return unsound("it has %d outputs, the model %d", len(r.Outputs), len(e.Outputs))
	}
	for d, m := range r.Missing {
		if m.Player != e.Players[d] || !amount(m.Ratio) || m.Ratio > 1 {
			return unsound("%q is missing in a share of %g, where the model has %q", shorten(m.Player), m.Ratio, e.Players[d])
		}
	}
	for k := range r.Outputs {
		if words := r.Outputs[k].check(e.Outputs[k], e.Players, r.Rows); words != "" {
			return unsound("%s", words)
		}
	}
	return nil
}

// check returns what is wrong with an output; "" if nothing is.
func (o *RunOutput) check(name string, players []string, rows int) string {
	switch {
	case o.Output != name:
		return fmt.Sprintf("it has an output %q, where the model has %q", shorten(o.Output), name)
	case o.NDCG != nil && (!amount(*o.NDCG) || *o.NDCG > 1+1e-9):
		return fmt.Sprintf("the nDCG of %q is %g", name, *o.NDCG)
	case rows == 0 && len(o.Players) == 0:
		return ""
	case len(o.Players) != len(players):
		return fmt.Sprintf("output %q has %d columns, the model %d", name, len(o.Players), len(players))
	}
	for d, p := range o.Players {
		if p.Player != players[d] || !amount(p.Size) || !amount(p.Std) || p.Doubt != nil && !amount(*p.Doubt) || p.Trained != nil && !amount(*p.Trained) {
			return fmt.Sprintf("%q has a mean size of %g and a mean standard deviation of %g, where the model has %q", shorten(p.Player), p.Size, p.Std, players[d])
		}
	}
	return ""
}

// amount reports whether v is finite and at least 0.
func amount(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// cut drops what exceeds the limits of a page.
func (r *Run) cut() {
	for _, words := range []*string{&r.Name, &r.Out, &r.Job, &r.In} {
		*words = shortenTo(*words, longestWords)
	}
	r.Failures = slices.Clone(r.Failures[:min(len(r.Failures), maxFailures)])
	for i := range r.Failures {
		f := &r.Failures[i]
		for _, words := range []*string{&f.File, &f.Column, &f.Message, &f.Remedy} {
			*words = shortenTo(*words, longestWords)
		}
		f.Groups = f.Groups[:min(len(f.Groups), maxFailures)]
	}
}

// Thresholds of the assessment. Below alikeEnough the order of columns differs from training; servers alert at the same
// value. With fewer than enoughRows rows the result is not significant.
const (
	alikeEnough  = .9
	enoughRows   = 1000
	otherSize    = 1.5 // times the value in training
	minSizeShare = .05 // share of all sizes
)

// done assesses whether all rows were explained.
func (r *Run) done() Verdict {
	parts := fmt.Sprintf("%s of %s, in %s", prose.Count(r.Rows, "row"), prose.Count(r.Files, "file"), unitsOf(r.Units))
	switch {
	case r.Failed == 0:
		return Verdict{"good", "Every row of every file was explained: " + parts + ".", []string{}}
	case r.Failed == r.Units:
		return Verdict{"poor", "No row was explained: " + unitsOf(r.Units) + " of " + prose.Count(r.Files, "file") + " failed. That is all of them.", []string{}}
	}
	return Verdict{
		"fair", fmt.Sprintf("%s of %s failed. The rows of the others are explained and can be used.", prose.Thousands(r.Failed), unitsOf(r.Units)),
		[]string{fmt.Sprintf("The figures for columns in this report come from %s. They do not include rows that failed.", prose.Count(r.Rows, "row"))},
	}
}

// trust assesses the attributions by the audit of some rows of the batch, and by the sums of all rows.
func (r *Run) trust(e *explain.Explanation) Trust {
	t := Trust{Gap: r.gap()}
	if r.Audit != nil {
		audit := *r.Audit
		audit.Players, audit.Outputs, audit.CoalitionsError, audit.Prior = nil, nil, nil, nil
		t.Audit = &audit
	}
	if r.Rows == 0 {
		t.Level, t.Verdict, t.Words = "unchecked", "No row was explained, so there is nothing to check.", []string{}
		return t
	}
	sums := fmt.Sprintf("In all %s, base and attributions add up to the prediction to within %.2g%s: %s of the mean sum of their sizes.", prose.Count(r.Rows, "row"), r.ResidualMax, inUnits[e.Scale], part(t.Gap))
	t.settle(e.Exact, "The attributions of %s, sampled from the whole batch,", "The summary has no audit.", sums)
	if r.Mode != explain.Fast && e.Head == learnedHead {
		t.Words = append(t.Words, fmt.Sprintf("The audit covers attributions from a single pass of the model. The rows of this batch were explained in mode %s, which is more accurate.", r.Mode))
		if r.Mode == explain.Exact && t.Gap <= exactError {
			t.Level, t.Verdict = "exact", "Exact: these are the model's Shapley values, each computed from all combinations of known and unknown columns."
		}
	}
	return t
}

// inUnits names the units of residuals, if a word suffices.
var inUnits = map[Scale]string{explain.LogMean: " of a log", explain.Log: " of a log", explain.Logit: " in log odds", explain.Score: " of a score", explain.Share: " of a probability"}

// gap returns the largest residual divided by the mean of Σ |f_d| of the output where that mean is smallest. The mean is
// an upper bound of the mean change of a prediction by attributions.
func (r *Run) gap() float64 {
	least := 0.0
	for i := range r.Outputs {
		sum := r.Outputs[i].sum()
		if i == 0 || sum < least {
			least = sum
		}
	}
	if least == 0 {
		return 0
	}
	return r.ResidualMax / least
}

func (o *RunOutput) sum() float64 {
	sum := 0.0
	for _, p := range o.Players {
		sum += p.Size
	}
	return sum
}

// drift assesses whether columns matter to an output as they did in training.
func (r *Run) drift(o *RunOutput) Verdict {
	switch {
	case r.Rows == 0:
		return Verdict{"unchecked", "No row was explained, so there is nothing to compare.", []string{}}
	case o.NDCG == nil && r.other:
		return Verdict{"unchecked", "The model file records how much each column mattered only in the model's own game.", []string{}}
	case o.NDCG == nil && r.made == byImport:
		return Verdict{"unchecked", "The model was imported without rows, so there is nothing to compare with.", []string{"Import it again with rows to be able to compare."}}
	case o.NDCG == nil:
		return Verdict{"unchecked", "The model file does not record how much each column mattered in training.", []string{"An older version of psi wrote it. Retrain the model to be able to compare."}}
	}
	then, with := "in training", "training"
	if r.made != "" {
		then, with = "on "+r.made.measuredRows(), r.made.measuredRows()
	}
	v := Verdict{Words: []string{fmt.Sprintf("The order of columns agrees with %s by %.3f (nDCG). 1 is the same order; below %.1f, columns that mattered %s matter less now.", with, *o.NDCG, alikeEnough, then)}}
	if moved := o.moved(); len(moved) > 0 {
		v.Words = append(v.Words, "Compared with "+with+", "+strings.Join(moved, "; ")+".")
	}
	switch {
	case r.Rows < enoughRows:
		v.Level, v.Verdict = "unchecked", fmt.Sprintf("With only %s, chance alone may change the order.", prose.Count(r.Rows, "row"))
	case *o.NDCG < alikeEnough:
		v.Level, v.Verdict = "poor", fmt.Sprintf("Other columns decide predictions here than %s: these rows differ from those.", then)
	default:
		v.Level, v.Verdict = "good", fmt.Sprintf("The columns that mattered %s also matter here.", then)
	}
	return v
}

// moved lists the important columns that matter much more or less than in training.
func (o *RunOutput) moved() []string {
	const limit = 5
	list, before, now := []string{}, 0.0, o.sum()
	for _, p := range o.Players {
		if p.Trained != nil {
			before += *p.Trained
		}
	}
	for _, p := range o.Players {
		if p.Trained == nil || p.Size < minSizeShare*now && *p.Trained < minSizeShare*before || len(list) == limit {
			continue
		}
		if *p.Trained == 0 || p.Size/(*p.Trained) > otherSize {
			list = append(list, fmt.Sprintf("%s matters more (%.2g, then %.2g)", p.Player, p.Size, *p.Trained))
		} else if p.Size < *p.Trained/otherSize {
			list = append(list, fmt.Sprintf("%s matters less (%.2g, then %.2g)", p.Player, p.Size, *p.Trained))
		}
	}
	return list
}

// advice says what to do.
func (b *Batch) advice() []string {
	list, r := []string{}, &b.Run
	out := r.Out
	if out == "" {
		out = "OUT"
	}
	if r.Failed > 0 {
		list = append(list, fmt.Sprintf("Fix the failures as the table below says, then run psi batch resume %s. It runs only the failed units. Then write this report again.", out))
	}
	for i, v := range b.Drift {
		if v.Level == "poor" {
			words := "Find out how these rows differ before you rely on the results. psi report MODEL FILE shows what is in the columns of one of the files. psi evaluate measures how well the model predicts where outcomes are known. If the change is permanent, retrain."
			if len(b.Outputs) > 1 {
				words = b.Outputs[i] + ": " + words
			}
			list = append(list, words)
		}
	}
	gone, many := []string{}, []string{}
	for _, m := range r.Missing {
		switch {
		case r.Rows > 0 && m.Ratio == 1:
			gone = append(gone, m.Player)
		case m.Ratio >= manyMissing:
			many = append(many, fmt.Sprintf("%s (%s)", m.Player, percent(m.Ratio)))
		}
	}
	if len(gone) > 0 {
		list = append(list, fmt.Sprintf("Check why the files have no values for a column: no row has %s.", listed(gone)))
	}
	if len(many) > 0 {
		list = append(list, fmt.Sprintf("Check whether so many cells should be missing: %s. Where a cell is missing, its column has no attribution, and the model predicts without it.", listed(many)))
	}
	if b.Trust.Level == "rough" || b.Trust.Level == "poor" {
		words := "Do not rely on the order of small attributions."
		if b.Model.Head != "exact" && r.Mode == explain.Fast {
			words += " batch.Options.Mode=refined is closer to the Shapley values, but takes longer for each row."
		}
		list = append(list, words)
	}
	if len(list) == 0 {
		list = append(list, "There is nothing to do. The predictions and attributions of each row are in the Parquet files of "+out+".")
	}
	return list
}

// listed lists the first of many names.
func listed(names []string) string {
	const limit = 10
	if len(names) > limit {
		names = append(names[:limit:limit], fmt.Sprintf("%d more", len(names)-limit))
	}
	if len(names) == 1 {
		return names[0]
	}
	return joined(names)
}

func unitsOf(n int) string {
	return prose.Thousands(n) + " " + singularOrPlural(n, "unit of work", "units of work")
}
