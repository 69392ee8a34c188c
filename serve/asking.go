package serve

import (
	"context"
	"math"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// question is rows of a request, and what is wanted of them.
type question struct {
	id      string // of the request
	rows    *table.Table
	unknown []string
	depth   psi.Depth
	how     psi.ExplainOptions
	budget  *budget // of the request
}

// reply is what a version says of a question: a prediction, or at depth Attributions an explanation.
type reply struct {
	prediction  *psi.Prediction
	explanation *explain.Explanation
}

// What a row holds on its way through a model: measured by TestMemoryOfAnswers.
const (
	columnBytes      = 64  // its cell as the network reads it, and beside those of other requests
	outputBytes      = 96  // predictions, their spread and what they are made of
	doubtBytes       = 112 // what the bags say of it
	attributionBytes = 48  // a player's attribution to an output, as the network and as the explanation has it
)

// workBytes is what rows hold from when they are asked about until they are answered.
func workBytes(sig *oip.Signature, rows int, depth psi.Depth) int64 {
	row := columnBytes*len(sig.Columns) + outputBytes*len(sig.Outputs)
	if depth == psi.Doubt {
		row += doubtBytes * len(sig.Outputs) * len(sig.Players)
	}
	if depth >= psi.Attributions {
		row += attributionBytes * len(sig.Outputs) * len(sig.Players)
	}
	return int64(rows) * int64(row)
}

// ask puts a question to a version and lets the watchers see the answer. It takes the memory of both from the request's
// budget.
func (s *Server) ask(ctx context.Context, v *registry.Version, q question) (*reply, error) {
	if err := q.budget.Reserve(workBytes(of(v).signature, q.rows.Rows(), q.depth)); err != nil {
		return nil, err
	}
	stage := observe.Predict
	if q.depth >= psi.Attributions {
		stage = observe.Explain
	}
	start := time.Now()
	a, err := v.Ask(ctx, q.rows, q.unknown, q.depth)
	if err != nil {
		return nil, err
	}
	of(v).took(stage, start)
	s.shadow(v, q, a)
	if q.depth < psi.Attributions {
		return &reply{prediction: a.Prediction()}, nil
	}
	e, err := a.Explanation(q.how)
	if err != nil {
		return nil, &wrong{err.Error(), ""}
	}
	of(v).drift.Observe(e)
	if s.explanations != nil {
		s.explanations.Add(v.Name, v.Version, q.id, e)
	}
	return &reply{explanation: e}, nil
}

// maxShadows are asked at once: what is more is left out, so that shadows cost no caller anything but a busy core.
const maxShadows = 4

// shadow asks the shadow of a version the same, and counts how far its predictions lie from those that were given.
func (s *Server) shadow(v *registry.Version, q question, given *psi.Answer) {
	shadow := s.registry.Shadow(v)
	if shadow == nil {
		return
	}
	select {
	case s.shadows <- struct{}{}:
	default:
		shadow.Release()
		return
	}
	mean := given.Prediction().Mean
	s.background.Go(func() {
		defer func() { <-s.shadows }()
		defer shadow.Release()
		ctx, cancel := context.WithTimeout(context.Background(), s.config.Timeout)
		defer cancel()
		a, err := shadow.Ask(ctx, q.rows, q.unknown, psi.Values)
		if err != nil {
			return // its absence is seen in the counts
		}
		sum, other := 0.0, a.Prediction().Mean
		for i := range min(len(mean), len(other)) {
			sum += math.Abs(other[i] - mean[i])
		}
		s.shadowCounts.add(v.Name, shadow.Version, len(mean), sum)
	})
}

// results are a reply as the Open Inference Protocol wants it.
func (r *reply) results(v *registry.Version) *oip.Results {
	if e := r.explanation; e != nil {
		return &oip.Results{
			Rows: e.Rows, Prediction: e.Link().Responses(e.Prediction), PredictionStd: e.Link().Deviations(e.Prediction, e.PredictionStd), Probability: e.Probability, Base: e.Base,
			Mean: e.Mean, Std: e.Std, ModelStd: e.ModelStd, Bags: e.Bags, Observed: e.Observed,
		}
	}
	p := r.prediction
	res := &oip.Results{Rows: p.Rows(), Prediction: p.Mean, PredictionStd: p.Std, Probability: p.Probability, Base: make([]float64, len(p.Mean))}
	base := of(v).base
	for i := range res.Base {
		res.Base[i] = base[i%len(base)]
	}
	return res
}
