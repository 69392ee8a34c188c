package encode

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Target describes the encoding of a target and the initial prediction of a training.
type Target struct {
	Task Task       `json:"task"`
	Kind table.Kind `json:"kind"` // of the column

	Reading *table.Reading `json:"reading,omitempty"` // how the column's text is parsed

	// Regression: φ_0, the weighted mean of the target over the training rows, and its weighted standard deviation.
	Mean float64 `json:"mean,omitempty"`
	Std  float64 `json:"std,omitempty"`

	// Link is the scale on which a regression is learned. On the log scales, Mean and Std are logs: Mean is the log of
	// the target's mean for LogMean, the mean of the logs for Log.
	Link Link `json:"link,omitempty"`

	// NonNegative reports that no row of the table had a negative target, so that predictions are not negative either.
	NonNegative bool `json:"non_negative,omitempty"`

	// Labels of the classes in the order of outputs; of two, the negative one comes first.
	Classes []string `json:"classes,omitempty"`

	// φ_0 of classes, with p_k the weighted share of class k in the training rows. For two classes it is one number,
	// log(p_1/p_0); for more, log p_k less its mean over classes.
	Base []float64 `json:"base,omitempty"`
}

// Outputs returns the number of network outputs for the target.
func (t Target) Outputs() int {
	if t.Task == Multiclass {
		return len(t.Classes)
	}
	return 1
}

