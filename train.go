package psi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Source supplies rows: a file opened by package table, or the Source method of a table in memory. It is read once by
// one goroutine, and the caller closes it.
type Source = table.Source

// defaultFraction is the default share of validation rows. It equals the share in the folds of the benchmarks; others
// were not measured.
const defaultFraction = 0.1

// auditShare is the share of a time budget for the audit.
const auditShare = 0.1

// Train trains a model on all rows of a source. It reads the source once, keeps rows in memory or, if they do not fit,
// on disk, and does not close the source. If ctx is cancelled, Train returns its error; with Config.Checkpoint the
// training can be resumed. To obtain a model instead, close Config.StopEarly.
func Train(ctx context.Context, rows Source, c Config) (*Model, error) {
	start := time.Now()
	c.fill()
	if err := c.Effort.Validate(); err != nil {
		return nil, err
	}
	t := &training{Config: c, start: start}
	if !chosenLater(c.Backend) {
		if err := t.openEngine(); err != nil {
			return nil, err
		}
	}
	inputs, err := t.inputs(rows.Schema())
	if err != nil {
		return nil, err
	}
	t.report(Progress{Stage: "read", Error: math.NaN()})
	after, err := t.after(rows.Schema())
	if err != nil {
		return nil, err
	}
	in, err := dataset.Read(ctx, rows, dataset.Options{
		Target: c.Target, Task: c.Task, Positive: c.Positive, Link: t.link, Weight: c.Weight,
		Inputs: inputs, Choose: t.narrow, MissingAsLevel: c.MissingAsLevel, Bins: t.settle,
		Validation: c.Validation, Fraction: c.ValidationFraction, By: c.ValidationBy, OrderBy: c.OrderBy, After: after, Seed: c.Seed,
		Labels: c.fold, Scratch: c.Scratch,
	})
	if err != nil {
		return nil, err
	}
	model, err := t.run(ctx, in, rows.Schema())
	return model, errors.Join(err, in.Close())
}

// fill sets the defaults that do not depend on the rows.
func (c *Config) fill() {
	if c.Head == "" {
		c.Head = string(form.Exact)
	}
	if c.ValidationFraction == 0 {
		c.ValidationFraction = defaultFraction
	}
	if c.SaveEvery == 0 {
		c.SaveEvery = defaultSaveEvery
	}
}

// training is the state of one call of Train.
type training struct {
	Config
	engine        *engine.Backend // training engine; nil if training is native
	cpu           string          // instruction set of native training
	size          Size
	settings      Settings
	columns       int // number of features
	leftOut       []LeftOut
	warnedColumns []string // columns used as features although a warning advised against it
	start         time.Time
	net           form.Config
	in            *dataset.Dataset
	choosing      train.Data // validation rows that choose the weights
	aside         train.Data // validation rows that set the intervals of a number
	skewness      float64    // of a target whose scale trials choose; else 0
	steps         int        // steps of members since the last resume
	skipped       int        // steps that members skipped for lack of time
	resumed       bool
	last          Progress

	nextSave    time.Time // time of the next checkpoint
	failedSaves int       // failed saves since the last checkpoint was written
	warned      bool      // whether a warning about failed saves was reported
}

func (t *training) report(p Progress) {
	t.last = p
	if t.Progress != nil {
		t.Progress(p)
	}
}

func (t *training) note(text string) {
	t.report(Progress{Stage: "read", Error: math.NaN(), Note: text})
}

