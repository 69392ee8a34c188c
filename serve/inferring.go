package serve

import (
	"context"
	"errors"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
)

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
	rows, err := r.Table(kept.signature, s.config.MaxRows, b.Reserve)
	if err != nil {
		return nil, nil, err
	}
	kept.took(observe.Preprocess, start)
	answer, err := s.ask(ctx, v, question{id: id, rows: rows, unknown: r.Unknown, depth: psi.Depth(depth), how: psi.ExplainOptions{Z: r.Z}, budget: b})
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
	return &wrong{"the model cannot be loaded; what was served before still is", "see the server's log for the cause"}
}
