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
	key, single := store.Single(pattern)
	if !single {
		return nil, fmt.Errorf("%s is no file: name a model, such as model.psi", where)
	}
	return p.Read(ctx, key, maxModel)
}
