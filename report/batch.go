package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// BatchSchema names the form of the document of a batch.
const BatchSchema = "psi.report.batch/v1"

// Batch is all that the page of a batch shows: what came of its rows, without any of them.
type Batch struct {
	Schema string `json:"schema"`
	Cover
	Model Model `json:"model"`
	Intervals
	Scale   Scale    `json:"scale"`
	Outputs []string `json:"outputs"`
	Players []string `json:"players"`

	Run         Run                 `json:"run"`
	Done        Verdict             `json:"done"`        // whether all rows were explained
	Trust       Trust               `json:"trust"`       // by the audit of some of its rows
	Drift       []Verdict           `json:"drift"`       // of each output: whether columns matter as they did in training
	Importances [][]BatchImportance `json:"importances"` // of each output, the greatest first; none if no row was explained
	Advice      []string            `json:"advice"`      // what to do
}

// Run is the outcome of a batch, as its summary tells it.
type Run struct {
	Name         string       `json:"name"`  // where it was read
	Out          string       `json:"out"`   // where its parts lie; "" if that is not known
	Job          string       `json:"job"`   // its id
	Model        string       `json:"model"` // digest of the model that explained
	In           string       `json:"in"`
	Mode         explain.Mode `json:"mode"`
	Z            float64      `json:"z"`
	Submitted    time.Time    `json:"submitted"`
	Seconds      float64      `json:"seconds"` // from the plan to the summary
	Files        int          `json:"files"`
	Units        int          `json:"units"`
	Failed       int          `json:"failed"` // units
	Rows         int          `json:"rows"`   // explained
	BytesRead    int64        `json:"bytes_read"`
	BytesWritten int64        `json:"bytes_written"`
	ResidualMax  float64      `json:"residual_max"` // largest |prediction − base − Σ attributions|
	Missing      []RunMissing `json:"missing"`      // of each player
	Failures     []RunFailure `json:"failures"`     // the first of them
	Outputs      []RunOutput  `json:"-"`
	Audit        *psi.Audit   `json:"-"` // of some rows; nil if there are none
}

// RunMissing is how often a player was missing.
type RunMissing struct {
	Player string  `json:"player"`
	Ratio  float64 `json:"ratio"`
}

// RunOutput is what players did to an output.
type RunOutput struct {
	Output  string
	NDCG    *float64 // how far players rank as in training; nil if that is not known
	Players []RunPlayer
}

// RunPlayer is what a player did to an output, over all rows.
type RunPlayer struct {
	Player  string
	Size    float64  // mean |f_d|
	Std     float64  // mean σ_d: spread
	Doubt   *float64 // mean doubt; nil if it is not known
	Trained *float64 // mean |f_d| in training; nil if that is not known
}

// RunFailure is why a unit was given up.
type RunFailure struct {
	Unit     int    `json:"unit"`
	File     string `json:"file"`
	Groups   []int  `json:"row_groups"` // nil: the whole file
	Row      *int64 `json:"row"`        // nil if it is not about one
	Column   string `json:"column"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
	Attempts int    `json:"attempts"`
}

// Verdict is an answer with a level, a sentence, and what it rests on.
type Verdict struct {
	Level   string   `json:"level"` // good, fair, poor or unchecked
	Verdict string   `json:"verdict"`
	Words   []string `json:"words"`
}

// BatchImportance is what a player did over all rows of a batch.
type BatchImportance struct {
	Player  int      `json:"player"`
	Mean    float64  `json:"mean"`    // size of its attribution
	Std     float64  `json:"std"`     // mean spread of its attribution
	Doubt   *float64 `json:"doubt"`   // mean doubt of it; nil if it is not known
	Trained *float64 `json:"trained"` // Mean in training; nil if that is not known
}

// GatherBatch reports what came of a batch that the model, which readers know by name, explained. No row is read.
func GatherBatch(model *psi.Model, name string, run Run, cover Cover) (*Batch, error) {
	if run.Model != model.Digest() {
		return nil, run.otherModel()
	}
	e, err := model.NoRows(psi.ExplainOptions{Mode: run.Mode})
	if err != nil {
		return nil, err
	}
	if err := run.check(e); err != nil {
		return nil, err
	}
	if run.Z > 0 {
		e.Z = run.Z
	}
	run.cut()
	b := &Batch{
		Schema: BatchSchema, Cover: cover.titled("Batch report on " + model.Manifest().Target), Model: modelOf(model, name, e.Exact), Intervals: intervalsOf(e), Scale: e.Scale, Outputs: e.Outputs, Players: e.Players,
		Run: run, Done: run.done(), Trust: run.trust(e), Importances: [][]BatchImportance{}, Drift: []Verdict{},
	}
	for i := range run.Outputs {
		b.Importances = append(b.Importances, run.Outputs[i].importances())
		b.Drift = append(b.Drift, run.drift(&run.Outputs[i]))
	}
	b.Advice = b.advice()
	return b, nil
}

func (o *RunOutput) importances() []BatchImportance {
	list := make([]BatchImportance, len(o.Players))
	for d, p := range o.Players {
		list[d] = BatchImportance{d, p.Size, p.Std, p.Doubt, p.Trained}
	}
	slices.SortStableFunc(list, func(a, b BatchImportance) int { return cmp.Compare(b.Mean, a.Mean) })
	return list
}
