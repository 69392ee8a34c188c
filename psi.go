// Package psi trains a model on a table and, in the same forward pass that predicts,
// gives every column's Shapley attribution as a distribution: a mean and a standard
// deviation.
//
//	model, err := psi.Train(ctx, rows, psi.Config{Target: "charges"})
//	exp, err := model.Explain(ctx, rows, psi.ExplainOptions{})
//	err = model.Save("model.psi")
//	model, err = psi.Open("model.psi")
//
// With the exact head, the default, attributions are the Shapley values of the model by
// construction; with the learned head they come near them, and the model's Audit says
// how near. Cells may be missing, in training and after it: a missing column is a player
// who is absent.
package psi

import (
	"time"

	"github.com/psi-shapley/psi/internal/encode"
)

// Version is the version of this program, as model files record it.
const Version = "0.1.0"

// Config says what to learn and how. The zero value of all but Target is what we stand
// behind.
type Config struct {
	Target string // column to predict
	Task   Task   // "" chooses: text, booleans and numbers of two values are classes
	// TargetScale is the scale on which a number is learned: "identity", its own units; "log-mean", the log of its mean, by gamma deviance; "log", the
	// mean of its log, so that the median is predicted; or "auto" (also ""), which tries identity and log-mean if all targets are positive and
	// strongly skewed. The scales of the log need positive targets. Predictions and metrics are in the target's own units on every scale.
	TargetScale string

	Positive string   // of two classes the one whose probability is predicted; "" is the last in order
	Drop     []string // columns that are no inputs
	Keep     []string // columns that are inputs even if nothing can be learned of them, or they seem to identify rows
	Weight   string   // column that says how much a row counts; it is no input
	Groups   []Group  // of columns that are one player

	// LeaveOutIdentifiers leaves out columns that seem to identify rows: texts that are all
	// different, and whole numbers that count the rows. It leaves out free text too: several
	// words that are different in nearly every row. Without it, a note names them.
	LeaveOutIdentifiers bool

	// MissingAsLevel are the columns in which a missing cell is a value like others, which
	// can have an attribution: for gaps that say something by themselves.
	MissingAsLevel []string

	// Missing are the texts that the rows' reader took for missing, beside the usual ones:
	// the model remembers them for tables to come.
	Missing []string

	// Rows to choose the best weights by: a table of their own; or, if that is nil, a
	// fraction of the rows (0 means 0.1), where ValidationBy, if not empty, names a column
	// (a patient, a customer) whose equal values stay on one side. That column is no input.
	Validation         Source
	ValidationFraction float64
	ValidationBy       string

	// OrderBy, if not empty, names a column of numbers or times, and the rows that validate are the newest by it: the
	// newest fraction or, if ValidationAfter is not empty, all rows whose value is after that one, written as in the
	// table. A date alone is its midnight, UTC. Rows with equal values stay on one side; rows without a value train. The
	// column is an input unless Drop names it. OrderBy goes with neither Validation nor ValidationBy.
	OrderBy         string
	ValidationAfter string

	Head   string          // "exact" (also "") or "learned"
	Effort Effort          // "" is normal
	Change func(*Settings) // alters the default settings; may be nil
	Seed   uint64

	// ReferenceRows of the training table are kept in the model, at most 512, so that it can say which missing column is
	// worth asking for. Whoever has the file can read them, so that none are kept unless they are asked for.
	ReferenceRows int

	Backend Backend // that trains; "" is Auto

	// TimeBudget, if not 0, is what Train may take, reading and audit included: an effort that would take longer is cut to size.
	TimeBudget time.Duration
	// StopEarly, if not nil, ends the training early when it is closed, in a model of what was learned so far; a network
	// beyond the first that is not done is left out.
	StopEarly <-chan struct{}
	// Checkpoint, if not empty, is a file in which the state of the training is kept until
	// it ends; the caller removes it once the model is saved. With Resume, a training goes on
	// from it if it is there.
	Checkpoint string
	Resume     bool
	SaveEvery  time.Duration // between checkpoints; 0 means 2 s
	// Scratch is a directory for rows that do not fit into memory; "" is the system's.
	Scratch string

	Progress func(Progress) // called often; may be nil

	fold *encode.Labels // the target's values in all folds, if this is the training of one; else nil
}

// Progress tells how far a training is.
type Progress struct {
	Fold, Folds int           // under way, from 1, and how many there are; 0 unless CrossValidate runs
	Stage       string        // "read", "scale", "fit", "polish", "refit", "absent", "spread", "doubt", "audit"
	Member      int           // network under way, from 0
	Step, Steps int           // of the stage; 0 where there are none
	Done        float64       // share of the training, 0 to 1
	Remaining   time.Duration // about what the rest will take; 0 while not known
	Error       float64       // of the validation rows, best so far; NaN while not known
	Metric      string        // what Error is: "rmse", in the target's units, "rmse of the log" or "log loss"
	Note        string        // something to tell a person, said once
	Warning     bool          // the note is about columns that are left out or had better be, or about rows that repeat
}
