package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/psi-shapley/psi/internal/store"
)

// amend plans objects again that have failed units and were replaced since. Parts of such an object are deleted, since they
// are of other rows. The units keep their numbers.
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
	amended := map[int]unit{}
	for _, units := range broken {
		o, err := in.Stat(ctx, units[0].Key)
		if errors.Is(err, store.ErrNotFound) || err == nil && o == units[0].object() {
			continue // its units fail again, with the reason
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

// objectsOf returns all units of the objects that the given units belong to, object by object.
func (j *Job) objectsOf(ctx context.Context, out *store.Location, units []int) ([][]unit, error) {
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
	objects := make([][]unit, len(keys))
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

// fit makes exactly n units: it merges the surplus into the last one, or appends empty ones.
func fit(units []unit, n int) []unit {
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

// rewrite replaces the units of the plan that have the numbers of amended ones.
func (j *Job) rewrite(ctx context.Context, out *store.Location, amended map[int]unit) error {
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