// inputs returns the columns to use as features.
func (t *training) inputs(schema *table.Schema) ([]string, error) {
	target := schema.Field(t.Target)
	wrong := func(column, message, remedy string) error {
		return &table.Error{Row: -1, Column: column, Message: message, Remedy: remedy}
	}
	switch {
	case t.Target == "":
		return nil, wrongSetting("no target", "name the column to predict in Config.Target")
	case target == nil:
		return nil, wrong(t.Target, "the table has no such column to predict", "choose one of "+listFields(schema))
	}
	for _, name := range slices.Concat(t.Drop, t.Keep, []string{t.ValidationBy, t.OrderBy, t.Weight}) {
		if name != "" && schema.Field(name) == nil {
			return nil, wrong(name, "the table has no such column", "choose one of "+listFields(schema))
		}
	}
	for _, name := range t.Keep {
		if slices.Contains(t.Drop, name) {
			return nil, wrong(name, "the column is to be both dropped and kept", "name it in Config.Drop or in Config.Keep")
		}
	}
	if t.ReferenceRows < 0 || t.ReferenceRows > maxReference {
		return nil, wrongSetting(fmt.Sprintf("%d reference rows are to be kept", t.ReferenceRows), fmt.Sprintf("give a number from 0 to %d", maxReference))
	}
	if !(t.ValidationFraction > 0 && t.ValidationFraction < 1) {
		return nil, wrongSetting(fmt.Sprintf("the validation fraction is %g", t.ValidationFraction), "give a number between 0 and 1")
	}
	if err := t.checkOrder(); err != nil {
		return nil, err
	}
	var inputs []string
	for _, f := range schema.Fields {
		if f.Name == t.Target && f.Reading != nil {
			t.noteColumn(f)
		}
		if f.Name == t.Target || f.Name == t.ValidationBy || f.Name == t.Weight || slices.Contains(t.Drop, f.Name) {
			continue
		}
		inputs = append(inputs, f.Name)
		t.noteColumn(f)
	}
	if len(inputs) == 0 {
		return nil, &Error{Row: -1, Message: "no input column is left", Remedy: "the table needs one beside the target"}
	}
	if _, err := grouped(inputs, t.Groups); err != nil {
		return nil, err
	}
	if t.ValidationBy != "" {
		t.note(fmt.Sprintf("column %q decides which rows are for validation; it is not used as a feature", t.ValidationBy))
	}
	return inputs, nil
}

// noteColumn reports what the reader noted about a column.
func (t *training) noteColumn(f table.Field) {
	for _, note := range f.Notes {
		switch note {
		case table.NoteEmpty, table.NoteConstant, table.NoteIdentifies, table.NoteCounts: // narrow examines all rows
		default:
			t.note(fmt.Sprintf("column %q: %s", f.Name, note))
		}
	}
}

func listFields(schema *table.Schema) string {
	return listNames(columnNames(schema.Fields))
}

// listNames lists names, at most a few of them.
func listNames(names []string) string {
	const few = 12
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" … (%d of them)", len(names))
}

// settle decides the settings once the task and the number of training rows are known. It returns the number of bins of
// numeric columns.
func (t *training) settle(rows int, task Task) (bins int, err error) {
	t.size = Size{Rows: rows, Columns: t.columns, Classes: task != Regression}
	t.settings = t.defaults(t.size)
	if t.Change != nil {
		t.Change(&t.settings)
		if t.settings.Head != t.Head { // the other head has other defaults
			t.Head = t.settings.Head
			t.settings = t.defaults(t.size)
			t.Change(&t.settings)
		}
	}
	if err := t.settings.Validate(); err != nil {
		return 0, err
	}
	if t.settings.Bags > 0 && !t.settings.network(form.Inputs{Numeric: 1}).HasBags() {
		t.settings.Bags = 0
		t.note("psi does not estimate the epistemic uncertainty of attributions: that needs the exact head and its product form")
	}
	return t.settings.Bins, t.choose(task)
}

