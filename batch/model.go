package batch

import (
	"context"
	"fmt"

	"github.com/psi-shapley/psi/internal/store"
)

// ReadModel is the content of a model file, by path or URL.
func ReadModel(ctx context.Context, where string) ([]byte, error) {
	p, pattern, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for o, err := range p.List(ctx, pattern) {
		if err != nil {
			return nil, err
		}
		if p.Name(o.Key) != p.Name(pattern) && pattern == "" {
			return nil, fmt.Errorf("%s is no file: name a model, such as model.psi", where)
		}
		return p.Read(ctx, o.Key, mostModel)
	}
	return nil, fmt.Errorf("%s: %w", where, store.ErrNotFound)
}
