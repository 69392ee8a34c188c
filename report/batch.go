package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// BatchSchema identifies the format of the document of a batch.
const BatchSchema = "psi.report.batch/v1"

// Batch is the document behind the page of a batch: its results, without any rows.
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
	Trust       Trust               `json:"trust"`       // from the audit of some of its rows
	Drift       []Verdict           `json:"drift"`       // per output: whether columns matter as they did in training
	Importances [][]BatchImportance `json:"importances"` // per output, in descending order; empty if no row was explained
	Advice      []string            `json:"advice"`      // what to do
}

// Run is the outcome of a batch, from its summary.
type Run struct {
	Name         string       `json:"name"`  // location of the input
	Out          string       `json:"out"`   // location of the parts; "" if unknown
	Job          string       `json:"job"`   // job id
	Model        string       `json:"model"` // digest of the model
	In           string       `json:"in"`
	Mode         explain.Mode `json:"mode"`
	Z            float64      `json:"z"`
	Submitted    time.Time    `json:"submitted"`
	Seconds      float64      `json:"seconds"` // from the plan to the summary
	Files        int          `json:"files"`
	Units        int          `json:"units"`
	Failed       int          `json:"failed"` // failed units
	Rows         int          `json:"rows"`   // rows explained
	BytesRead    int64        `json:"bytes_read"`
	BytesWritten int64        `json:"bytes_written"`
	ResidualMax  float64      `json:"residual_max"` // largest |prediction − base − Σ attributions|
	Missing      []RunMissing `json:"missing"`      // per player
	Failures     []RunFailure `json:"failures"`     // the first of them
	Outputs      []RunOutput  `json:"-"`
	Audit        *psi.Audit   `json:"-"` // of some rows; nil if there is none
}

// RunMissing counts the missing cells of a player.
type RunMissing struct {
	Player string  `json:"player"`
	Ratio  float64 `json:"ratio"`
}

// RunOutput summarises the attributions of players to an output.
type RunOutput struct {
	Output  string
	NDCG    *float64 // agreement of the players' ranking with training; nil if unknown
	Players []RunPlayer
}

// RunPlayer summarises the attributions of a player to an output over all rows.
type RunPlayer struct {
	Player  string
	Size    float64  // mean |f_d|
	Std     float64  // mean σ_d
	Doubt   *float64 // mean epistemic uncertainty; nil if unknown
	Trained *float64 // mean |f_d| in training; nil if unknown
}

// RunFailure is the reason why a unit failed.
type RunFailure struct {
	Unit     int    `json:"unit"`
	File     string `json:"file"`
	Groups   []int  `json:"row_groups"` // nil means the whole file
	Row      *int64 `json:"row"`        // nil if the failure is not about a row
	Column   string `json:"column"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
	Attempts int    `json:"attempts"`
}

// Verdict is an assessment with a level, a sentence and its evidence.
type Verdict struct {
	Level   string   `json:"level"` // good, fair, poor or unchecked
	Verdict string   `json:"verdict"`
	Words   []string `json:"words"`
}

// BatchImportance summarises a player over all rows of a batch.
type BatchImportance struct {
	Player  int      `json:"player"`
	Mean    float64  `json:"mean"`    // mean |attribution|
	Std     float64  `json:"std"`     // mean standard deviation of its attribution
	Doubt   *float64 `json:"doubt"`   // mean epistemic uncertainty; nil if unknown
	Trained *float64 `json:"trained"` // Mean in training; nil if unknown
}

// GatherBatch returns the report of a batch that the model explained. name is the model's name for readers. It reads no
// rows. It returns an error if run does not fit the model.
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
