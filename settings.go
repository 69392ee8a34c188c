package psi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/objective"
	"github.com/psi-shapley/psi/internal/train"
)

// Effort sets how much computation a training spends. docs/adr/0022 lists what each level changes.
type Effort string

// Levels of effort.
const (
	Fast   Effort = "fast"   // processes a third as many rows as Normal
	Normal Effort = "normal" // the measured default; also ""
	Best   Effort = "best"   // averages two networks that train twice as long, or four of Normal for classes of few rows
)

// Efforts returns the levels in ascending order.
func Efforts() []Effort { return []Effort{Fast, Normal, Best} }

// Validate returns an error if the level is unknown.
func (e Effort) Validate() error {
	if e != "" && !slices.Contains(Efforts(), e) {
		return wrongSetting(fmt.Sprintf("there is no effort %q", string(e)), fmt.Sprintf("choose %s, %s or %s", Fast, Normal, Best))
	}
	return nil
}

// shorten changes settings to effort fast: two thirds of the steps, with half the batch size. Fewer steps with full
// batches have a larger error.
func (s *Settings) shorten() {
	for _, steps := range []*int{&s.Steps, &s.PolishSteps, &s.RefitSteps, &s.AbsentSteps, &s.SpreadSteps} {
		*steps = (2**steps + 2) / 3
	}
	s.Batch /= 2
}

// lengthen changes settings to effort best: two networks that train twice as long. Classes of few rows have four
// networks instead, because longer training makes them too sure.
func (s *Settings) lengthen(size Size) {
	if size.Classes && !size.Large() {
		s.Members = 4
		return
	}
	s.Members = 2
	s.Steps *= 2
}

// effort returns the level as the manifest records it.
func (t *training) effort() string {
	if t.Effort == Normal {
		return ""
	}
	return string(t.Effort)
}

// defaults returns the settings of the effort for a table of the given size.
func (t *training) defaults(size Size) Settings {
	s := DefaultSettings(t.Head, size)
	switch t.Effort {
	case Fast:
		s.shorten()
	case Best:
		s.lengthen(size)
	}
	return s
}

