package psi

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/onnx"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/internal/trees"
	"github.com/psi-shapley/psi/table"
)

// Model is a trained model. It is immutable and safe for concurrent use, except for Close.
type Model struct {
	manifest Manifest
	config   form.Config // configuration of the members, whose players are the columns
	members  []form.Member
	ensemble *trees.Ensemble // imported trees, in place of members; nil if there are none
	mixed    []*Model        // members of a mixture, in place of members; nil if it is none
	bags     []form.Member   // networks of m.config.Bag()
	audit    *Audit
	history  []byte // CSV

	reference *encode.Batch // training rows that supply values for missing cells; nil if none are kept

	places     []int // the encoder's index of each column
	evaluators evaluators
	own        *view // view of the players that the model was trained with

	digest atomic.Pointer[string] // digest of the file, if the model was saved or opened

	fitted // zero unless the model was trained by cross-validation
}

// Parts of a model file.
const (
	weightsPart = "weights.safetensors"
	treesPart   = "trees.safetensors" // in place of weights
	auditPart   = "audit.json"
	historyPart = "history.csv"
)

// Open reads a model file and prepares it on the fastest available backend. It returns an error if the file is damaged,
// or if the model's answers are NaN or infinite. The file may be untrusted: nothing in it is executed, and opening
// takes little more memory than the size of the file. Call Close when done.
func Open(path string) (*Model, error) { return OpenOptions{}.Open(path) }

// OpenOptions configure how a model is opened. The zero value is what Open uses.
type OpenOptions struct {
	Backend Backend // evaluates the model
}

// Open is the function Open with these options.
func (o OpenOptions) Open(path string) (*Model, error) {
	file, digest, err := artifact.ReadFile(path, artifact.Model)
	if err != nil {
		return nil, err
	}
	return o.opened(path, file, digest)
}

