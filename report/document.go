// Package report describes a model and its predictions for a table, as a document and as an HTML file.
//
// [Gather] reads the table once. It measures the predictions of all rows, describes the columns, and explains a random
// sample of the rows. The result is a [Report], the document psi.report/v1. [Write] turns it into a single HTML page
// that needs no network and no other file: the viewer, built from web/, with the document inside. [GatherBatch] and
// [WriteBatch] do the same for the results of a batch.
//
// Texts that depend on the numbers, such as verdicts and warnings, are part of the document. The viewer explains how to
// read the pictures.
package report

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Schema identifies the format of the document.
const Schema = "psi.report/v1"

// Report is the document behind the page. What does not apply is nil.
type Report struct {
	Schema string `json:"schema"`
	Cover
	Verdict []string `json:"verdict"` // three sentences: what is predicted and how well, what drives it, what to watch
	Model   Model    `json:"model"`
	Data    Data     `json:"data"`
	Intervals
	Game        Game      `json:"game"` // of all attributions but those of Games
	Scale       Scale     `json:"scale"`
	NonNegative bool      `json:"non_negative,omitempty"` // no training row had a negative target: predictions below 0 are 0
	Output      []string  `json:"outputs"`
	Base        []float64 `json:"base"` // per output

	Players      []Player       `json:"players"`
	Performance  Performance    `json:"performance"`
	Trust        Trust          `json:"trust"`
	Calibration  Calibration    `json:"calibration"`
	Importances  [][]Importance `json:"importances"` // per output, in descending order
	By           *By            `json:"by"`
	Pairs        Pairs          `json:"pairs"`
	Games        *Games         `json:"games"` // nil if the model has only one game
	Columns      []Column       `json:"columns"`
	Associations []Association  `json:"associations"` // the strongest first
	Warnings     []Warning      `json:"warnings"`     // those with the largest effect first
	Rows         Rows           `json:"rows"`
}

// Intervals describes the intervals about attributions: mean ∓ Reach·model_std for epistemic uncertainty, mean ∓ Z·std
// for the variation in the data.
type Intervals struct {
	Z        float64          `json:"z"`        // coverage of ∓ Z standard deviations of a normal distribution
	Interval explain.Interval `json:"interval"` // doubt, spread if model_std is unknown, or none if both are
	Bags     int              `json:"bags"`     // number of bagged networks behind model_std; 0 if it is unknown
	Reach    float64          `json:"reach"`    // half-width in standard deviations
}

func intervalsOf(e *explain.Explanation) Intervals {
	i := Intervals{Z: e.Z, Interval: e.Interval(), Reach: e.Reach()}
	if i.Interval == explain.ByDoubt {
		i.Bags = e.Bags
	}
	return i
}

// Scale is the scale of predictions and attributions.
type Scale = explain.Scale

// Model describes the model of the report.
type Model struct {
	Name           string              `json:"name"` // name of its file
	Digest         string              `json:"digest"`
	Task           psi.Task            `json:"task"`
	Target         string              `json:"target"`
	Classes        []string            `json:"classes"` // nil for a number; of two classes, the positive one is last
	Head           string              `json:"head"`
	Exact          bool                `json:"exact"` // attributions are the model's Shapley values, up to rounding
	Weights        int                 `json:"weights"`
	Weight         string              `json:"weight"` // column of row weights; "" if there is none
	Members        int                 `json:"members"`
	Settings       psi.Settings        `json:"settings"`
	Calibrated     psi.Calibration     `json:"calibration"`
	Recalibrations []psi.Recalibration `json:"recalibrations"` // since the training
	Provenance     psi.Provenance      `json:"provenance"`
	Imported       *psi.Imported       `json:"imported"` // trees of another program; nil if psi trained the model
	Mixed          []Mixed             `json:"mixed"`    // models whose scores are averaged; nil if it is no mixture

	made  made
	trees bool // trees of another program describe the columns
}

// Mixed is a member of a mixture.
type Mixed struct {
	Share float64 `json:"share"`
	What  string  `json:"what"` // description for readers
}