func (t *training) run(ctx context.Context, in *dataset.Dataset, schema *table.Schema) (*Model, error) {
	t.in, t.choosing, t.aside = in, in.Validation, in.Validation
	if in.Target.Task == Regression {
		t.choosing, t.aside = setAside(in.Validation, in.ValidationUnits)
	}
	if in.Unlabelled > 0 {
		t.note(fmt.Sprintf("%d rows are left out: their target is missing", in.Unlabelled))
	}
	if in.Weightless > 0 {
		t.note(fmt.Sprintf("%d rows are left out: their weight is 0", in.Weightless))
	}
	for _, note := range in.Notes {
		t.note(note)
	}
	t.noteGaps(schema)
	t.warnOfRepeats()
	t.Groups = t.narrowGroups()
	m := &Model{manifest: t.manifest(schema)}
	m.config = m.manifest.network()
	t.net = m.config
	players, err := grouped(m.Columns(), t.Groups)
	if err != nil {
		return nil, err
	}
	t.net.Inputs.Groups = networkGroups(players, places(m.manifest.Columns, in.Encoder))
	if err := t.net.Validate(); err != nil {
		return nil, err
	}
	if err := t.fits(m.manifest); err != nil {
		return nil, err
	}
	if m.manifest.TargetScale, err = t.chooseScale(ctx, m); err != nil {
		return nil, err
	}
	point, err := t.resume(m.manifest)
	if err != nil {
		return nil, err
	}
	if err := t.complete(ctx, m, point); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(err, t.save(point)) // steps since the last checkpoint
		}
		return nil, err
	}
	return m, nil
}

// complete trains the members that point does not have yet and assembles the model.
func (t *training) complete(ctx context.Context, m *Model, point *checkpoint) error {
	err := t.baselines(ctx, m) // first, so that the rest of a time budget is known
	if err != nil {
		return err
	}
	if m.manifest.Suspects, err = t.suspects(ctx, m); err != nil {
		return err
	}
	for i := range t.settings.Members {
		if i < len(point.Members) {
			continue // finished before the interruption
		}
		member, err := t.member(ctx, i, point)
		if err != nil {
			return err
		}
		if i > 0 && t.stopped() {
			t.settings.Members, m.manifest.Settings.Members = i, i
			t.note(fmt.Sprintf("network %d was not done and is left out", i+1))
			break
		}
		point.Members = append(point.Members, *member)
		point.State, point.unsaved = nil, true
		t.tryToSave(point)
	}
	if err := t.bags(ctx, m, point); err != nil {
		return err
	}
	if t.cutShort() && !t.resumed {
		m.manifest.Provenance.Share = float64(t.steps) / float64(t.steps+t.skipped)
	}
	m.members = point.members()[:t.settings.Members]
	m.history = historyCSV(point.histories()[:t.settings.Members])
	for _, member := range m.members {
		m.manifest.Nodes = append(m.manifest.Nodes, member.Nodes)
	}
	if err := m.prepare(t.passes(m.config)); err != nil {
		return err
	}
	if err := t.conclude(ctx, m); err != nil {
		m.Close()
		return err
	}
	return nil
}

// newRun prepares the training of a network.
func (t *training) newRun(s Settings, member int) (*train.Run, error) {
	recipe := s.recipe(memberSeed(t.Seed, member))
	recipe.Base, recipe.LogStd = t.in.Target.Base, t.in.Target.LogStd()
	return train.New(t.net, t.backend(), recipe, t.in.Training, t.choosing)
}

// member trains one network, or resumes it from point.
func (t *training) member(ctx context.Context, i int, point *checkpoint) (*trained, error) {
	run, err := t.newRun(t.settings, i)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	best := math.NaN()
	member, err := t.finish(ctx, run, point, train.RunOptions{
		Deadline:  t.deadline(i),
		StopEarly: t.StopEarly,
		Progress: func(p train.Progress) {
			t.steps++
			if p.Error < best || math.IsNaN(best) {
				best = p.Error
			}
			now, metric := math.Sqrt(best)*t.in.Target.Std, "rmse"
			switch {
			case t.in.Target.Task != Regression:
				now, metric = best, "log loss"
			case t.in.Target.Link != encode.IdentityLink:
				metric = "rmse of the log"
			}
			t.report(Progress{
				Stage: p.Phase, Member: i, Step: p.Step, Steps: p.Steps,
				Done: (float64(i) + p.Done) / float64(t.settings.Members), Remaining: remaining(p, t.settings.Members-1-i),
				Error: now, Metric: metric, Note: p.Note,
			})
		},
	})
	t.skipped += run.Skipped()
	return member, err
}