// Settings holds the sizes of the network and the hyperparameters of its training. DefaultSettings returns the
// defaults, which depend on the head and on the size of the table. ListSettings describes each setting.
type Settings struct {
	Head     string `json:"head" doc:"exact: attributions are the model's Shapley values by construction; learned: the paper's, which come near them" measured:"docs/adr/0002"`
	Form     string `json:"form" doc:"exact head: product, or tensor-train" measured:"docs/adr/0002"`
	Channels int    `json:"channels" doc:"exact head: products, or trains, that are added up" measured:"docs/adr/0002"`
	Pairs    int    `json:"pairs" doc:"product form: ways in which columns are paired; each gets an equal share of the channels, a multiple of 16; 0 for none" measured:"docs/adr/0023"`
	PairRank int    `json:"pair_rank" doc:"product form: terms of what two columns say together" measured:"docs/adr/0023"`
	Learners int    `json:"learners" doc:"product form: equal parts of the channels that each learn the target alone; the prediction is their mean" measured:"docs/adr/0023"`
	Rank     int    `json:"rank" doc:"tensor-train: rows of a player's matrix" measured:"docs/adr/0002"`
	Net      string `json:"net" doc:"learned head: menn, or ffnn (the paper's comparison: numbers as they are)" measured:"docs/adr/0002"`
	Width    int    `json:"width" doc:"learned head: width of the trunk" measured:"docs/adr/0002"`
	Layers   int    `json:"layers" doc:"learned head: layers of the trunk" measured:"docs/adr/0002"`

	Activation string `json:"activation,omitempty" doc:"learned head: relu, snake or elu in all of its layers, as the paper searched; empty for relu in the columns' networks and silu in the trunk" measured:"docs/adr/0046"`
	Norm       string `json:"norm,omitempty" doc:"learned head: layer normalises the layers of the trunk; empty for none" measured:"docs/adr/0046"`

	Members int `json:"members" doc:"networks that are averaged" measured:"docs/adr/0010"`

	Bags int `json:"bags" doc:"exact head: networks that learn from other samples of the rows, to tell the doubt of attributions; 0 for none" measured:"docs/adr/0026"`

	Bins        int `json:"bins" doc:"piecewise-linear bins of a numeric column" measured:"docs/adr/0004"`
	Frequencies int `json:"frequencies" doc:"learned periodic features of a numeric column" measured:"docs/adr/0004"`
	Embedding   int `json:"embedding" doc:"width of a column's embedding" measured:"docs/adr/0002"`
	Hidden      int `json:"hidden" doc:"hidden layers of a column's network, beyond the first" measured:"docs/adr/0002"`

	Steps          int     `json:"steps" doc:"training steps of the mean" measured:"docs/adr/0010"`
	Batch          int     `json:"batch" doc:"rows per step" measured:"docs/adr/0010"`
	Rate           float64 `json:"lr" doc:"highest learning rate" measured:"docs/adr/0010"`
	Decay          float64 `json:"decay" doc:"weight decay" measured:"docs/adr/0010"`
	Clip           float64 `json:"clip" doc:"largest norm of a gradient" measured:"docs/adr/0005"`
	Average        float64 `json:"average" doc:"decay of the moving average of the weights" measured:"docs/adr/0005"`
	Dropout        float64 `json:"dropout" doc:"share of the embeddings' elements that a step of the mean leaves out" measured:"docs/adr/0010"`
	Sampler        string  `json:"sampler" doc:"of the masked copies: kernel, uniform, bernoulli or two-thirds (keeps a column two times in three)" measured:"docs/adr/0005"`
	MaskedExponent float64 `json:"masked_exponent" doc:"γ: how far the noise of masked copies lowers their weight" measured:"docs/adr/0005"`

	Likelihood string `json:"likelihood" doc:"two classes: marginal, or bound (the paper's, whose scale drifts); learned head, number: joint trains mean, deviations and base at once, as the paper does" measured:"docs/adr/0011"`

	Estimator   string  `json:"estimator" doc:"learned head: of the distance from Shapley values: ls, product, stop or abs" measured:"docs/adr/0003"`
	Beta        float64 `json:"beta" doc:"learned head: weight of that distance" measured:"docs/adr/0003"`
	PolishSteps int     `json:"polish_steps" doc:"learned head: steps without labels, for fidelity" measured:"docs/adr/0003"`
	PolishRate  float64 `json:"polish_lr" doc:"learned head: highest learning rate of these" measured:"docs/adr/0003"`

	RefitSteps int     `json:"refit_steps" doc:"exact head: steps of the mean with rows weighed by their precision" measured:"docs/adr/0006"`
	RefitRate  float64 `json:"refit_lr" doc:"exact head: highest learning rate of these" measured:"docs/adr/0006"`

	AbsentSteps int `json:"absent_steps" doc:"exact head: steps of what stands in for absent columns, no more than steps" measured:"docs/adr/0031"`

	SpreadSteps   int     `json:"spread_steps" doc:"steps of the standard deviations" measured:"docs/adr/0006"`
	SpreadRate    float64 `json:"spread_lr" doc:"highest learning rate of these" measured:"docs/adr/0006"`
	SpreadPenalty float64 `json:"spread_penalty" doc:"λ, weight of the penalty on the columns' variances σ_d²: it keeps noise that no column explains in σ_0²" measured:"docs/adr/0006"`
	SigmaWidth    int     `json:"sigma_width" doc:"hidden units of a column's σ network" measured:"docs/adr/0006"`
	HiddenWidth   int     `json:"hidden_width" doc:"hidden units of the network for what is missing" measured:"docs/adr/0006"`
}

// Setting describes one of the Settings.
type Setting struct {
	Key      string
	Default  string // for a number, and a table of about 20,000 rows and 20 columns
	Meaning  string
	Measured string // path of the document with the measurement behind the default
}

