package serve

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// question is rows of a request, and what to compute for them.
type question struct {
	id      string // of the request
	rows    *table.Table
	first   int // number of the first row within the request
	unknown []string
	depth   psi.Depth
	how     psi.ExplainOptions
	budget  *budget // of the request
}

// reply is the answer to a question: a prediction, or at depth Attributions an explanation.
type reply struct {
	prediction  *psi.Prediction
	explanation *explain.Explanation
}

// Bytes that a row holds on its way through a model, measured by TestMemoryOfAnswers.
const (
	columnBytes      = 64  // for each column: the encoded cell, also in a batch with other requests
	outputBytes      = 96  // for each output: prediction, spread and components
	doubtBytes       = 112 // for each output and player: the answers of the bags
	attributionBytes = 48  // for each output and player: the attribution, in the network and in the explanation
)

// workBytes returns the memory that rows hold from the question to the reply.
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

// ask puts a question to a version, and passes the answer to the drift window, the explanation log and the shadow. It
// reserves the memory of both in the budget of the request. Drift and shadow see answers in the model's own game only:
// training's importances are of that game, and the shadow may have no other.
func (s *Server) ask(ctx context.Context, v *registry.Version, q question) (*reply, error) {
	if err := q.budget.Reserve(workBytes(of(v).signature, q.rows.Rows(), q.depth)); err != nil {
		return nil, err
	}
	stage := observe.Predict
	if q.depth >= psi.Attributions {
		stage = observe.Explain
	}
	start := time.Now()
	if q.how.Reference != nil && q.depth >= psi.Attributions {
		e, err := s.askAlone(ctx, v, q)
		if err != nil {
			return nil, err
		}
		of(v).took(stage, start)
		e.FirstRow = q.first
		s.log(v, q, e)
		return &reply{explanation: e}, nil
	}
	a, err := v.Ask(ctx, q.rows, q.unknown, q.depth)
	if err != nil {
		return nil, err
	}
	of(v).took(stage, start)
	s.shadow(v, q, a)
	if q.depth < psi.Attributions {
		p := a.Prediction()
		p.FirstRow = q.first
		return &reply{prediction: p}, nil
	}
	e, err := a.Explanation(q.how)
	if err != nil {
		return nil, &requestError{err.Error(), ""}
	}
	e.FirstRow = q.first // before the log has it
	of(v).drift.Observe(e)
	s.log(v, q, e)
	return &reply{explanation: e}, nil
}

// log passes an explanation to the explanation log.
func (s *Server) log(v *registry.Version, q question, e *explain.Explanation) {
	if s.explanations != nil {
		s.explanations.Add(v.Name, v.Version, q.id, e)
	}
}

// maxShadows is the maximum number of concurrent questions to shadows. Further ones are left out, so that shadows cost
// callers nothing but a busy core.
const maxShadows = 4

// shadow puts the same question to the shadow of a version, and measures the distance of its predictions from those that the
// caller got.
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
			return // the counts show that it is absent
		}
		sum, other := 0.0, a.Prediction().Mean
		for i := range min(len(mean), len(other)) {
			sum += math.Abs(other[i] - mean[i])
		}
		s.shadowCounts.add(v.Name, shadow.Version, len(mean), sum)
	})
}

// results converts a reply for the Open Inference Protocol.
func (r *reply) results(v *registry.Version) *oip.Results {
	if e := r.explanation; e != nil {
		return &oip.Results{
			Rows: e.Rows, Game: string(e.Game), Prediction: e.Link().Responses(e.Prediction), PredictionStd: e.Link().Deviations(e.Prediction, e.PredictionStd), Probability: e.Probability, Base: e.Base,
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

// inferred answers a request of the Open Inference Protocol. Unless it returns an error, the caller must release the
// version.
func (s *Server) inferred(ctx context.Context, start time.Time, r *oip.Request, name, version, id string, b *budget) (_ *registry.Version, _ *oip.Results, err error) {
	if r.ID != "" {
		id = r.ID
	}
	v, err := s.registry.Lease(name, version, r.ID)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			v.Release()
		}
	}()
	if err := v.Busy(ctx); err != nil {
		return nil, nil, err
	}
	kept := of(v)
	depth, err := r.Depth(kept.signature)
	if err != nil {
		return nil, nil, err
	}
	how := psi.ExplainOptions{Z: r.Z}
	if depth >= oip.Attributions {
		reference, err := r.Reference(b.Reserve)
		if err != nil {
			return nil, nil, err
		}
		if err := s.setGame(v, &how, r.Game, reference, b.Reserve); err != nil {
			return nil, nil, err
		}
	}
	rows, err := r.Table(kept.signature, s.maxRows(how), b.Reserve)
	if err != nil {
		return nil, nil, err
	}
	kept.took(observe.Preprocess, start)
	answer, err := s.ask(ctx, v, question{id: id, rows: rows, unknown: r.Unknown, depth: psi.Depth(depth), how: how, budget: b})
	if err != nil {
		return nil, nil, err
	}
	return v, answer.results(v), nil
}

// load searches for new versions of a model on behalf of a caller, who learns of an invalid file only that it is one.
func (s *Server) load(ctx context.Context, name string) error {
	err := s.registry.Load(ctx, name)
	var missing *registry.NotFoundError
	if err == nil || errors.As(err, &missing) || ctx.Err() != nil {
		return err
	}
	return &requestError{"the model cannot be loaded; what was served before still is", "see the server's log for the cause"}
}

// shadowCounts measures the distance of the predictions of shadows from those that callers got.
type shadowCounts struct{ rows, distance *prometheus.CounterVec }

func newShadowCounts() *shadowCounts {
	labels := []string{"model", "version"}
	return &shadowCounts{
		rows:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_shadow_predictions_total", Help: "Predictions that a shadow made too."}, labels),
		distance: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_shadow_distance_total", Help: "Sum of their distances from the predictions that callers got."}, labels),
	}
}

// drop removes a version that is unloaded.
func (c *shadowCounts) drop(model, version string) {
	c.rows.DeleteLabelValues(model, version)
	c.distance.DeleteLabelValues(model, version)
}

func (c *shadowCounts) add(model, version string, predictions int, distance float64) {
	c.rows.WithLabelValues(model, version).Add(float64(predictions))
	c.distance.WithLabelValues(model, version).Add(distance)
}