// stopped reports whether training should end early.
func (t *training) stopped() bool {
	select {
	case <-t.StopEarly:
		return true
	default:
		return false
	}
}

// memberSeed returns the seed of a member; the first member has the seed of the training.
func memberSeed(seed uint64, member int) uint64 { return seed + uint64(member)*0x9E3779B97F4A7C15 }

// deadline returns the time at which member i must be finished.
func (t *training) deadline(i int) time.Time {
	if t.TimeBudget == 0 {
		return time.Time{}
	}
	share := 1 - auditShare
	if t.settings.Bags > 0 {
		share -= bagsShare
	}
	return t.sharedUntil(t.start.Add(time.Duration(share*float64(t.TimeBudget))), t.settings.Members-i)
}

// remaining estimates the time for the rest of the current network and for the given number of others.
func remaining(p train.Progress, others int) time.Duration {
	if p.Done == 0 || p.Remaining == 0 {
		return 0
	}
	whole := time.Duration(float64(p.Remaining) / max(1e-3, 1-p.Done))
	return p.Remaining + whole*time.Duration(others)
}

// conclude calibrates the model, measures it on its validation rows and audits it.
func (t *training) conclude(ctx context.Context, m *Model) error {
	t.report(Progress{Stage: "audit", Done: 1, Error: math.NaN()})
	if err := m.calibrate(ctx, t.in.Validation, t.aside, t.in.Training); err != nil {
		return err
	}
	m.manifest.Metrics = m.manifest.Calibration.After
	if t.fold != nil {
		return nil // cross-validation does not use attributions
	}
	var err error
	if m.reference, err = someRows(t.in.Training, t.ReferenceRows); err != nil {
		return err
	}
	p := auditPlan(t.audited(), t.settings.Batch, t.net.Inputs.Players())
	m.audit, err = m.auditRows(ctx, t.in.Validation.Rows, labels(t.in.Validation, t.in.Target), t.in.ValidationUnits, p)
	return err
}

// audited returns the number of steps per member that limits the work of the audit. It is smaller if the training was
// cut short. Otherwise it does not depend on how often the training was resumed.
func (t *training) audited() int {
	if t.cutShort() && t.steps > 0 {
		return t.steps / t.settings.Members
	}
	return t.planned()
}

// cutShort reports whether steps may have been skipped.
func (t *training) cutShort() bool { return t.TimeBudget > 0 || t.stopped() }

// planned returns the number of steps of a member that is not cut short.
func (t *training) planned() int {
	s := t.settings
	switch {
	case s.Head != string(form.Exact):
	case t.in.Target.Task == Regression:
		return s.Steps + s.RefitSteps + min(s.AbsentSteps, s.Steps) + 2*s.SpreadSteps
	default:
		return s.Steps + min(s.AbsentSteps, s.Steps) + s.SpreadSteps
	}
	return s.Steps + s.PolishSteps + s.SpreadSteps
}

// maxWeights limits a model so that its checkpoint, about eight numbers per weight, fits into a file.
const maxWeights = 1 << 26

// fits checks before the training that the model will fit into its file.
func (t *training) fits(m Manifest) error {
	weights := 0
	for _, w := range t.net.Weights() {
		weights += w.Size() * t.settings.Members
	}
	for _, w := range t.net.Bag().Weights() {
		weights += w.Size() * t.settings.Bags
	}
	if weights > maxWeights {
		return wrongSetting(fmt.Sprintf("the model would have %d weights, more than %d", weights, maxWeights), "lower bins, embedding, channels or members, or drop columns of many labels")
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if limit := artifact.MaxManifestBytes / 2; len(text) > limit {
		return &Error{Row: -1, Message: fmt.Sprintf("the labels of the columns take %d MB, more than %d", len(text)>>20, limit>>20), Remedy: "drop columns that identify rows"}
	}
	if err := artifact.CheckContent(text, 4*int64(weights)); err != nil {
		return &Error{Row: -1, Message: "the model would not fit into its file: " + err.Error(), Err: err}
	}
	return nil
}