// Size is the size of a table, on which default settings depend.
type Size = form.Size

// TypicalSize returns the size of the table that Setting.Default applies to.
func TypicalSize() Size { return Size{Rows: 20_000, Columns: 20} }

// ListSettings describes all settings in a fixed order.
func ListSettings() []Setting {
	defaults := reflect.ValueOf(DefaultSettings(string(form.Exact), TypicalSize()))
	list := make([]Setting, defaults.NumField())
	for i := range list {
		f := defaults.Type().Field(i)
		list[i] = Setting{
			Key: keyOf(f), Default: fmt.Sprint(defaults.Field(i)),
			Meaning: f.Tag.Get("doc"), Measured: f.Tag.Get("measured"),
		}
	}
	return list
}

// keyOf returns the key of a setting.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return key
}

// Set changes the setting with the given key. It returns an error if the key is unknown or the value is invalid.
func (s *Settings) Set(key, value string) error {
	all := reflect.ValueOf(s).Elem()
	for i := range all.NumField() {
		if keyOf(all.Type().Field(i)) != key {
			continue
		}
		switch field := all.Field(i); field.Kind() {
		case reflect.String:
			field.SetString(value)
		case reflect.Int:
			n, err := strconv.Atoi(value)
			if err != nil {
				return wrongSetting(fmt.Sprintf("setting %s: %q is not a whole number", key, value), "")
			}
			field.SetInt(int64(n))
		default:
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return wrongSetting(fmt.Sprintf("setting %s: %q is not a number", key, value), "")
			}
			field.SetFloat(x)
		}
		return nil
	}
	return wrongSetting(fmt.Sprintf("there is no setting %q", key), "psi.ListSettings lists them"+nearest(key))
}

// nearest suggests a key that begins alike.
func nearest(key string) string {
	for _, s := range ListSettings() {
		if len(key) > 2 && strings.HasPrefix(s.Key, key[:3]) {
			return fmt.Sprintf(" (%s?)", s.Key)
		}
	}
	return ""
}

// DefaultSettings returns the measured defaults for a head and the size of a table.
func DefaultSettings(head string, size Size) Settings {
	h := form.Head(head)
	n, c := form.Default(form.Inputs{Numeric: size.Columns}, h, size), train.Default(h, size)
	s := Settings{
		Head: head, Form: string(n.Form), Channels: n.Channels, Pairs: len(n.Pairs), PairRank: n.PairRank, Learners: n.LearnerCount(), Rank: n.Rank, Net: string(n.Net), Width: n.Width, Layers: n.Layers, Members: 1,
		Bins: n.Inputs.Bins, Frequencies: n.Frequencies, Embedding: n.Embedding, Hidden: n.Hidden,
		Steps: c.Steps, Batch: c.Batch, Rate: c.Rate, Decay: c.Decay, Clip: c.Clip, Average: c.Average, Dropout: c.Dropout,
		Sampler: string(c.Sampler), MaskedExponent: c.MaskedExponent, Likelihood: string(c.Likelihood),
		Estimator: string(c.Estimator), Beta: c.Beta, PolishSteps: c.PolishSteps, PolishRate: c.PolishRate,
		RefitSteps: c.RefitSteps, RefitRate: c.RefitRate,
		AbsentSteps: c.AbsentSteps,
		SpreadSteps: c.SpreadSteps, SpreadRate: c.SpreadRate, SpreadPenalty: c.SpreadPenalty,
		SigmaWidth: n.SigmaWidth, HiddenWidth: n.HiddenWidth,
	}
	if n.HasBags() {
		s.Bags = defaultBags
	}
	return s
}

