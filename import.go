package psi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/internal/trees"
	"github.com/psi-shapley/psi/table"
)

// ImportOptions configures Trees.Import. Only Target is required.
type ImportOptions struct {
	Target string // name of what the trees predict: a column of Rows, if there are rows
	// Absent is what happens to absent columns. AbsentByCover (also "") weighs branches by training rows: the games
	// PathDependentGame, BaselineGame and InterventionalGame. AbsentByMissing takes the branch of missing values, the game
	// MissingBranchGame. It needs Rows in which every column of the trees has missing cells, because only then the trees have
	// learned from them.
	Absent string
	// Masked says that the trees learned from rows with cells hidden at random, so that the branch of missing values is the
	// game ObservationalGame, as of psi's own models. It needs AbsentByMissing.
	Masked bool
	// Classes are the names of the classes, in the order of the trees' outputs. If it is nil, they are those of the file or,
	// if it has none, of the rows in sorted order.
	Classes []string
	// Rows, if not nil, measure the model: metrics and intervals if they have the target, how the columns are
	// distributed, and an audit. Give rows that the trees were not trained on.
	Rows Source
}

// Trees is a file of trees that another program trained.
type Trees struct {
	format string
	model  *trees.Model
}

// ReadTrees reads a file of trees: LightGBM's text, or XGBoost's JSON or UBJSON. The content may be untrusted. format
// may be "" if the content is to tell.
func ReadTrees(content []byte, format string) (*Trees, error) {
	model, found, err := readTrees(content, trees.Format(format))
	if err != nil {
		remedy := "save the model again with the program that trained it"
		if strings.Contains(err.Error(), ": save ") {
			remedy = "" // the reader knows better
		}
		return nil, &Error{Row: -1, Message: "the trees cannot be read: " + err.Error(), Remedy: remedy, Err: err}
	}
	return &Trees{string(found), model}, nil
}

func readTrees(content []byte, format trees.Format) (*trees.Model, trees.Format, error) {
	if format == "" {
		return trees.Read(content)
	}
	model, err := trees.ReadAs(format, content)
	return model, format, err
}

// Format returns the format of the file.
func (t *Trees) Format() string { return t.format }

// ReadOptions returns options that read a table for Import: columns of labels are read as categories.
func (t *Trees) ReadOptions() table.Options {
	var o table.Options
	for i := range t.model.Columns {
		if c := &t.model.Columns[i]; c.Labels != nil {
			o.Categorical = append(o.Categorical, c.Name)
		}
	}
	return o
}

// importedBins is the number of bins that describe the columns of imported trees.
const importedBins = 128

// Import makes a model of the trees. Its predictions are those of the program that trained them. Rows are read to their
// end and not closed.
func (t *Trees) Import(ctx context.Context, o ImportOptions) (*Model, error) {
	i := &importing{ImportOptions: o, file: t.model.Clone()}
	if err := i.check(); err != nil {
		return nil, err
	}
	if o.Rows != nil {
		if err := i.read(ctx); err != nil {
			return nil, err
		}
	}
	m, err := i.build(t.format)
	if err != nil {
		return nil, err
	}
	if err := m.check(ctx); err != nil {
		return nil, overflow(t.format, err)
	}
	if i.sample == nil {
		return m, nil
	}
	return m, i.measure(ctx, m)
}

// importing is the state of an Import.
type importing struct {
	ImportOptions
	file *trees.Model

	fitter *encode.Fitter // of the columns of the rows; nil without rows
	fields []table.Field  // of the trees' columns
	target *table.Field   // of the rows; nil if they have no target
	sample *table.Table   // of the rows; nil without rows
	labels encode.Labels
	digest dataset.Digest
	rows   int
}

