package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/store"
)

// maxFailures is the maximum number of failures in a summary or a status; OUT has the others.
const maxFailures = 1000

const summarySchema = "psi.batch.summary/v1"

// Summary holds the totals of a finished job: the document OUT/_summary.json.
type Summary struct {
	Schema       string `json:"schema"` // psi.batch.summary/v1
	*Job         `json:"plan"`
	Rows         int     `json:"rows"`   // explained
	Failed       int     `json:"failed"` // units
	BytesWritten int64   `json:"bytes_written"`
	Seconds      float64 `json:"seconds"` // from the plan to the summary

	// ResidualMax is the largest |prediction − base − Σ attributions| of all rows.
	ResidualMax float64         `json:"residual_max"`
	Missing     []MissingOf     `json:"missing"`
	Outputs     []OutputSummary `json:"outputs"`
	Audit       *psi.Audit      `json:"audit"`    // of 32 rows; null if no row was explained, or not in the model's own game
	Failures    []*Failure      `json:"failures"` // the first 1,000

	tally   *explain.Tally
	failed  []int  // units, sorted
	audited []unit // their rows
}

// MissingOf is the share of rows in which a player was missing.
type MissingOf struct {
	Player string  `json:"player"`
	Ratio  float64 `json:"ratio"`
}

// OutputSummary holds the mean attributions of the players to an output.
type OutputSummary struct {
	Output string `json:"output"`

	// NDCG is the agreement of the importance order with training, from 0 to 1; null if not known.
	NDCG    *float64        `json:"ndcg"`
	Players []PlayerSummary `json:"players"`
}

// PlayerSummary holds means over all rows of the attributions f_d of a player to an output. Rows where it is missing count as
// 0.
type PlayerSummary struct {
	Player  string   `json:"player"`
	Size    float64  `json:"mean_abs"`         // mean |f_d|
	Std     *float64 `json:"mean_std"`         // mean σ_d, the spread; null if not known, as for imported trees
	Doubt   *float64 `json:"mean_model_std"`   // mean doubt of f_d; null if not known for all rows
	Trained *float64 `json:"trained_mean_abs"` // mean |f_d| of the validation rows in training; null if not known
}

// settle computes the totals from the merged tally.
func (s *Summary) settle(m *psi.Model) {
	s.Schema, s.Rows, s.ResidualMax = summarySchema, s.tally.Rows, s.tally.Residual
	s.Missing = make([]MissingOf, len(s.tally.Players))
	for d, player := range s.tally.Players {
		s.Missing[d].Player = player
		if s.Rows > 0 {
			s.Missing[d].Ratio = float64(s.tally.Missing[d]) / float64(s.Rows)
		}
	}
	s.Outputs = make([]OutputSummary, len(s.tally.Outputs))
	for c, output := range s.tally.Outputs {
		o := &s.Outputs[c]
		o.Output = output
		size, std, doubt := s.tally.MeanSize(c), s.tally.MeanStd(c), s.tally.MeanModelStd(c)
		if size == nil {
			continue
		}
		var trained []float64
		if s.inGameOf(m) { // whose importances training measured
			trained = importance(m, output)
		}
		for d, player := range s.tally.Players {
			p := PlayerSummary{Player: player, Size: size[d]}
			if std != nil {
				p.Std = &std[d]
			}
			if doubt != nil {
				p.Doubt = &doubt[d]
			}
			if trained != nil {
				p.Trained = &trained[d]
			}
			o.Players = append(o.Players, p)
		}
		if trained == nil {
			continue
		}
		if ndcg := eval.NDCG(trained, size); !math.IsNaN(ndcg) {
			o.NDCG = &ndcg
		}
	}
}

// importance returns the mean |f_d| of an output in training; nil if not known.
func importance(m *psi.Model, output string) []float64 {
	if audit := m.StoredAudit(); audit != nil {
		for _, o := range audit.Outputs {
			if o.Output == output && len(o.Importance) == len(m.Players()) {
				return o.Importance
			}
		}
	}
	return nil
}

func (s *Summary) state() string {
	if s.Failed > 0 {
		return Failed
	}
	return Finished
}

// Summary returns the totals of the job. It fails if the job is not finished.
func (r *Runner) Summary(ctx context.Context) (*Summary, error) {
	out, err := locationOf(ctx, r.Out)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	return readSummary(ctx, out, SummaryKey)
}

// ReadSummary reads a summary by path or URL: of a JSON file, which may be a copy, or of the results of a job.
func ReadSummary(ctx context.Context, where string) (*Summary, error) {
	in, pattern, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if pattern == "" {
		return readSummary(ctx, in, SummaryKey)
	}
	key, single := store.Single(pattern)
	if !single {
		return nil, fmt.Errorf("%s is a pattern; name the results of a batch, or their %s", where, SummaryKey)
	}
	return readSummary(ctx, in, key)
}

func readSummary(ctx context.Context, in *store.Location, key string) (*Summary, error) {
	content, err := in.Read(ctx, key, maxJSON)
	if err != nil {
		return nil, err
	}
	s := &Summary{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(key), err)
	}
	if s.Schema != summarySchema || s.Job == nil {
		return nil, fmt.Errorf("%s is %.40q, and no summary of a batch that this version of psi knows", in.Name(key), s.Schema)
	}
	return s, nil
}