// maxSettings limits the settings, because model files are untrusted and users make typing errors.
var maxSettings = map[string]int{
	"channels": 1 << 14, "pairs": 1 << 10, "pair_rank": 16, "learners": 64, "rank": 64, "width": 1 << 13, "layers": 16, "members": 64, "bags": 64, "bins": 4096,
	"frequencies": 1024, "embedding": 1024, "hidden": 8, "sigma_width": 1024, "hidden_width": 4096,
	"steps": 1 << 24, "batch": 1 << 16, "polish_steps": 1 << 24, "refit_steps": 1 << 24, "absent_steps": 1 << 24, "spread_steps": 1 << 24,
}

// Validate returns an error if a setting is out of its range or contradicts another.
func (s Settings) Validate() error {
	all := reflect.ValueOf(s)
	for i := range all.NumField() {
		key := keyOf(all.Type().Field(i))
		if limit, ok := maxSettings[key]; ok && all.Field(i).Int() > int64(limit) {
			return wrongSetting(fmt.Sprintf("setting %s is %d: at most %d", key, all.Field(i).Int(), limit), "")
		}
	}
	if head := form.Head(s.Head); head == form.Trees || head == form.Mixture {
		return s.validateUntrained()
	}
	if s.Members < 1 {
		return wrongSetting(fmt.Sprintf("setting members is %d: at least 1", s.Members), "")
	}
	if s.Bags < 0 || s.Bags == 1 {
		return wrongSetting(fmt.Sprintf("setting bags is %d", s.Bags), "set it to 0, for no uncertainty of attributions, or to at least 2")
	}
	if s.Bins < 1 {
		return wrongSetting(fmt.Sprintf("setting bins is %d: at least 1", s.Bins), "")
	}
	if err := s.network(form.Inputs{Numeric: 1, Bins: s.Bins}).Validate(); err != nil {
		return wrongSetting("settings: "+err.Error(), "")
	}
	if err := s.recipe(0).Validate(); err != nil {
		return wrongSetting("settings: "+err.Error(), "")
	}
	return nil
}

// validateUntrained checks the settings of a model without a training of its own: all but the bins are 0.
func (s Settings) validateUntrained() error {
	if s.Bins < 1 || s != (Settings{Head: s.Head, Bins: s.Bins}) {
		return wrongSetting(fmt.Sprintf("the head %s has settings of a training", s.Head), "")
	}
	return nil
}

// network returns the network of the settings for a table's columns and a numeric target.
func (s Settings) network(in form.Inputs) form.Config {
	c := form.Config{
		Inputs: in, Outputs: 1, Head: form.Head(s.Head), Form: form.Form(s.Form),
		Frequencies: s.Frequencies, Embedding: s.Embedding, Hidden: s.Hidden,
		Channels: s.Channels, Rank: s.Rank, Net: form.Net(s.Net), Width: s.Width, Layers: s.Layers,
		Activation: form.Activation(s.Activation), Norm: form.Norm(s.Norm), TrainsBase: s.Likelihood == string(train.Joint),
		SigmaWidth: s.SigmaWidth, HiddenWidth: s.HiddenWidth,
	}
	if c.Head == form.Exact && c.Form == form.Product {
		c.PairUp(s.Pairs, s.PairRank, s.Learners)
	}
	return c
}

// recipe returns the training configuration of the settings.
func (s Settings) recipe(seed uint64) train.Config {
	return train.Config{
		Seed: seed, Steps: s.Steps, Batch: s.Batch, Rate: s.Rate, Decay: s.Decay, Clip: s.Clip, Average: s.Average, Dropout: s.Dropout,
		Sampler: train.Sampler(s.Sampler), MaskedExponent: s.MaskedExponent, Likelihood: train.Likelihood(s.Likelihood),
		Estimator: objective.Estimator(s.Estimator), Beta: s.Beta, PolishSteps: s.PolishSteps, PolishRate: s.PolishRate,
		RefitSteps: s.RefitSteps, RefitRate: s.RefitRate,
		AbsentSteps: s.AbsentSteps,
		SpreadSteps: s.SpreadSteps, SpreadRate: s.SpreadRate, SpreadPenalty: s.SpreadPenalty,
	}
}
