package psi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Task is the kind of target that a model predicts.
type Task = encode.Task

// Tasks.
const (
	Regression = encode.Regression // a number
	Binary     = encode.Binary     // one of two classes
	Multiclass = encode.Multiclass // one of three or more classes
)

// Manifest describes a model: its columns, settings, calibration, metrics and provenance. Model files store it as JSON.
type Manifest struct {
	Task          Task               `json:"task"`
	Target        string             `json:"target"`
	Scale         encode.Target      `json:"scale"`   // scale on which the target is learned
	Columns       []table.Field      `json:"columns"` // features, in the order of the training table
	LeftOut       []LeftOut          `json:"left_out,omitempty"`
	Groups        []Group            `json:"groups"`                   // groups of columns with a joint attribution
	Weight        string             `json:"weight"`                   // column of row weights; "" if there is none
	WeightReading *table.Reading     `json:"weight_reading,omitempty"` // how that column's text is parsed
	Missing       []string           `json:"missing"`                  // strings treated as missing, besides the default ones
	Encoder       *encode.Encoder    `json:"encoder"`
	Settings      Settings           `json:"settings"`
	Nodes         []int              `json:"nodes"`                  // quadrature nodes of each member
	BagNodes      []int              `json:"bag_nodes,omitempty"`    // quadrature nodes of each bag
	SharedSigma   bool               `json:"shared_sigma,omitempty"` // three or more classes: a column has one σ per row, shared by all classes
	Calibration   Calibration        `json:"calibration"`
	Metrics       map[string]float64 `json:"metrics"` // metrics of the validation rows

	// TargetScale records how the scale of a number was chosen; absent if only one scale was tried.
	TargetScale *ScaleChoice `json:"target_scale,omitempty"`

	// Baselines holds the metrics of simple models on the same rows, by name; absent in files of older versions.
	Baselines map[string]map[string]float64 `json:"baselines,omitempty"`

	// LinearColumns lists the columns that the linear baseline uses, in descending order of importance, if these are at
	// most half of all columns.
	LinearColumns []string `json:"linear_columns,omitempty"`

	// Suspects lists columns that may leak the target, in descending order of skill; absent if there are none, and in
	// files of older versions.
	Suspects []Suspect `json:"suspects,omitempty"`

	// Recalibrations lists the recalibrations since training, the last one last; absent if there are none. Metrics and
	// Baselines keep the values of the training.
	Recalibrations []Recalibration `json:"recalibrations,omitempty"`

	// Imported describes a model of trees that another program trained; absent if psi trained the model.
	Imported *Imported `json:"imported,omitempty"`

	// Mixture describes a weighted mean of other models; absent if the model is not one.
	Mixture *Mixture `json:"mixture,omitempty"`

	Provenance Provenance `json:"provenance"`
}

// Classes returns the labels of the classes, of two classes the negative one first. It returns nil for a number.
func (m *Manifest) Classes() []string { return m.Scale.Classes }

// network returns the network of the settings for the table's columns and target.
func (m *Manifest) network() form.Config {
	in := form.Inputs{
		Numeric: m.Encoder.Numeric(), Times: m.Encoder.Times(), Bins: m.Encoder.Bins, Gaps: m.Encoder.Gaps(), Levels: m.Encoder.EmbeddingRows(),
	}
	if players, err := grouped(columnNames(m.Columns), m.Groups); err == nil { // newView reports the error
		in.Groups = networkGroups(players, places(m.Columns, m.Encoder))
	}
	c := m.Settings.network(in)
	c.Inputs.Groups = nil // a view has its own groups
	c.Outputs, c.Classes, c.SharedSigma = m.Scale.Outputs(), m.Task != Regression, m.SharedSigma
	return c
}

// Features that a model file may require: the form of the game, and how its values become scores.
const (
	productFeature      = "product"      // exact head
	pairsFeature        = "pairs"        // exact head: products whose factors have two columns
	tensorTrainFeature  = "tensor-train" // exact head
	learnedFeature      = "learned"      // learned head
	paperFeature        = "paper"        // learned head: an activation, a norm or the objective of the paper
	scaleFeature        = "scale"        // classes: calibration that leaves φ_0 unchanged
	bagsFeature         = "bags"         // bagged networks for epistemic uncertainty
	sharedSigmaFeature  = "shared-sigma" // three or more classes: one σ for all of them
	rangesFeature       = "ranges"       // number: intervals other than ∓ 1.645 standard deviations
	readingsFeature     = "readings"     // how text is parsed into numbers and times
	recalibratedFeature = "recalibrated" // base and scale differ from those of the training
	nonNegativeFeature  = "non-negative" // number: predictions are at least 0
	logFeature          = "log"          // number: scores on a log scale
	treesFeature        = "trees"        // imported trees
	mixtureFeature      = "mixture"      // weighted mean of models
)

