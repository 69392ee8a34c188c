// Package psi trains a model on a table and computes, in the forward pass that predicts, the Shapley attribution of every
// column. Each attribution is a distribution: a mean and a standard deviation.
//
//	data, err := table.Read(ctx, "insurance.csv", table.Options{})
//	model, err := psi.Train(ctx, data.Source(), psi.Config{Target: "charges"})
//	exp, err := model.Explain(ctx, data.Source(), psi.ExplainOptions{})
//	err = model.Save("model.psi")
//	model, err = psi.Open("model.psi")
//
// Train returns a calibrated and audited [Model] of a number or of classes. [Model.Predict] returns means, standard deviations
// and probabilities. [Model.Explain] adds attributions, their intervals and their epistemic uncertainty. Base and attributions
// add up to the prediction. [Model.Predictions] and [Model.Explanations] stream sources of any size.
//
// A head is the part of the network that computes attributions. With the exact head, the default, attributions are the Shapley
// values of the model by construction. With the learned head they are approximations. [Model.Audit] measures the error of both.
//
// A player is a column, or a group of columns that has a joint attribution. Cells may be missing in training and in prediction.
// A missing cell is an absent player: its attribution is 0, and the prediction is marginalised over it.
//
// A Model is immutable and safe for concurrent use. Call [Model.Close] when it is no longer used. A [Source] is read once by one
// goroutine; no function of this package closes it. The same configuration, table, backend and instruction set train the same
// model.
//
// The directory examples has a short program for each task: train, explain, stream, report and serve.
package psi

import (
	"time"

	"github.com/psi-shapley/psi/internal/encode"
)

// Config configures Train. Only Target is required; other zero values select the measured defaults.
type Config struct {
	Target string // column to predict
	Task   Task   // "" infers it: text, booleans and numbers with two values are classes
	// TargetScale is the scale on which a number is learned. "identity" is its own units. "log-mean" learns the log of
	// the mean by gamma deviance. "log" learns the mean of the log and predicts the median. "auto" (also "") tries
	// identity and log-mean if all targets are positive and strongly skewed. The two log scales need positive targets.
	// Predictions and metrics are always in the target's own units.
	TargetScale string

	Positive string   // of two classes, the one whose probability is predicted; "" is the last in sorted order
	Drop     []string // columns not used as features
	Keep     []string // columns used as features even if they carry no information or seem to identify rows
	Weight   string   // column of row weights; not used as a feature
	Groups   []Group  // groups of columns with a joint attribution

	// LeaveOutIdentifiers leaves out columns that seem to identify rows: text that differs in every row, and integers
	// that count the rows. It also leaves out free text: several words that differ in nearly every row. If it is false,
	// Progress reports these columns in a note.
	LeaveOutIdentifiers bool

	// MissingAsLevel lists the columns in which a missing cell is a value with an attribution of its own. Use it where
	// the gap itself is informative.
	MissingAsLevel []string

	// Missing lists the strings that the reader of the rows treated as missing, besides the default ones. The model
	// stores them for later tables.
	Missing []string

	// Validation is a table that selects the best weights. If it is nil, Train holds out the share ValidationFraction
	// of the rows; 0 means 0.1. If ValidationBy is not empty, it names a column, such as a patient or a customer, and
	// rows with equal values stay on one side. That column is not used as a feature.
	Validation         Source
	ValidationFraction float64
	ValidationBy       string

	// OrderBy names a column of numbers or times that orders the rows; the newest ones become validation rows. These
	// are the newest ValidationFraction or, if ValidationAfter is not empty, all rows after that value, written as in
	// the table. A date without a time is midnight UTC. Rows with equal values stay on one side, and rows without a
	// value are training rows. The column is a feature unless Drop names it. OrderBy cannot be combined with Validation
	// or ValidationBy.
	OrderBy         string
	ValidationAfter string

	Head   string          // "exact" (also "") or "learned"
	Effort Effort          // "" means Normal
	Change func(*Settings) // modifies the default settings; may be nil
	Seed   uint64          // seed of everything random

	// ReferenceRows is the number of training rows, at most 512, that the model keeps for Questions. Anyone who has the
	// model file can read these rows, so the default is 0.
	ReferenceRows int

	Backend Backend // trains the model; "" means Auto

	// TimeBudget limits the duration of Train, including reading and audit; 0 means no limit. Train skips steps that do
	// not fit, and leaves out bags for which no time is left.
	TimeBudget time.Duration
	// StopEarly, if not nil, ends the training when the channel is closed. Train then returns a model of what was
	// learned so far. It leaves out unfinished networks after the first.
	StopEarly <-chan struct{}
	// Checkpoint, if not empty, is the path of a file with the state of the training. The caller removes it once the
	// model is saved. With Resume, Train continues from the file if it exists.
	Checkpoint string
	Resume     bool
	SaveEvery  time.Duration // interval between checkpoints; 0 means 2 s
	// Scratch is a directory for rows that do not fit into memory; "" means the system's temporary directory.
	Scratch string

	Progress func(Progress) // called often; may be nil

	fold *encode.Labels // cross-validation: the target's values in all folds; else nil
}

// Progress reports the state of a running Train or CrossValidate.
type Progress struct {
	Fold, Folds int           // current fold, from 1, and number of folds; 0 in Train
	Stage       string        // "read", "scale", "fit", "polish", "refit", "absent", "spread", "doubt", "audit"
	Member      int           // current network, from 0
	Step, Steps int           // of the stage; 0 if it has no steps
	Done        float64       // finished share of the training, 0 to 1
	Remaining   time.Duration // estimated time to the end; 0 while unknown
	Error       float64       // best error on the validation rows so far; NaN while unknown
	Metric      string        // metric of Error: "rmse", in the target's units, "rmse of the log" or "log loss"
	Note        string        // message for people, sent once
	Warning     bool          // Note is about columns that are or should be left out, or about duplicate rows
}
