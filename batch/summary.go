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

// maxFailures is how many a summary tells; OUT has the others.
const maxFailures = 1000

const summarySchema = "psi.batch.summary/v1"

// Summary is what came of a job.
type Summary struct {
	Schema       string `json:"schema"`
	*Job         `json:"plan"`
	Rows         int     `json:"rows"` // explained
	Failed       int     `json:"failed"`
	BytesWritten int64   `json:"bytes_written"`
	Seconds      float64 `json:"seconds"` // from the plan to the summary

	// ResidualMax is the largest |prediction − base − Σ attributions| of all rows.
	ResidualMax float64         `json:"residual_max"`
	Missing     []MissingOf     `json:"missing"`
	Outputs     []OutputSummary `json:"outputs"`
	Audit       *psi.Audit      `json:"audit"` // of some rows; null if there are none
	Failures    []*Failure      `json:"failures"`

	tally   *explain.Tally
	failed  []int  // units, sorted
	audited []Unit // whose rows are
}

// MissingOf is how often a player was missing.
type MissingOf struct {
	Player string  `json:"player"`
	Ratio  float64 `json:"ratio"`
}

// OutputSummary is what players did to an output.
type OutputSummary struct {
	Output string `json:"output"`

	// NDCG is how far players rank as they did in training, from 0 to 1; null if that is not known.
	NDCG    *float64        `json:"ndcg"`
	Players []PlayerSummary `json:"players"`
}

// PlayerSummary is what a player did to an output, over all rows.
type PlayerSummary struct {
	Player  string   `json:"player"`
	Size    float64  `json:"mean_abs"`         // mean |f_d|, 0 where it is missing
	Std     float64  `json:"mean_std"`         // mean σ_d, the spread, 0 where it is missing
	Doubt   *float64 `json:"mean_model_std"`   // mean doubt of f_d, 0 where it is missing; null if it is not known of all rows
	Trained *float64 `json:"trained_mean_abs"` // mean |f_d| on the validation rows of the training; null if that is not known
}

// settle works out what is told from what was added up.
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
		trained := importance(m, output)
		for d, player := range s.tally.Players {
			p := PlayerSummary{Player: player, Size: size[d], Std: std[d]}
			if doubt != nil {
				p.Doubt = &doubt[d]
			}
			if trained != nil {
				p.Trained = &trained[d]
			}
			o.Players = append(o.Players, p)
		}
		if ndcg := eval.NDCG(trained, size); trained != nil && !math.IsNaN(ndcg) {
			o.NDCG = &ndcg
		}
	}
}

// importance is the mean |f_d| of an output in training; nil if it is not known.
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

// ReadSummary is that of a finished job, by its key: SummaryKey, unless somebody copied it.
func ReadSummary(ctx context.Context, in *store.Location, key string) (*Summary, error) {
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