func (i *importing) check() error {
	switch {
	case i.Target == "":
		return wrongSetting("no target", "name what the trees predict in ImportOptions.Target")
	case i.Absent != "" && i.Absent != AbsentByCover && i.Absent != AbsentByMissing:
		return wrongSetting(fmt.Sprintf("absent columns by %q", i.Absent), fmt.Sprintf("choose %s or %s", AbsentByCover, AbsentByMissing))
	case i.Masked && i.Absent != AbsentByMissing:
		return wrongSetting("trees that learned from rows with hidden cells take the branch of missing values", "choose "+AbsentByMissing)
	case i.Absent == AbsentByMissing && i.Rows == nil && !i.Masked:
		return wrongSetting("the branch of missing values means something only if the trees learned from missing values", "give rows in ImportOptions.Rows, so that psi can look")
	}
	if i.Classes != nil && (i.file.Link == trees.Identity || i.file.Link == trees.Log) {
		return wrongSetting("the trees predict a number, which has no classes", "leave ImportOptions.Classes out")
	}
	names := map[string]bool{}
	for k := range i.file.Columns {
		name := i.file.Columns[k].Name
		if names[name] {
			return &table.Error{Row: -1, Column: name, Message: "the trees have two columns of this name", Remedy: "train with distinct names"}
		}
		names[name] = true
		kind := table.Number
		if i.file.Columns[k].Labels != nil {
			kind = table.Category
		}
		i.fields = append(i.fields, table.Field{Name: name, Kind: kind})
	}
	if len(i.fields) == 0 {
		return &table.Error{Row: -1, Message: "the trees have no columns", Remedy: "give a model that was trained on a table"}
	}
	if names[i.Target] {
		return &table.Error{Row: -1, Column: i.Target, Message: "the target is one of the trees' columns", Remedy: "name what the trees predict"}
	}
	return nil
}

// Rows of a table that measure an imported model are a sample of at most importSample.
const (
	importSample = 20_000
	importStream = 0x696D706F7274
)

// read reads the rows: how their columns are distributed, and a sample of them.
func (i *importing) read(ctx context.Context) error {
	schema := i.Rows.Schema()
	if err := i.match(schema); err != nil {
		return err
	}
	i.target = schema.Field(i.Target)
	var err error
	if i.fitter, err = encode.NewFitter(&table.Schema{Fields: i.fields}, columnNames(i.fields), importedBins); err != nil {
		return err
	}
	sample := table.NewSample(importSample, rand.New(rand.NewPCG(0, importStream)))
	for {
		t, err := i.Rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		i.digest.Add(t)
		if err := i.fitter.Add(t, nil); err != nil {
			return err
		}
		if y := t.Column(i.Target); y != nil {
			if err := i.labels.Add(y, nil); err != nil {
				return err
			}
		}
		sample.Add(t)
	}
	i.rows = sample.Seen()
	if i.sample, _ = sample.Rows(); i.rows == 0 {
		return &table.Error{Row: -1, Message: "the table has no rows", Remedy: "give a table with rows, or none"}
	}
	return i.checkMissing()
}

// match finds the trees' columns among those of the rows. Trees that know their columns only by number take them in
// order.
func (i *importing) match(schema *table.Schema) error {
	var others []table.Field // columns of the table but the target
	for _, f := range schema.Fields {
		if f.Name != i.Target {
			others = append(others, f)
		}
	}
	i.restoreSpaces(schema)
	lacks := slices.IndexFunc(i.fields, func(f table.Field) bool { return schema.Field(f.Name) == nil })
	if lacks >= 0 && i.file.Unnamed() && len(others) == len(i.fields) {
		for k := range i.fields {
			i.fields[k].Name, i.file.Columns[k].Name = others[k].Name, others[k].Name
		}
		lacks = -1
	}
	if lacks >= 0 {
		remedy := "give rows with the columns that the trees were trained on"
		if i.file.Unnamed() {
			remedy = fmt.Sprintf("the trees know their %d columns only by number: give a table with these and the target, in their order", len(i.fields))
		}
		return &table.Error{Row: -1, Column: i.fields[lacks].Name, Message: "the rows lack this column of the trees", Remedy: remedy}
	}
	for k := range i.fields {
		f, of := &i.fields[k], schema.Field(i.fields[k].Name)
		f.Reading = of.Reading
		switch {
		case f.Kind == of.Kind:
		case f.Kind == table.Number && (of.Kind == table.Boolean || i.Masked && of.Kind == table.Time):
			f.Kind = of.Kind
		default:
			return &table.Error{Row: -1, Column: f.Name, Message: fmt.Sprintf("the column is a %v in the rows, but the trees take it as a %v", of.Kind, f.Kind), Remedy: "give the rows as the trees were trained on them"}
		}
	}
	return nil
}

// restoreSpaces renames columns of the trees that a column of the rows would be with underscores in place of spaces:
// LightGBM writes them so.
func (i *importing) restoreSpaces(schema *table.Schema) {
	for k := range i.fields {
		name := i.fields[k].Name
		if schema.Field(name) != nil {
			continue
		}
		for _, f := range schema.Fields {
			if strings.ReplaceAll(f.Name, " ", "_") == name {
				i.fields[k].Name, i.file.Columns[k].Name = f.Name, f.Name
			}
		}
	}
}

