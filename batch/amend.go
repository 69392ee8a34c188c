package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/psi-shapley/psi/internal/store"
)

// amend plans objects anew that have failed units and were replaced since: mended, as is to be hoped. What was explained of
// such an object before goes, since it is of other rows; the units keep their numbers.
func (j *Job) amend(ctx context.Context, out *store.Location, failed []int) error {
	if len(failed) == 0 {
		return nil
	}
	in, _, err := store.Open(ctx, j.In)
	if err != nil {
		return err
	}
	defer in.Close()
	broken, err := j.objectsOf(ctx, out, failed)
	if err != nil {
		return err
	}
	amended := map[int]Unit{}
	for _, units := range broken {
		o, err := in.Stat(ctx, units[0].Key)
		if errors.Is(err, store.ErrNotFound) || err == nil && o == units[0].object() {
			continue // it will fail again, and say why
		}
		if err != nil {
			return err
		}
		p := planner{in: in, unitRows: j.UnitRows}
		cut, err := p.cut(ctx, o)
		if err != nil {
			return err
		}
		for i, u := range fit(cut, len(units)) {
			u.Number = units[i].Number
			amended[u.Number] = u
			if err := out.Delete(ctx, j.partKey(u.Number)); err != nil {
				return err
			}
		}
	}
	return j.rewrite(ctx, out, amended)
}

// objectsOf are the units of the objects that have some of these units, object by object.
func (j *Job) objectsOf(ctx context.Context, out *store.Location, units []int) ([][]Unit, error) {
	keys := map[string]int{}
	for u, err := range j.units(ctx, out) {
		if err != nil {
			return nil, err
		}
		if _, is := slices.BinarySearch(units, u.Number); is {
			if _, known := keys[u.Key]; !known {
				keys[u.Key] = len(keys)
			}
		}
	}
	objects := make([][]Unit, len(keys))
	for u, err := range j.units(ctx, out) {
		if err != nil {
			return nil, err
		}
		if at, is := keys[u.Key]; is {
			objects[at] = append(objects[at], u)
		}
	}
	return objects, nil
}

// fit makes exactly n units of some: the last takes what is too much, or empty ones follow.
func fit(units []Unit, n int) []Unit {
	for len(units) > n {
		last, before := units[len(units)-1], &units[len(units)-2]
		before.Groups, before.Rows = append(before.Groups, last.Groups...), before.Rows+last.Rows
		units = units[:len(units)-1]
	}
	for len(units) < n {
		empty := units[0]
		empty.Groups, empty.First, empty.Rows, empty.Empty = nil, 0, 0, true
		units = append(units, empty)
	}
	return units
}

// rewrite puts units in the places of those with their numbers.
func (j *Job) rewrite(ctx context.Context, out *store.Location, amended map[int]Unit) error {
	var page bytes.Buffer
	changed := false
	for u, err := range j.units(ctx, out) {
		if err != nil {
			return err
		}
		if other, is := amended[u.Number]; is {
			u, changed = other, true
		}
		line, err := json.Marshal(u)
		if err != nil {
			return err
		}
		page.Write(append(line, '\n'))
		if (u.Number+1)%pageUnits != 0 && u.Number+1 != j.Units {
			continue
		}
		if changed {
			if err := out.Write(ctx, pageKey(u.Number/pageUnits), page.Bytes()); err != nil {
				return err
			}
		}
		page.Reset()
		changed = false
	}
	return nil
}
