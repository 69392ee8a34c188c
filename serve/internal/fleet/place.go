package fleet

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/psi-shapley/psi/internal/store"
)

// suffix of model files.
const suffix = ".psi"

// mostBytes is the size of the largest model file that is read: more than ten times what the largest network has.
const mostBytes = 1 << 30

// place is where model files lie: a bucket or a directory, of which a single file may be all that counts.
type place struct {
	objects *store.Place
	pattern string
	only    string // key of the single file; "" is all
}

// found is a model file in a place.
type found struct {
	place         *place
	object        store.Object
	name, version string
}

// same tells whether two findings are of one content, as far as a listing shows.
func (f found) same(o found) bool { return f.place == o.place && f.object == o.object }

// openPlace understands a model file, a directory of them or a URL of either.
func openPlace(ctx context.Context, where string) (*place, error) {
	objects, pattern, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	only, single := store.Single(pattern)
	if single && !strings.HasSuffix(only, suffix) {
		return nil, fmt.Errorf("%s: a model file ends in %s", objects.Name(only), suffix)
	}
	if pattern == "" {
		pattern = "*" + suffix
	}
	return &place{objects, pattern, only}, nil
}

// list is the model files that are there now.
func (p *place) list(ctx context.Context) ([]found, error) {
	var all []found
	for o, err := range p.objects.List(ctx, p.pattern) {
		if err != nil {
			return nil, err
		}
		base, is := strings.CutSuffix(path.Base(o.Key), suffix)
		if !is {
			continue
		}
		f := found{place: p, object: o, name: base, version: "1"}
		if name, version, has := strings.Cut(base, "@"); has {
			f.name, f.version = name, version
		}
		if f.name != "" && f.version != "" {
			all = append(all, f)
		}
	}
	return all, nil
}

// read is the content of a file.
func (f found) read(ctx context.Context) ([]byte, error) {
	return f.place.objects.Read(ctx, f.object.Key, mostBytes)
}