// features returns the features that this program supports.
func features() []string {
	return []string{productFeature, pairsFeature, tensorTrainFeature, learnedFeature, paperFeature, scaleFeature, bagsFeature, sharedSigmaFeature, rangesFeature, readingsFeature, nonNegativeFeature, logFeature, recalibratedFeature, treesFeature, mixtureFeature}
}

// requires returns the features that a program needs to read the model.
func (m *Manifest) requires() []string {
	list := []string{m.gameForm()}
	if s := m.Settings; s.Activation != "" || s.Norm != "" || s.Likelihood == string(train.Joint) {
		list = append(list, paperFeature)
	}
	if m.Calibration.Scale != 0 {
		list = append(list, scaleFeature)
	}
	if m.Settings.Bags > 0 {
		list = append(list, bagsFeature)
	}
	if m.SharedSigma {
		list = append(list, sharedSigmaFeature)
	}
	if m.Calibration.Ranges != nil {
		list = append(list, rangesFeature)
	}
	if len(m.readings()) > 0 {
		list = append(list, readingsFeature)
	}
	if len(m.Recalibrations) > 0 {
		list = append(list, recalibratedFeature)
	}
	if m.Scale.NonNegative {
		list = append(list, nonNegativeFeature)
	}
	if m.Scale.Link != encode.IdentityLink && m.Scale.Link != encode.Probability { // which only trees have
		list = append(list, logFeature)
	}
	if m.Mixture != nil {
		for k := range m.Mixture.Members {
			for _, feature := range m.Mixture.Members[k].requires() {
				if !slices.Contains(list, feature) {
					list = append(list, feature)
				}
			}
		}
	}
	return list
}

// readings returns the readings of the columns, the target and the weight that have one.
func (m *Manifest) readings() map[string]*table.Reading {
	all := map[string]*table.Reading{}
	for _, f := range m.Columns {
		if f.Reading != nil {
			all[f.Name] = f.Reading
		}
	}
	if m.Scale.Reading != nil {
		all[m.Target] = m.Scale.Reading
	}
	if m.WeightReading != nil {
		all[m.Weight] = m.WeightReading
	}
	return all
}

// gameForm returns the feature for the form of the game.
func (m *Manifest) gameForm() string {
	switch {
	case m.Settings.Head == string(form.Trees):
		return treesFeature
	case m.Settings.Head == string(form.Mixture):
		return mixtureFeature
	case m.Settings.Head == string(form.Learned):
		return learnedFeature
	case m.Settings.Form == string(form.TensorTrain):
		return tensorTrainFeature
	case m.network().Pairs != nil:
		return pairsFeature
	}
	return productFeature
}

// Provenance records how a model was made. Together with the table and the program it suffices to train the same model
// again.
type Provenance struct {
	Psi            string  `json:"psi"`
	Revision       string  `json:"revision"` // revision of the source code, if known
	Data           string  `json:"data"`     // digest of all cells read
	TrainingRows   int     `json:"training_rows"`
	ValidationRows int     `json:"validation_rows"`
	Validation     string  `json:"validation"` // how validation rows were chosen
	Seed           uint64  `json:"seed"`
	Backend        Backend `json:"backend"`           // training backend
	CPU            string  `json:"cpu,omitempty"`     // instruction set of native training, which affects the last digits
	Threads        int     `json:"threads,omitempty"` // threads of the backend, in models of psi 0.1
	Effort         string  `json:"effort,omitempty"`  // "" means normal
	TimeBudget     string  `json:"time_budget"`       // time limit of the training; "" if there was none

	// Share is the share of the effort's steps that fitted into the time budget; 0 if unknown.
	Share float64 `json:"share,omitempty"`
}

// ValidationBy returns the column whose equal values stayed together when validation rows were chosen, such as a
// patient. It returns "" if there is none.
func (p Provenance) ValidationBy() string {
	if strings.HasPrefix(p.Validation, validationNewest) {
		return ""
	}
	_, column, _ := strings.Cut(p.Validation, validationBy)
	return column
}

// validationBy precedes the name of that column in Provenance.Validation.
const validationBy = ", by "

// validationNewest begins Provenance.Validation if a column ordered the rows.
const validationNewest = "the newest "

func (t *training) manifest(schema *table.Schema) Manifest {
	m := Manifest{
		Task: t.in.Target.Task, Target: t.Target, Scale: t.in.Target, LeftOut: slices.Clone(t.leftOut), Groups: slices.Clone(t.Groups), Weight: t.Weight,
		Missing: slices.Clone(t.Missing), Encoder: t.in.Encoder, Settings: t.settings,
		SharedSigma: t.in.Target.Outputs() > 1,
		Provenance: Provenance{
			Psi: Version(), Revision: Revision(), Data: t.in.Digest,
			TrainingRows: t.in.Training.Len(), ValidationRows: t.in.Validation.Len(), Validation: t.validation(),
			Seed: t.Seed, Backend: t.backendName(), CPU: t.cpu, Effort: t.effort(),
		},
	}
	if t.TimeBudget > 0 {
		m.Provenance.TimeBudget = t.TimeBudget.String()
	}
	m.Scale.Reading = schema.Field(t.Target).Reading
	if t.Weight != "" {
		m.WeightReading = schema.Field(t.Weight).Reading
	}
	for _, f := range schema.Fields {
		if slices.ContainsFunc(m.Encoder.Players, func(p encode.Player) bool { return p.Name == f.Name }) {
			m.Columns = append(m.Columns, f)
		}
	}
	return m
}

