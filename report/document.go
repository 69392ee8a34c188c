package report

import (
	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Schema names the form of the document.
const Schema = "psi.report/v1"

// Report is all that a page shows. What does not apply is nil.
type Report struct {
	Schema string `json:"schema"`
	Cover
	Verdict []string `json:"verdict"` // three sentences: what it predicts and how well, what drives it, what to watch
	Model   Model    `json:"model"`
	Data    Data     `json:"data"`
	Intervals
	Scale       Scale     `json:"scale"`
	NonNegative bool      `json:"non_negative,omitempty"` // no training row had a negative target: predictions below 0 are 0
	Output      []string  `json:"outputs"`
	Base        []float64 `json:"base"` // of each output

	Players      []Player       `json:"players"`
	Performance  Performance    `json:"performance"`
	Trust        Trust          `json:"trust"`
	Calibration  Calibration    `json:"calibration"`
	Importances  [][]Importance `json:"importances"` // of each output, the greatest first
	By           *By            `json:"by"`
	Pairs        Pairs          `json:"pairs"`
	Columns      []Column       `json:"columns"`
	Associations []Association  `json:"associations"` // the strongest first
	Warnings     []Warning      `json:"warnings"`     // those that change most first
	Rows         Rows           `json:"rows"`
}

// Intervals says what the intervals about attributions are made of. They are mean ∓ Reach·model_std by doubt, and mean ∓ Z·std by spread.
type Intervals struct {
	Z        float64          `json:"z"`        // their probability is that of a normal distribution within ∓ Z standard deviations
	Interval explain.Interval `json:"interval"` // doubt, or spread where doubt is not known
	Bags     int              `json:"bags"`     // trainings on other samples of rows that tell the doubt; 0 if it is not known
	Reach    float64          `json:"reach"`    // standard deviations on either side
}

func intervalsOf(e *explain.Explanation) Intervals {
	i := Intervals{Z: e.Z, Interval: e.Interval(), Reach: e.Reach()}
	if i.Interval == explain.ByDoubt {
		i.Bags = e.Bags
	}
	return i
}

// Scale is what predictions and attributions are measured on.
type Scale = explain.Scale

// Model is the model that is reported on.
type Model struct {
	Name       string              `json:"name"` // of its file
	Digest     string              `json:"digest"`
	Task       psi.Task            `json:"task"`
	Target     string              `json:"target"`
	Classes    []string            `json:"classes"` // nil for a number; the positive one of two is the last
	Head       string              `json:"head"`
	Exact      bool                `json:"exact"` // attributions are the model's Shapley values, to rounding
	Weights    int                 `json:"weights"`
	Weight     string              `json:"weight"` // column that rows count by; "" if there is none
	Members    int                 `json:"members"`
	Settings   psi.Settings        `json:"settings"`
	Calibrated psi.Calibration     `json:"calibration"`
	Anew       []psi.Recalibration `json:"recalibrations"` // since the training
	Provenance psi.Provenance      `json:"provenance"`
}

// Data says which rows were read, and how many of them for what.
type Data struct {
	Name      string `json:"name"`
	Rows      int    `json:"rows"`      // read, predicted and described
	Labelled  int    `json:"labelled"`  // whose target is known
	Explained int    `json:"explained"` // drawn at random for importances
	Carried   int    `json:"carried"`   // of these, that the page shows one by one
	Paired    int    `json:"paired"`    // of these, for interactions
	Seed      uint64 `json:"seed"`      // of the drawing
}

// Player is a column, or a group of them, that has attributions.
type Player struct {
	Name    string `json:"name"`
	Columns []int  `json:"columns"` // places in Report.Columns
}

// Metric is a measure, what it tells, and its value; nil if it is not defined.
type Metric struct {
	Name          string   `json:"name"`
	Meaning       string   `json:"meaning"`
	InTargetUnits bool     `json:"in_target_units"`
	Value         *float64 `json:"value"`      // on the rows of the table
	Validation    *float64 `json:"validation"` // on rows kept aside from training
}

// Performance is how well the model predicts.
type Performance struct {
	Metrics    []Metric       `json:"metrics"`
	Aside      bool           `json:"aside"`       // the first page tells of the rows kept aside from training, not of the table's
	Baselines  []Plain        `json:"baselines"`   // on the rows kept aside from training; empty for a model of an older version
	Plain      *float64       `json:"plain"`       // what the plainest guess reaches: share of the commonest class, or standard deviation of a number
	PlainGuess string         `json:"plain_guess"` // that guess
	Histogram  []HistogramBar `json:"histogram"`   // of two classes: probabilities of all rows
	Decisions  *Decisions     `json:"decisions"`   // of two classes, if it is known what came true
	Confusion  *Confusion     `json:"confusion"`   // of more than two
}

// Plain is a baseline, a plain model that was fitted beside the model on the same rows.
type Plain struct {
	Name   string     `json:"name"`
	Label  string     `json:"label"`  // what people call it
	Values []*float64 `json:"values"` // of Performance.Metrics, in their order; nil where one is not defined
}

// Decisions are what becomes of calling rows positive from a probability up.
type Decisions struct {
	At    []eval.Decision `json:"at"`    // thresholds, the lowest first
	First int             `json:"first"` // place of the one that is shown first
}

// HistogramBar is rows whose probability lies in a range.
type HistogramBar struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Negative int     `json:"negative"`
	Positive int     `json:"positive"`
	Unknown  int     `json:"unknown"`
}