// Data describes the rows: how many were read and explained.
type Data struct {
	Name      string `json:"name"`
	Rows      int    `json:"rows"`      // rows read, predicted and described
	Labelled  int    `json:"labelled"`  // rows with a known target
	Explained int    `json:"explained"` // rows drawn at random for importances
	Carried   int    `json:"carried"`   // of these, rows that the page shows individually
	Paired    int    `json:"paired"`    // of these, rows for interactions
	Seed      uint64 `json:"seed"`      // of the random sample
}

// Player is a column, or a group of columns, that has attributions.
type Player struct {
	Name    string `json:"name"`
	Columns []int  `json:"columns"` // indices into Report.Columns
}

// Metric is a measure with a description; a value is nil if it is not defined.
type Metric struct {
	Name          string   `json:"name"`
	Meaning       string   `json:"meaning"`
	InTargetUnits bool     `json:"in_target_units"`
	Value         *float64 `json:"value"`      // on the rows of the table
	Validation    *float64 `json:"validation"` // on the validation rows of the training
}

// Performance describes how well the model predicts.
type Performance struct {
	Metrics    []Metric       `json:"metrics"`
	Aside      bool           `json:"aside"`       // the first page shows the validation rows of the training, or the rows of the import, instead of the table
	Baselines  []Plain        `json:"baselines"`   // on the validation rows; empty for a model of an older version
	Plain      *float64       `json:"plain"`       // result of the simplest guess: share of the most frequent class, or standard deviation of a number
	PlainGuess string         `json:"plain_guess"` // description of that guess
	Histogram  []HistogramBar `json:"histogram"`   // two classes: probabilities of all rows
	Decisions  *Decisions     `json:"decisions"`   // two classes, if targets are known
	Confusion  *Confusion     `json:"confusion"`   // more than two classes
}

// Plain is a baseline: a simple model fitted on the same training rows.
type Plain struct {
	Name   string     `json:"name"`
	Label  string     `json:"label"`  // name for people
	Values []*float64 `json:"values"` // in the order of Performance.Metrics; nil where not defined
}

// Decisions holds the confusion matrices of classifying rows as positive from a probability upwards.
type Decisions struct {
	At    []eval.Decision `json:"at"`    // thresholds in ascending order
	First int             `json:"first"` // index of the one shown first
}

// HistogramBar counts rows whose probability lies in a range.
type HistogramBar struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Negative int     `json:"negative"`
	Positive int     `json:"positive"`
	Unknown  int     `json:"unknown"`
}

// Confusion counts rows by true and predicted class.
type Confusion struct {
	Classes []string `json:"classes"`
	Counts  [][]int  `json:"counts"` // [true class][predicted class]
}

// Importance summarises the attributions of a player over the explained rows.
type Importance struct {
	Player   int     `json:"player"`
	Mean     float64 `json:"mean"` // mean |attribution|
	Low      float64 `json:"low"`  // Low and High contain the middle 80 % of |attribution|
	High     float64 `json:"high"`
	Spread   float64 `json:"spread"` // its share of Σ_d std_d² over all players; 0 if unknown
	Observed int     `json:"observed"`
}

// By compares importances between groups of rows.
type By struct {
	Column  string   `json:"column"`
	Cohorts []Cohort `json:"cohorts"`
	Left    int      `json:"left"` // rows in none of them
}

// Cohort is the set of rows with one value of a column.
type Cohort struct {
	Name string      `json:"name"`
	Rows int         `json:"rows"`
	Mean [][]float64 `json:"mean"` // [outputs][players] mean |attribution|
}

// Pairs holds the pairwise interactions of players.
type Pairs struct {
	Absent  string   `json:"absent"`  // why there are none; "" if there are
	Players []int    `json:"players"` // players of the pairs, in descending order of importance
	Outputs [][]Pair `json:"outputs"` // per output, the strongest first
	Rows    []int    `json:"rows"`    // indices among the carried rows, for Pair.Values
}