// Decode opens a model from the content of its file. Errors refer to the file as name.
func (o OpenOptions) Decode(name string, content []byte) (*Model, error) {
	file, err := artifact.Read(content, artifact.Model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o.opened(name, file, artifact.Digest(content))
}

func (o OpenOptions) opened(path string, file *artifact.File, digest string) (*Model, error) {
	if err := file.Lacks(path, features()...); err != nil {
		return nil, err
	}
	m, err := decode(file)
	if err != nil {
		return nil, invalid(path, err)
	}
	m.digest.Store(&digest)
	if err := m.prepare(o.Backend); err != nil {
		return nil, err
	}
	if err := m.check(context.Background()); err != nil {
		m.Close()
		return nil, overflow(path, err)
	}
	return m, nil
}

// overflow reports that the model of a file gives answers that are not finite, if err says so.
func overflow(path string, err error) error {
	if _, is := errors.AsType[*form.NotFiniteError](err); is {
		return invalid(path, errors.New("its answers are NaN or infinite at ordinary values of its columns"))
	}
	return err
}

// invalid returns the error of a file that is intact but does not contain a valid model.
func invalid(path string, err error) error {
	return &Error{Row: -1, File: path, Message: "invalid model: " + err.Error(), Remedy: "train it again", Err: errors.Join(artifact.ErrDamaged, err)}
}

// decode checks the content of a model file.
func decode(file *artifact.File) (*Model, error) {
	manifest, err := readManifest(file.Content)
	if err != nil {
		return nil, err
	}
	m := &Model{manifest: *manifest, config: manifest.network(), history: file.Parts[historyPart]}
	if err := m.config.Validate(); err != nil {
		return nil, err
	}
	if err := m.takeWeights(file); err != nil {
		return nil, err
	}
	if rows, ok := file.Parts[referencePart]; ok {
		if m.reference, err = decodeReference(rows, manifest.Encoder); err != nil {
			return nil, err
		}
	}
	if audit, ok := file.Parts[auditPart]; ok {
		if err := json.Unmarshal(audit, &m.audit); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	return m, nil
}

// takeWeights reads the weights of networks, or the trees of an imported model.
func (m *Model) takeWeights(file *artifact.File) error {
	switch {
	case m.manifest.Imported != nil:
		return m.takeTrees(file.Parts[treesPart])
	case m.manifest.Mixture != nil:
		return m.takeMembers(file)
	}
	tensors, err := artifact.DecodeTensors(file.Parts[weightsPart])
	if err != nil {
		return err
	}
	bag := m.config.Bag()
	if want := len(m.config.Weights())*len(m.manifest.Nodes) + len(bag.Weights())*len(m.manifest.BagNodes); len(tensors) != want {
		return fmt.Errorf("%d weights, but %d are needed", len(tensors), want)
	}
	if m.members, err = takeNetworks(tensors, "", m.config, m.manifest.Nodes); err != nil {
		return err
	}
	m.bags, err = takeNetworks(tensors, bagPrefix, bag, m.manifest.BagNodes)
	return err
}

// putWeights adds the parts of the file that takeWeights reads, under the names that name gives them.
func (m *Model) putWeights(to map[string][]byte, name func(part string) string) (err error) {
	for k, member := range m.mixed {
		if err := member.putWeights(to, func(part string) string { return memberPart(k, part) }); err != nil {
			return err
		}
	}
	switch {
	case m.mixed != nil:
	case m.ensemble != nil:
		to[name(treesPart)], err = artifact.EncodeTensors(m.ensemble.Tensors())
	default:
		tensors := map[string]artifact.Tensor{}
		putNetworks(tensors, "", m.config, m.members)
		putNetworks(tensors, bagPrefix, m.config.Bag(), m.bags)
		to[name(weightsPart)], err = artifact.EncodeTensors(tensors)
	}
	return err
}

// bagPrefix precedes the names of the weights of bags.
const bagPrefix = "bag/"

// weightName returns the name of a weight of network i.
func weightName(prefix string, i int, weight string) string {
	return prefix + strconv.Itoa(i) + "/" + weight
}

// takeNetworks reads networks of one configuration and checks the shapes of their weights.
func takeNetworks(tensors map[string]artifact.Tensor, prefix string, c form.Config, nodes []int) ([]form.Member, error) {
	var all []form.Member
	for i, n := range nodes {
		member := form.Member{Nodes: n, Weights: map[string][]float32{}}
		for _, w := range c.Weights() {
			name := weightName(prefix, i, w.Name)
			t, ok := tensors[name]
			if !ok || t.Floats == nil || !slices.Equal(t.Dims, w.Dims) {
				return nil, fmt.Errorf("weight %s is not as the settings need it", name)
			}
			if slices.ContainsFunc(t.Floats, func(v float32) bool { return v-v != 0 }) {
				return nil, fmt.Errorf("weight %s contains NaN or infinity", name)
			}
			member.Weights[w.Name] = t.Floats
		}
		all = append(all, member)
	}
	return all, nil
}

// putNetworks is the inverse of takeNetworks.
func putNetworks(tensors map[string]artifact.Tensor, prefix string, c form.Config, all []form.Member) {
	for i, member := range all {
		for _, w := range c.Weights() {
			tensors[weightName(prefix, i, w.Name)] = artifact.Tensor{Dims: w.Dims, Floats: member.Weights[w.Name]}
		}
	}
}

// Save writes the model to a file atomically: the file is complete or does not appear.
func (m *Model) Save(path string) error {
	content, err := json.Marshal(m.manifest)
	if err == nil {
		_, err = readManifest(content) // Open would refuse the file
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	weights := map[string][]byte{}
	if err := m.putWeights(weights, func(part string) string { return part }); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	audit, err := json.Marshal(m.audit)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	file := &artifact.File{
		Kind: artifact.Model, Requires: m.manifest.requires(), Content: content,
		Parts: map[string][]byte{auditPart: audit, historyPart: m.history},
	}
	maps.Copy(file.Parts, weights)
	if m.reference != nil {
		if file.Parts[referencePart], err = artifact.EncodeTensors(referenceTensors(m.reference)); err != nil {
			return fmt.Errorf("save %s: %w", path, err)
		}
	}
	digest, err := artifact.WriteFile(path, file)
	if err != nil {
		return err
	}
	m.digest.Store(&digest)
	return nil
}

// WeightCount returns the number of trained weights, or of the leaves of imported trees.
func (m *Model) WeightCount() int {
	if m.ensemble != nil {
		return m.manifest.Imported.Leaves
	}
	n := 0
	for _, member := range m.mixed {
		n += member.WeightCount()
	}
	for _, member := range slices.Concat(m.members, m.bags) {
		for _, w := range member.Weights {
			n += len(w)
		}
	}
	return n
}

// prepare prepares the model for evaluation.
func (m *Model) prepare(backend Backend) (err error) {
	m.places = places(m.manifest.Columns, m.manifest.Encoder)
	if m.evaluators, err = openEvaluators(backend, m.config); err != nil {
		return err
	}
	m.own, err = m.newView(m.manifest.Groups)
	return err
}

// places returns the encoder's index of each column.
func places(columns []table.Field, e *encode.Encoder) []int {
	at := map[string]int{}
	for d, p := range e.Players {
		at[p.Name] = d
	}
	list := make([]int, len(columns))
	for i, f := range columns {
		list[i] = at[f.Name]
	}
	return list
}

// Close frees memory outside Go's heap. The model must not be used afterwards.
func (m *Model) Close() { m.own.Close() }

// Manifest returns the description of the model. Its slices and maps are shared with the model and read-only.
func (m *Model) Manifest() Manifest { return m.manifest }

// ReferenceRows returns the number of training rows that the model keeps for Questions.
func (m *Model) ReferenceRows() int {
	if m.reference == nil {
		return 0
	}
	return m.reference.Rows
}

// StoredAudit returns the audit of the validation rows, made at the end of training.
func (m *Model) StoredAudit() *Audit { return m.audit }

// History returns the validation scores of the training as CSV: member, phase, step, loss, score.
func (m *Model) History() []byte { return m.history }

// Digest returns "sha256:…" of the model's file; "" if the model was neither saved nor opened.
func (m *Model) Digest() string {
	if digest := m.digest.Load(); digest != nil {
		return *digest
	}
	return ""
}

// Backend returns the backend that evaluates the model; never Auto.
func (m *Model) Backend() Backend { return m.evaluators.backend }

// Head returns "exact", "learned", "trees" or "mixture".
func (m *Model) Head() string { return m.manifest.Settings.Head }

// Columns returns the model's columns in the order of explanations.
func (m *Model) Columns() []string { return columnNames(m.manifest.Columns) }

func columnNames(columns []table.Field) []string {
	list := make([]string, len(columns))
	for i, f := range columns {
		list[i] = f.Name
	}
	return list
}

// Players returns the names that attributions belong to: columns, or groups of columns.
func (m *Model) Players() []string { return names(m.own.players) }

// ReadOptions returns options that read a table as training read its own: the model's columns and the target, with
// their kinds.
func (m *Model) ReadOptions() table.Options {
	kinds := map[string]table.Kind{m.manifest.Target: m.manifest.Scale.Kind}
	if m.manifest.Weight != "" {
		kinds[m.manifest.Weight] = table.Number
	}
	for _, f := range m.manifest.Columns {
		kinds[f.Name] = f.Kind
	}
	return table.Options{
		Kinds: kinds, Readings: m.manifest.readings(), Missing: m.manifest.Missing,
		Keep: func(name string) bool { _, ok := kinds[name]; return ok },
	}
}

func historyColumns() []string { return []string{"member", "phase", "step", "loss", "score"} }

// historyCSV writes the validation scores of each member.
func historyCSV(members [][]train.Point) []byte {
	var text strings.Builder
	w := csv.NewWriter(&text)
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	_ = w.Write(historyColumns()) // a Builder never fails
	for i, points := range members {
		for _, p := range points {
			_ = w.Write([]string{strconv.Itoa(i), p.Phase, strconv.Itoa(p.Step), number(p.Loss), number(p.Score)})
		}
	}
	w.Flush()
	return []byte(text.String())
}

// ExportONNX writes the model as an ONNX graph. Each column of the model is an input, a tensor [n]: float64 with NaN
// for a missing cell, or a string with "" for one. The outputs have the names that psi's server uses: prediction,
// prediction_std, base, attribution_mean and attribution_std [n, outputs, players]. Models of classes also have
// probability [n, outputs]. Attributions are those of mode fast.
func (m *Model) ExportONNX(w io.Writer) error {
	if !m.config.HasWeights() {
		return &Error{Row: -1, Message: "the model contains imported trees, and psi exports only networks that it trained", Remedy: "export it with the program that trained it"}
	}
	config := m.config
	config.Inputs.Groups = networkGroups(m.own.players, m.places)
	units := onnx.Units{
		Unit: m.unit(), Base: m.bases(), Noise: m.own.NoiseVariance(),
		Probability: m.classes(), Link: m.manifest.Scale.Link, NonNegative: m.manifest.Scale.NonNegative, Slope: m.manifest.Calibration.Slope,
	}
	if !m.classes() {
		units.Noise = []float64{m.manifest.Calibration.Noise}
	}
	about, err := m.metadata()
	if err != nil {
		return err
	}
	file := onnx.Model{
		Network: config, Members: m.members, Units: units,
		Encoder: m.manifest.Encoder, Columns: m.places, Places: m.own.places, Missing: m.manifest.Missing,
		Name: "psi", Version: Version(), Metadata: about,
	}
	content, err := file.Bytes()
	if err != nil {
		return fmt.Errorf("export to ONNX: %w", err)
	}
	_, err = w.Write(content)
	return err
}

// metadata returns the metadata of the exported file; lists are JSON.
func (m *Model) metadata() (map[string]string, error) {
	about := map[string]string{
		"model": m.Digest(), "task": string(m.manifest.Task), "target": m.manifest.Target, "head": m.Head(), "scale": string(m.scale()), "units": m.unitWords(),
	}
	for key, list := range map[string]any{"outputs": m.outputNames(), "players": m.Players(), "classes": m.manifest.Classes(), "base": m.bases()} {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		about[key] = string(text)
	}
	return about, nil
}

// unitWords names the units of predictions and attributions.
func (m *Model) unitWords() string {
	switch m.scale() {
	case explain.LogMean:
		return "logs of the mean of " + m.manifest.Target + ", but for prediction and prediction_std, which are in its own units"
	case explain.Log:
		return "logs of " + m.manifest.Target + ", but for prediction and prediction_std, which are in its own units"
	case explain.Logit:
		return "log odds of " + m.outputNames()[0]
	case explain.Share:
		return "probabilities of classes"
	case explain.Score:
		return "scores of classes, which add up to 0"
	}
	return "those of " + m.manifest.Target
}