// Confusion counts rows by their class and the one that was thought likeliest.
type Confusion struct {
	Classes []string `json:"classes"`
	Counts  [][]int  `json:"counts"` // [true class][predicted class]
}

// Importance is what a player does over the rows explained.
type Importance struct {
	Player   int     `json:"player"`
	Mean     float64 `json:"mean"` // size of its attribution
	Low      float64 `json:"low"`  // that, with High, holds the middle 80 % of sizes
	High     float64 `json:"high"`
	Spread   float64 `json:"spread"` // its share of Σ_d std_d² over all players
	Observed int     `json:"observed"`
}

// By compares importances between groups of rows.
type By struct {
	Column  string   `json:"column"`
	Cohorts []Cohort `json:"cohorts"`
	Left    int      `json:"left"` // rows in none of them
}

// Cohort is the rows with one value of a column.
type Cohort struct {
	Name string      `json:"name"`
	Rows int         `json:"rows"`
	Mean [][]float64 `json:"mean"` // [outputs][players] size of attributions
}

// Pairs is how much players act together.
type Pairs struct {
	Absent  string   `json:"absent"`  // why there are none; "" if there are
	Players []int    `json:"players"` // that pairs are of, the most important first
	Outputs [][]Pair `json:"outputs"` // of each output, the strongest first
	Rows    []int    `json:"rows"`    // places among the rows carried, for Pair.Values
}

// Pair is the interaction of two players.
type Pair struct {
	A      int     `json:"a"`
	B      int     `json:"b"`
	Size   float64 `json:"size"`   // mean |interaction|
	Mean   float64 `json:"mean"`   // interaction: above 0 the two are worth more together
	Values Floats  `json:"values"` // row by row, of the strongest pairs
}

// Column is what was in an input.
type Column struct {
	Name     string     `json:"name"`
	Kind     table.Kind `json:"kind"`
	Reason   string     `json:"reason"` // why it is of that kind
	Missing  int        `json:"missing"`
	GapLevel bool       `json:"gap_level"` // a missing cell is a value

	// Of numbers and times: seconds since 1970.
	Least    *float64 `json:"least"`
	Greatest *float64 `json:"greatest"`
	Mean     *float64 `json:"mean"`
	Median   *float64 `json:"median"`  // of the rows explained
	Bars     []Bar    `json:"bars"`    // of the rows explained
	Outside  int      `json:"outside"` // cells beyond what training saw

	// Of categories and booleans.
	Labels  []Label `json:"labels"`  // the commonest first, at most 12
	Levels  int     `json:"levels"`  // how many there are
	Rare    int     `json:"rare"`    // of them in fewer than ten rows
	InRare  int     `json:"in_rare"` // rows that have those
	Unknown int     `json:"unknown"` // cells whose label training did not know
}

// Bar is the rows in a range.
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

// Association is how much two columns tell of each other, from 0 to 1, or from −1 of two numbers.
type Association struct {
	A       int     `json:"a"` // places in Report.Columns
	B       int     `json:"b"`
	Value   float64 `json:"value"`
	Measure string  `json:"measure"`
}

// Warning is what a reader should know of the model as a whole, of a column, or of some.
type Warning struct {
	Kind    string  `json:"kind"`
	Columns []int   `json:"columns"` // places in Report.Columns; none if it is about the model as a whole
	Words   string  `json:"words"`
	Change  float64 `json:"change"` // share of the sizes of all attributions that it bears on; 1 if it is about the model as a whole
}