// checkMissing refuses the branch of missing values if a column has none in the rows.
func (i *importing) checkMissing() error {
	if i.Absent != AbsentByMissing || i.Masked {
		return nil
	}
	for d, split := range i.file.Split() {
		name := i.fields[d].Name
		if split && !slices.Contains(i.sample.Column(name).Observed, false) {
			return &table.Error{
				Row: -1, Column: name, Message: "the column has no missing cell in the rows, so that the trees cannot have learned where missing values belong",
				Remedy: fmt.Sprintf("use %s, or train the trees on rows with cells hidden at random", AbsentByCover),
			}
		}
	}
	return nil
}

// build makes the model, without what rows measure.
func (i *importing) build(format string) (*Model, error) {
	encoder, err := i.encoder()
	if err != nil {
		return nil, err
	}
	ensemble := &i.file.Ensemble
	order := make([]int, len(i.fields))
	for column, place := range places(i.fields, encoder) {
		order[place] = column
	}
	ensemble.Arrange(order)
	if i.file.Slope != 0 && i.file.Slope != 1 {
		ensemble.Multiply(i.file.Slope)
	}
	imported := &Imported{Format: format, Objective: i.file.Objective, Game: PathDependentGame}
	switch {
	case i.Masked:
		imported.Game = ObservationalGame
	case i.Absent == AbsentByMissing:
		imported.Game = MissingBranchGame
	default:
		if err := i.count(ensemble); err != nil {
			return nil, err
		}
	}
	imported.measureTrees(ensemble)
	m := &Model{ensemble: ensemble, manifest: Manifest{
		Target: i.Target, Columns: i.fields, Groups: []Group{}, Missing: []string{}, Encoder: encoder, Settings: Settings{Head: string(form.Trees), Bins: importedBins}, Nodes: []int{},
		Metrics: map[string]float64{}, Imported: imported,
		Provenance: Provenance{Psi: Version(), Revision: Revision(), Data: i.dataDigest(), ValidationRows: i.rows, Validation: "the rows given to import", Backend: Native},
	}}
	if m.manifest.Scale, err = i.scale(ensemble.NewGame(imported.absent()).Empty()); err != nil {
		return nil, err
	}
	m.manifest.Task = m.manifest.Scale.Task
	if m.classes() {
		m.manifest.Calibration = Calibration{Scale: 1}
		imported.Base, imported.Unit = slices.Clone(m.manifest.Scale.Base), 1
	} else {
		m.manifest.Calibration = Calibration{Temperature: 1}
		imported.Base, imported.Unit = []float64{m.manifest.Scale.Mean}, m.manifest.Scale.Std
	}
	m.config = m.manifest.network()
	if err := m.prepare(Native); err != nil {
		return nil, err
	}
	return m, nil
}

// count counts the rows of branches if the file does not.
func (i *importing) count(e *trees.Ensemble) error {
	if e.HasCovers() {
		return nil
	}
	if i.sample == nil {
		return &Error{
			Row: -1, Message: "the file does not say how many training rows took each branch, which the game path-dependent weighs absent columns by",
			Remedy: "give training rows in ImportOptions.Rows, so that psi can count",
		}
	}
	e.CountCovers(e.Codes(i.sample))
	return nil
}

func (i *importing) dataDigest() string {
	if i.sample == nil {
		return ""
	}
	return i.digest.String()
}

