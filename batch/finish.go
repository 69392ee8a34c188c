package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// How much of a job is audited: rows of units from all over the plan.
const (
	auditUnits   = 16
	auditRows    = 32
	rowsOfSample = 512 // of each unit: the audit draws auditRows from these
)

// lostError lists units that have neither a part nor a failure, although the queue holds them no more.
type lostError struct{ units []unit }

func (e *lostError) Error() string { return fmt.Sprintf("%d parts are missing", len(e.units)) }

// finish merges the tallies of the parts, audits some rows, and writes the summary.
func (t *task) finish(ctx context.Context) (*Summary, error) {
	none, err := t.model.NoRows(t.how())
	if err != nil {
		return nil, err
	}
	s := &Summary{Job: t.Job, tally: explain.NewTally(none.Outputs, none.Players)}
	for f, err := range failuresIn(ctx, t.out) {
		if err != nil {
			return nil, err
		}
		if s.Failed++; len(s.Failures) < maxFailures {
			s.Failures = append(s.Failures, f)
		}
		s.failed = append(s.failed, f.Unit)
	}
	if err := t.merge(ctx, s); err != nil {
		return nil, err
	}
	if s.tally.Rows > 0 && t.inGameOf(t.model) {
		sample := &sample{task: t, units: s.audited}
		defer sample.Close()
		if s.Audit, err = t.model.Audit(ctx, sample, auditRows); err != nil {
			return nil, err
		}
	}
	if err := t.sweep(ctx); err != nil {
		return nil, err
	}
	s.Seconds = time.Since(t.Submitted).Seconds()
	s.settle(t.model)
	if err := writeJSON(ctx, t.out, SummaryKey, s); err != nil {
		return nil, writing(err)
	}
	if s.Failed == 0 {
		err = writing(t.out.Write(ctx, successKey, nil))
	}
	return s, err
}

// sweep deletes unfinished files of killed workers on a disk. Buckets never show unfinished objects.
func (t *task) sweep(ctx context.Context) error {
	for o, err := range t.out.List(ctx, ".part-*-"+t.ID+".parquet.*.tmp") {
		if err == nil {
			err = t.out.Delete(ctx, o.Key)
		}
		if err != nil {
			return writing(err)
		}
	}
	return nil
}

// merge adds up the tallies in the footers of the parts.
func (t *task) merge(ctx context.Context, s *Summary) error {
	var lost []unit
	every := max(1, t.Units/auditUnits)
	settled := func(ctx context.Context) iter.Seq2[unit, error] { return t.settled(ctx, s) }
	for p, err := range pipeline.InOrder(ctx, footers, settled, t.readPart) {
		if err != nil {
			return err
		}
		if p.tally == nil {
			lost = append(lost, p.unit)
			continue
		}
		s.tally.Merge(p.tally)
		s.BytesWritten += p.bytes
		if p.tally.Rows > 0 && (p.unit.Number%every == 0 || len(s.audited) == 0) && len(s.audited) <= auditUnits {
			s.audited = append(s.audited, p.unit)
		}
	}
	if len(lost) > 0 {
		return &lostError{lost}
	}
	return nil
}

// settled iterates over the units that did not fail.
func (t *task) settled(ctx context.Context, s *Summary) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for u, err := range t.units(ctx, t.out) {
			if err == nil {
				if _, given := slices.BinarySearch(s.failed, u.Number); given {
					continue
				}
			}
			if !yield(u, err) {
				return
			}
		}
	}
}

// donePart is the content of a part's footer. If the part is absent, tally is nil.
type donePart struct {
	unit  unit
	tally *explain.Tally
	bytes int64
}

func (t *task) readPart(ctx context.Context, u unit) (donePart, error) {
	p := donePart{unit: u}
	o, err := t.out.Stat(ctx, t.partKey(u.Number))
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	notes, err := footer(ctx, t.out, o, table.Notes)
	if err != nil {
		return p, err
	}
	p.bytes = o.Size
	if err := json.Unmarshal([]byte(notes[tallyNote]), &p.tally); err != nil {
		return p, fmt.Errorf("%s: its tally cannot be read: %w", t.out.Name(o.Key), err)
	}
	if len(p.tally.Missing) != len(t.model.Players()) {
		return p, fmt.Errorf("%s: its tally is of other columns", t.out.Name(o.Key))
	}
	return p, nil
}

// sample is a table of the first rows of some units.
type sample struct {
	*task
	units []unit
	next  int
	open  table.Source
	from  io.Closer
	taken int
}

// Schema implements table.Source. It has no columns: the audit asks for them by name.
func (*sample) Schema() *table.Schema { return &table.Schema{} }

// Next implements table.Source.
func (s *sample) Next(ctx context.Context) (*table.Table, error) {
	for {
		if s.open == nil {
			if s.next == len(s.units) {
				return nil, io.EOF
			}
			if err := s.begin(ctx, &s.units[s.next]); err != nil {
				return nil, err
			}
			s.next, s.taken = s.next+1, 0
		}
		chunk, err := s.open.Next(ctx)
		if errors.Is(err, io.EOF) || err == nil && s.taken >= rowsOfSample {
			if err := s.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil {
			s.taken += chunk.Rows()
		}
		return chunk, err
	}
}

func (s *sample) begin(ctx context.Context, u *unit) error {
	r, err := s.in.Open(ctx, u.object())
	if err != nil {
		return err
	}
	s.from = r
	s.open, err = s.sourceOf(u, r)
	return err
}

// Close closes the current unit.
func (s *sample) Close() error {
	var err error
	if s.open != nil {
		err = s.open.Close()
	}
	if s.from != nil {
		err = errors.Join(err, s.from.Close())
	}
	s.open, s.from = nil, nil
	return err
}

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