// validation describes how the validation rows were chosen.
func (t *training) validation() string {
	switch {
	case t.ValidationAfter != "":
		return fmt.Sprintf("%srows, after %s in %s", validationNewest, t.ValidationAfter, t.OrderBy)
	case t.OrderBy != "":
		return fmt.Sprintf("%sfraction of %g in %s", validationNewest, t.ValidationFraction, t.OrderBy)
	}
	text := fmt.Sprintf("a fraction of %g", t.ValidationFraction)
	if t.Validation != nil {
		text = "a table of their own"
	}
	if t.ValidationBy != "" {
		text += validationBy + t.ValidationBy
	}
	return text
}

const maxMissing = 1000

// readManifest decodes a manifest and checks everything that later code relies on.
func readManifest(content []byte) (*Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return &m, nil
}

// check rejects a manifest that later code cannot rely on.
func (m *Manifest) check() error {
	if m.Task != m.Scale.Task {
		return fmt.Errorf("the task is %q, but the target's %q", m.Task, m.Scale.Task)
	}
	if m.Encoder == nil || m.Target == "" {
		return errors.New("no encoder or no target")
	}
	if err := errors.Join(m.Encoder.Validate(), m.Scale.Validate(), m.Settings.Validate()); err != nil {
		return err
	}
	if m.Encoder.Bins != m.Settings.Bins {
		return fmt.Errorf("%d bins, but the settings say %d", m.Encoder.Bins, m.Settings.Bins)
	}
	if (m.Imported != nil) != (m.Settings.Head == string(form.Trees)) {
		return fmt.Errorf("imported trees, but the head is %q, or the other way round", m.Settings.Head)
	}
	if (m.Mixture != nil) != (m.Settings.Head == string(form.Mixture)) {
		return fmt.Errorf("a mixture, but the head is %q, or the other way round", m.Settings.Head)
	}
	if m.Imported == nil && m.Mixture == nil {
		if err := m.Scale.Centred(); err != nil {
			return err
		}
		if m.Scale.Link == encode.Probability {
			return errors.New("scores of networks are not probabilities")
		}
	}
	if len(m.Nodes) != m.Settings.Members {
		return fmt.Errorf("nodes of %d members, but there are %d", len(m.Nodes), m.Settings.Members)
	}
	if len(m.BagNodes) != m.Settings.Bags || m.Settings.Bags > 0 && !m.network().HasBags() {
		return fmt.Errorf("nodes of %d bags, but there are %d", len(m.BagNodes), m.Settings.Bags)
	}
	for _, n := range slices.Concat(m.Nodes, m.BagNodes) {
		if limit := form.MaxNodes(len(m.Encoder.Players)); n < 1 || n > limit {
			return fmt.Errorf("%d quadrature nodes: a model of %d columns has between 1 and %d", n, len(m.Encoder.Players), limit)
		}
	}
	if m.SharedSigma && m.Scale.Outputs() == 1 {
		return errors.New("the outputs share σ, but there is only one output")
	}
	for name, v := range m.Metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("metric %s is not a number", name)
		}
	}
	if err := errors.Join(m.Calibration.validate(m.Task, m.Scale.Std), m.TargetScale.validate(), m.checkBaselines(), m.checkSuspects(), m.Imported.validate(), m.Mixture.validate()); err != nil {
		return err
	}
	if len(m.Missing) > maxMissing {
		return fmt.Errorf("%d words mean missing: at most %d", len(m.Missing), maxMissing)
	}
	return m.checkColumns()
}

// checkColumns checks that the columns are the encoder's players, in any order.
func (m *Manifest) checkColumns() error {
	if len(m.Columns) != len(m.Encoder.Players) {
		return fmt.Errorf("%d columns, but %d encoders", len(m.Columns), len(m.Encoder.Players))
	}
	kinds := map[string]table.Kind{}
	for _, f := range m.Columns {
		kinds[f.Name] = f.Kind
		if err := f.Reading.Validate(f.Kind); err != nil {
			return err
		}
	}
	if err := errors.Join(m.Scale.Reading.Validate(m.Scale.Kind), m.WeightReading.Validate(table.Number)); err != nil {
		return err
	}
	for _, p := range m.Encoder.Players {
		if kind, ok := kinds[p.Name]; !ok || kind != p.Kind {
			return fmt.Errorf("the encoder of column %q fits no column", p.Name)
		}
	}
	if err := m.checkLeftOut(); err != nil {
		return err
	}
	_, err := grouped(columnNames(m.Columns), m.Groups)
	return err
}