// Pair is the interaction of two players.
type Pair struct {
	A      int     `json:"a"`
	B      int     `json:"b"`
	Size   float64 `json:"size"`   // mean |interaction|
	Mean   float64 `json:"mean"`   // mean interaction: above 0, the two are worth more together
	Values Floats  `json:"values"` // per row, for the strongest pairs
}

// Column describes the cells of a column.
type Column struct {
	Name     string     `json:"name"`
	Kind     table.Kind `json:"kind"`
	Reason   string     `json:"reason"` // why it has that kind
	Missing  int        `json:"missing"`
	GapLevel bool       `json:"gap_level"` // a missing cell is a value

	// For numbers and times, in seconds since 1970.
	Least    *float64 `json:"least"`
	Greatest *float64 `json:"greatest"`
	Mean     *float64 `json:"mean"`
	Median   *float64 `json:"median"`  // of the explained rows
	Bars     []Bar    `json:"bars"`    // of the explained rows
	Outside  int      `json:"outside"` // cells beyond the range in training

	// For categories and booleans.
	Labels  []Label `json:"labels"`  // the most frequent first, at most 12
	Levels  int     `json:"levels"`  // number of labels
	Rare    int     `json:"rare"`    // labels with fewer than ten rows
	InRare  int     `json:"in_rare"` // rows with such labels
	Unknown int     `json:"unknown"` // cells whose label did not occur in training
}

// Bar counts rows in a range.
type Bar struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Rows int     `json:"rows"`
}

// Label is a value of a category.
type Label struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// Association measures how strongly two columns are associated, from 0 to 1, or from −1 for two numbers.
type Association struct {
	A       int     `json:"a"` // index into Report.Columns
	B       int     `json:"b"`
	Value   float64 `json:"value"`
	Measure string  `json:"measure"`
}

// Warning is a caveat about the model as a whole, or about columns.
type Warning struct {
	Kind    string  `json:"kind"`
	Columns []int   `json:"columns"` // indices into Report.Columns; empty if it is about the model as a whole
	Words   string  `json:"words"`
	Change  float64 `json:"change"` // share of all |attributions| that it affects; 1 if it is about the model as a whole
}

// Cover holds title, author and date of a report.
type Cover struct {
	Title  string `json:"title"`
	Author string `json:"author"` // "" if none is named
	Date   string `json:"date"`   // date in the form 2026-11-17; "" if none is given
}

// titled returns the cover with the given title if it has none.
func (c Cover) titled(title string) Cover {
	c.Title = cmp.Or(c.Title, title)
	return c
}

// Floats are encoded as base64 of little-endian single-precision numbers: a third of the size of decimal digits, with
// sufficient precision. NaN stays NaN.
type Floats []float64

// MarshalText encodes the numbers.
func (f Floats) MarshalText() ([]byte, error) {
	packed := make([]byte, 4*len(f))
	for i, v := range f {
		binary.LittleEndian.PutUint32(packed[4*i:], math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Attributions are Floats without their lowest byte: four characters each, with a relative error of at most 2e-5.
type Attributions []float64

// MarshalText encodes the numbers.
func (a Attributions) MarshalText() ([]byte, error) {
	packed := make([]byte, 3*len(a))
	for i, v := range a {
		bits := math.Float32bits(float32(v)) + 1<<7 // rounds; overflow to infinity does not occur in attributions
		packed[3*i], packed[3*i+1], packed[3*i+2] = byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Bits are encoded as base64, eight to a byte, the lowest first.
type Bits []bool

// MarshalText encodes the bits.
func (b Bits) MarshalText() ([]byte, error) {
	packed := make([]byte, (len(b)+7)/8)
	for i, set := range b {
		if set {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Digits are numbers with at most nine digits, null for NaN, which is readable and short.
type Digits []float64

// MarshalJSON writes a list.
func (d Digits) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range d {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			text = append(text, "null"...)
			continue
		}
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
		if err != nil {
			return nil, err
		}
		format := byte('f')
		if size := math.Abs(short); size != 0 && (size < 1e-6 || size >= 1e15) {
			format = 'e'
		}
		text = strconv.AppendFloat(text, short, format, -1, 64)
	}
	return append(text, ']'), nil
}

// known returns v, or nil if v is NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