// encoder describes the columns: by the rows or, without them, by the thresholds of the trees. A missing value is a
// value.
func (i *importing) encoder() (*encode.Encoder, error) {
	e := &encode.Encoder{Bins: importedBins}
	if i.fitter != nil {
		var err error
		if e, err = i.fitter.Finish(); err != nil {
			return nil, err
		}
	} else {
		for k, f := range i.fields {
			e.Players = append(e.Players, encode.Described(f.Name, f.Kind, i.file.Columns[k].Edges, importedBins))
		}
		e.Sort()
	}
	for d := range e.Players {
		p := &e.Players[d]
		p.Gap = true
		if !p.Numeric() {
			k := slices.IndexFunc(i.fields, func(f table.Field) bool { return f.Name == p.Name })
			p.Levels, p.Rare = slices.Sorted(slices.Values(i.file.Columns[k].Labels)), 0
		}
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return e, nil
}

// scale returns what the outputs of the trees mean. empty is v(∅).
func (i *importing) scale(empty []float64) (encode.Target, error) {
	t := encode.Target{Kind: table.Number}
	if i.target != nil {
		t.Kind, t.Reading = i.target.Kind, i.target.Reading
	}
	switch i.file.Link {
	case trees.Identity, trees.Log:
		t.Task, t.Mean, t.Std = Regression, empty[0], 1
		if i.file.Link == trees.Log {
			t.Link, t.NonNegative = encode.LogMean, true
		}
		if t.Kind == table.Boolean {
			t.Kind = table.Number
		}
		if len(empty) > 1 {
			return t, &Error{Row: -1, Message: fmt.Sprintf("the trees predict %d numbers at once", len(empty)), Remedy: "train a model of one target"}
		}
		if std := i.targetStd(t.Link); std > 0 {
			t.Std = std
		}
		return t, nil
	case trees.Logit:
		t.Task, t.Classes = Binary, []string{"0", "1"}
	case trees.Softmax, trees.Probability:
		if i.file.Link == trees.Probability {
			t.Link = encode.Probability
		}
		if t.Task, t.Classes = Binary, []string{"0", "1"}; len(empty) > 1 {
			t.Task, t.Classes = Multiclass, nil
			for c := range empty {
				t.Classes = append(t.Classes, strconv.Itoa(c))
			}
		}
	default:
		return t, &Error{Row: -1, Message: fmt.Sprintf("psi does not have the objective %s, whose classes are predicted apart", i.file.Objective), Remedy: "train with a softmax over classes"}
	}
	t.Base = empty
	err := i.classes(&t)
	return t, err
}

// targetStd is the standard deviation of the rows' targets; 0 if they have none.
func (i *importing) targetStd(link encode.Link) float64 {
	if i.target == nil || i.target.Kind == table.Category {
		return 0
	}
	y := i.sample.Column(i.Target)
	var known []float64
	for row, observed := range y.Observed {
		if observed && (link == encode.IdentityLink || y.Numbers[row] > 0) {
			known = append(known, y.Numbers[row])
		}
	}
	if len(known) == 0 {
		return 0
	}
	return encode.FitTarget(link.OfAll(known)).Std
}

// measure sets what the rows tell about the model.
func (i *importing) measure(ctx context.Context, m *Model) error {
	sample := m.read(i.sample)
	rows, err := m.encode(sample)
	if err != nil {
		return err
	}
	m.manifest.Imported.Rows = rows.Rows
	y := slices.Repeat([]float64{math.NaN()}, rows.Rows)
	if i.target != nil {
		if y, err = m.truth(sample); err != nil {
			return err
		}
		if !i.file.Ranks() { // scores of a ranking are not in the target's units
			if err := m.calibrateImported(ctx, rows, y); err != nil {
				return err
			}
		}
	}
	m.audit, err = m.auditRows(ctx, rows, y, nil, m.planWithin(importWork, defaultAuditRows))
	return err
}

// calibrateImported measures predictions on rows with targets. It does not change predictions: a number gets the
// deviation of the targets from them, and its intervals.
func (m *Model) calibrateImported(ctx context.Context, rows *encode.Batch, y []float64) error {
	d := train.Data{Rows: rows.Like(0)}
	for row, v := range y {
		if math.IsNaN(v) || m.scale().Logs() && v <= 0 {
			continue
		}
		d.Rows.Append(rows.Slice(row, row+1))
		d.Weight = append(d.Weight, 1)
		if m.classes() {
			d.Target = append(d.Target, float32(v))
		} else {
			d.Target = append(d.Target, float32((m.manifest.Scale.Link.OfAll([]float64{v})[0]-m.manifest.Scale.Mean)/m.manifest.Scale.Std))
		}
	}
	if d.Len() < minRecalibrationRows {
		return nil
	}
	c := &m.manifest.Calibration
	if !m.classes() {
		var err error
		if c.Noise, err = m.residualVariance(ctx, d); err != nil {
			return err
		}
		if c.Ranges, err = m.fitRanges(ctx, d); err != nil {
			return err
		}
		c.RangeRows = d.Len()
	}
	metrics, err := m.measure(ctx, d)
	m.manifest.Metrics, c.Before, c.After = metrics, metrics, metrics
	return err
}

// residualVariance is σ_0² of a model whose rows all vary alike about their predictions, in its units.
func (m *Model) residualVariance(ctx context.Context, d train.Data) (sum float64, err error) {
	x, err := m.own.Pass(ctx, d.Rows, 0)
	if err != nil {
		return 0, err
	}
	for k, v := range x.Value {
		sum += square(float64(d.Target[k]-v)) / float64(len(x.Value))
	}
	return max(sum, math.SmallestNonzeroFloat32), nil
}

// importWork limits the audit of an import: some seconds.
const importWork = 3e8