// Encode returns the training target of each of the rows, or of all rows if rows is nil: (y − mean)/std for a
// regression, 1 for the positive and 0 for the negative of two classes, or the index of one of several. A missing cell
// is NaN.
func (t Target) Encode(y *table.Column, rows []int) ([]float32, error) {
	if rows == nil {
		rows = make([]int, y.Len())
		for i := range rows {
			rows[i] = i
		}
	}
	of := t.classes(y)
	if t.Task == Regression {
		of = t.standardised(y)
	}
	out := make([]float32, len(rows))
	for i, row := range rows {
		out[i] = float32(math.NaN())
		if !y.Observed[row] {
			continue
		}
		var err error
		if out[i], err = of(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Decode is the inverse of Encode for one value of a regression.
func (t Target) Decode(v float32) float64 { return t.Link.inverse(t.Mean + t.Std*float64(v)) }

// Recode converts a value encoded by another regression of the same target.
func (t Target) Recode(v float32, from Target) float32 { return t.encoded(from.Decode(v)) }

// encoded returns a standardised number on the scale of learning.
func (t Target) encoded(y float64) float32 {
	return float32(max(-MaxStandardised, min(MaxStandardised, (t.Link.of(y)-t.Mean)/t.Std)))
}

// LogStd returns the standard deviation of the log on the scale LogMean; else 0.
func (t Target) LogStd() float64 {
	if t.Link == LogMean {
		return t.Std
	}
	return 0
}

func (t Target) standardised(y *table.Column) func(row int) (float32, error) {
	return func(row int) (float32, error) {
		if y.Kind == table.Category {
			return 0, &table.Error{
				Row: row, Column: y.Name,
				Message: fmt.Sprintf("%q is text, but the model predicts numbers", shortened(y.Text(row))), Remedy: "write a number, or leave the cell empty",
			}
		}
		v := y.Numbers[row]
		if !finite(v) {
			return 0, notFinite(y, row)
		}
		return t.encoded(v), nil
	}
}

// classes returns a function that finds the class of each cell. It parses the text of each label once.
func (t Target) classes(y *table.Column) func(row int) (float32, error) {
	byCode := make([]float32, len(y.Levels)) // index of the class, plus one
	byNumber := map[float64]float32{}
	return func(row int) (float32, error) {
		if y.Kind == table.Category {
			if known := byCode[y.Codes[row]]; known > 0 {
				return known - 1, nil
			}
		} else if known := byNumber[y.Numbers[row]]; known > 0 {
			return known - 1, nil
		}
		label := y.Text(row)
		class, ok := t.classOf(label)
		if !ok {
			return 0, &table.Error{
				Row: row, Column: y.Name,
				Message: fmt.Sprintf("%q is not among the classes of the model, %s", shortened(label), quoted(t.Classes, "and")),
				Remedy:  "correct the label, leave the cell empty, or train with rows of this class too",
			}
		}
		if y.Kind == table.Category {
			byCode[y.Codes[row]] = float32(class) + 1
		} else {
			byNumber[y.Numbers[row]] = float32(class) + 1
		}
		return float32(class), nil
	}
}

// classOf returns the index of the class with a label. A number may have other digits, and a boolean other words, than
// in the training rows.
func (t Target) classOf(label string) (int, bool) {
	if k := slices.Index(t.Classes, label); k >= 0 {
		return k, true
	}
	same := func(string) bool { return false }
	switch t.Kind {
	case table.Number:
		if v, err := strconv.ParseFloat(label, 64); err == nil {
			same = func(class string) bool {
				w, err := strconv.ParseFloat(class, 64)
				return err == nil && w == v
			}
		}
	case table.Boolean:
		if v, ok := table.Truth(label); ok {
			same = func(class string) bool {
				w, ok := table.Truth(class)
				return ok && w == v
			}
		}
	}
	k := slices.IndexFunc(t.Classes, same)
	return k, k >= 0
}

// FitTarget returns the regression of the finite training targets in y.
func FitTarget(y []float64) Target {
	var m moments
	for _, v := range y {
		if finite(v) {
			m.add(v)
		}
	}
	t := Target{Task: Regression}
	t.Mean, t.Std = m.meanAndStd()
	return t
}

// TargetFitter fits the initial prediction of a target to chunks of training rows.
type TargetFitter struct {
	target  Target
	name    string
	moments moments   // regression, on the scale of learning
	plain   moments   // regression, in the target's own units
	weights []float64 // of each class
	weight  float64   // of all rows
	rows    int
}

// NewTargetFitter returns a fitter for a target whose task and classes Labels found.
func NewTargetFitter(t Target) *TargetFitter {
	return &TargetFitter{target: t, weights: make([]float64, len(t.Classes))}
}

// Add adds the observed targets of the rows for which keep is true, or all rows if keep is nil. Weights are positive,
// and 1 if weights is nil.
func (f *TargetFitter) Add(y *table.Column, weights []float64, keep func(row int) bool) error {
	f.name = y.Name
	if keep == nil {
		keep = keepAll
	}
	of := f.target.classes(y)
	if f.target.Task == Regression {
		of = f.target.standardised(y)
	}
	for row, observed := range y.Observed {
		if !observed || !keep(row) {
			continue
		}
		v, err := of(row)
		if err != nil {
			return err
		}
		weight := 1.0
		if weights != nil {
			weight = weights[row]
		}
		f.rows++
		f.weight += weight
		if f.target.Task == Regression {
			f.moments.addWeighted(f.target.Link.of(y.Numbers[row]), weight)
			f.plain.addWeighted(y.Numbers[row], weight)
		} else {
			f.weights[int(v)] += weight
		}
	}
	return nil
}

// Finish returns the target fitted to the rows so far.
func (f *TargetFitter) Finish() (Target, error) {
	if f.rows == 0 {
		return Target{}, &table.Error{Row: noRow, Column: f.name, Message: "no training row has a target", Remedy: "name the column that holds the targets"}
	}
	t := f.target
	if t.Task == Regression {
		if t.Mean, t.Std = f.moments.meanAndStd(); t.Link == LogMean {
			mean, _ := f.plain.meanAndStd()
			t.Mean = math.Log(mean)
		}
		if t.validateRegression() != nil {
			return Target{}, &table.Error{
				Row: noRow, Column: f.name, Message: fmt.Sprintf("the targets have a mean of %g and a standard deviation of %g, which is too far from 0 or too large", t.Mean, t.Std),
				Remedy: "give the target in other units",
			}
		}
		return t, nil
	}
	logs, mean := make([]float64, len(f.weights)), 0.0
	for k, weight := range f.weights {
		if weight == 0 { // avoid a share of 0: a class that occurs only in validation rows counts as half a row
			weight = f.weight / float64(f.rows) / 2
		}
		logs[k] = math.Log(weight)
		mean += logs[k] / float64(len(logs))
	}
	if t.Task == Binary {
		t.Base = []float64{logs[1] - logs[0]}
		return t, nil
	}
	for k := range logs {
		logs[k] -= mean
	}
	t.Base = logs
	return t, nil
}

// Plain returns the regression of the same rows in the target's own units.
func (f *TargetFitter) Plain() Target {
	t := f.target
	t.Link = IdentityLink
	t.Mean, t.Std = f.plain.meanAndStd()
	return t
}

// Absent returns the classes without a training row.
func (f *TargetFitter) Absent() []string {
	var absent []string
	for k, weight := range f.weights {
		if weight == 0 {
			absent = append(absent, f.target.Classes[k])
		}
	}
	return absent
}

// Link is the scale on which a number is learned.
type Link string

// Links.
const (
	IdentityLink Link = ""         // the target's own units
	LogMean      Link = "log-mean" // the log of the target's mean, by gamma deviance
	Log          Link = "log"      // the mean of the target's log, whose exponential is the median of the target if logs are symmetric

	// Probability is for classes: scores are probabilities, as those of forests are.
	Probability Link = "probability"
)

func (l Link) validate() error {
	switch l {
	case IdentityLink, LogMean, Log:
		return nil
	}
	return fmt.Errorf("the link %.40q is unknown", l)
}

// of returns a number on the scale; −∞ if it is not positive and the scale is a log.
func (l Link) of(y float64) float64 {
	if l == IdentityLink {
		return y
	}
	return math.Log(max(0, y))
}

// OfAll returns numbers on the scale.
func (l Link) OfAll(y []float64) []float64 {
	list := make([]float64, len(y))
	for i, v := range y {
		list[i] = l.of(v)
	}
	return list
}

func (l Link) inverse(v float64) float64 {
	if l == IdentityLink {
		return v
	}
	return math.Exp(v)
}

// farthestBase limits the initial scores of classes. Fewer than 2^64 rows, whose weights differ by a factor below
// 2^128, stay within it.
const farthestBase = 200

// Limits of a target's mean and standard deviation. Within them, every finite output of a network is finite in the
// target's units, also squared, and values within 10^8 standard deviations fit into 32 bits.
const (
	farthestMean = 1e37
	largestStd   = 1e30
)

// largestLogStd exceeds any standard deviation of logs of 64-bit numbers, which lie within ±745.
const largestLogStd = 745

// Validate returns an error if a target read from a file is invalid.
func (t Target) Validate() error {
	if t.Kind > table.Time {
		return fmt.Errorf("encode: the target's kind %v is unknown", t.Kind)
	}
	var err error
	switch t.Task {
	case Regression:
		err = t.validateRegression()
	case Binary, Multiclass:
		err = errors.Join(t.validateClasses(), t.validateBase())
	default:
		err = fmt.Errorf("the task %.40q is unknown", t.Task)
	}
	if err != nil {
		return fmt.Errorf("encode: target: %w", err)
	}
	return nil
}

func (t Target) validateRegression() error {
	switch {
	case t.Kind == table.Category || t.Kind == table.Boolean:
		return fmt.Errorf("a %v has no regression", t.Kind)
	case t.Link.validate() != nil:
		return t.Link.validate()
	case t.Link != IdentityLink && (!t.NonNegative || !(t.Std <= largestLogStd)):
		return fmt.Errorf("the log of a number that may be negative, or with a standard deviation of %g", t.Std)
	case t.NonNegative && (t.Kind != table.Number || t.Mean < 0 && t.Link == IdentityLink):
		return fmt.Errorf("a %v with the mean %g is said never to be negative", t.Kind, t.Mean)
	case len(t.Classes) > 0 || len(t.Base) > 0:
		return errors.New("a regression has no classes and no base")
	case !(math.Abs(t.Mean) <= farthestMean) || !(t.Std > 0 && t.Std <= largestStd):
		return fmt.Errorf("the mean %v is beyond ±%g, or the standard deviation %v is not between 0 and %g", t.Mean, farthestMean, t.Std, largestStd)
	}
	return nil
}

func (t Target) validateClasses() error {
	n := len(t.Classes)
	switch {
	case t.Mean != 0 || t.Std != 0 || t.NonNegative || t.Link != IdentityLink && t.Link != Probability:
		return errors.New("classes have no mean, no standard deviation and no sign")
	case t.Task == Binary && n != 2:
		return fmt.Errorf("%d classes, but two are binary", n)
	case t.Task == Multiclass && (n < 3 || n > maxClasses):
		return fmt.Errorf("%d classes are not between 3 and %d", n, maxClasses)
	case t.Task == Multiclass && (t.Kind == table.Boolean || t.Kind == table.Time):
		return fmt.Errorf("a %v has no %d classes", t.Kind, n)
	}
	var last string
	for k, class := range t.Classes {
		if !utf8.ValidString(class) {
			return fmt.Errorf("class %d is not UTF-8 text", k)
		}
		if v, err := strconv.ParseFloat(class, 64); t.Kind == table.Number && (err != nil || !finite(v)) {
			return fmt.Errorf("class %d, %.40q, is not a finite number", k, class)
		}
		switch {
		case k == 0:
		case t.Task == Binary && t.Compare(last, class) != 0:
		case t.Task == Multiclass && t.Compare(last, class) < 0:
		default:
			return fmt.Errorf("class %d, %.40q, does not come after the one before", k, class)
		}
		last = class
	}
	return nil
}

// Compare orders two labels as several classes are ordered: as numbers, or as texts.
func (t Target) Compare(a, b string) int {
	if t.Kind != table.Number {
		return cmp.Compare(a, b)
	}
	v, _ := strconv.ParseFloat(a, 64) // both are numbers
	w, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(v, w)
}

func (t Target) validateBase() error {
	if len(t.Base) != t.Outputs() {
		return fmt.Errorf("a base of %d numbers for %d outputs", len(t.Base), t.Outputs())
	}
	for k, v := range t.Base {
		if !(math.Abs(v) <= farthestBase) {
			return fmt.Errorf("base %d, %v, is not between %d and %d", k, v, -farthestBase, farthestBase)
		}
	}
	return nil
}

// Centred returns an error if the base of several classes does not add up to 0, as that of a training does.
func (t Target) Centred() error {
	sum := 0.0
	for _, v := range t.Base {
		sum += v
	}
	if t.Task == Multiclass && math.Abs(sum) > 1e-6 {
		return fmt.Errorf("encode: target: the base of the classes adds up to %v, not to 0", sum)
	}
	return nil
}
