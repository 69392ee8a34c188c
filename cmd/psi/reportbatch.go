package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/report"
)

// batchReported is what report says of the file of a batch.
type batchReported struct {
	Schema string `json:"schema"`
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	Model  string `json:"model"`
	Job    string `json:"job"`
	Rows   int    `json:"rows"`   // explained
	Failed int    `json:"failed"` // units
	Done   string `json:"done"`   // verdict on completeness
	Trust  string `json:"trust"`  // verdict on attributions
}

// summaryAt is the summary of a batch: a JSON file, or one in the place where parts lie.
type summaryAt struct {
	argument string
	place    *store.Location
	key      string
	out      string // OUT; "" if it is not known
}

func (s *summaryAt) name() string { return s.place.Name(s.key) }

// findSummary is nil if DATA names tables.
func (p *program) findSummary(ctx context.Context, argument string) (*summaryAt, error) {
	if argument == standardInput {
		return nil, nil //nolint:nilnil // standard input is a table
	}
	place, pattern, err := store.Open(ctx, argument)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // whoever looks for tables there says it better
	}
	s := &summaryAt{argument: argument, place: place, key: batch.SummaryKey, out: place.Name("")}
	key, single := store.Single(pattern)
	switch {
	case single && strings.HasSuffix(strings.ToLower(key), ".json"):
		if s.key = key; filepath.Base(key) != batch.SummaryKey {
			s.out = ""
		}
		return s, nil
	case pattern == "":
		_, err := place.Stat(ctx, s.key)
		if err == nil {
			return s, nil
		}
		_, job := (&batch.Runner{Out: argument}).Job(ctx)
		if errors.Is(err, store.ErrNotFound) && job == nil {
			err = &plainError{s.out, "this batch has no summary yet: it is not finished", "see psi batch status " + s.out}
			return nil, errors.Join(err, place.Close())
		}
	}
	return nil, place.Close()
}

// reportBatch makes the report of a whole batch from its summary. Rows are not read.
func (p *program) reportBatch(ctx context.Context, path string, at *summaryAt, cover report.Cover, f *reportFlags) error {
	for _, flag := range []string{"by", "z", "format", "backend"} {
		if f.given(flag) {
			return &usageError{"--" + flag + " does not apply here: " + at.name() + " is the summary of a batch, and has no rows", "leave it out, or name a table"}
		}
	}
	summary, err := batch.ReadSummary(ctx, at.argument)
	if err != nil {
		return unreadable(at.name(), err)
	}
	model, err := psi.OpenOptions{Backend: psi.Go}.Open(path) // nothing is computed, and go needs no library
	if err != nil {
		return err
	}
	defer model.Close()
	b, err := report.GatherBatch(model, filepath.Base(path), runOf(at, summary), cover)
	if err != nil {
		return inFile(err, at.name())
	}
	batchInFlags(b)
	written, err := p.writePage(ctx, f.out, func(to *counter) error { return report.WriteBatch(to, b) })
	if err != nil {
		return err
	}
	if f.json {
		return p.document(batchReported{"psi.reported.batch/v1", f.out, written, model.Digest(), b.Run.Job, b.Run.Rows, b.Run.Failed, b.Done.Verdict, b.Trust.Verdict})
	}
	p.note("%s: batch of %s, %s explained, %d kB", f.out, prose.Count(b.Run.Files, "file"), prose.Count(b.Run.Rows, "row"), written/1000)
	p.note("%s", b.Done.Verdict)
	p.note("%s", b.Trust.Verdict)
	return nil
}

// unreadable says of a summary what to do about it.
func unreadable(name string, err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, store.ErrNotFound):
		return &plainError{name, "there is no such file", "check the path"}
	case syntax || kind:
		return &plainError{name, strings.TrimPrefix(err.Error(), name+": "), "copy it again, or recreate it with psi batch resume"}
	case errors.Is(err, fs.ErrPermission):
		return &plainError{name, "permission denied", "check its permissions, or the credentials"}
	}
	return &plainError{name, strings.TrimPrefix(strings.TrimPrefix(err.Error(), name), ": "), "name the " + batch.SummaryKey + " of a batch, or a table"}
}

// runOf is what a report needs of a summary.
func runOf(at *summaryAt, s *batch.Summary) report.Run {
	job := s.Job
	in := job.In
	if store.IsURL(in) {
		in, _, _ = strings.Cut(in, "?")
	}
	r := report.Run{
		Name: at.name(), Out: at.out, Job: job.ID, Model: job.Model, In: in, Mode: job.Options.Mode, Z: job.Options.Z, Submitted: job.Submitted, Seconds: s.Seconds,
		Files: job.Files, Units: job.Units, Failed: s.Failed, Rows: s.Rows, BytesRead: job.Bytes, BytesWritten: s.BytesWritten, ResidualMax: s.ResidualMax, Audit: s.Audit,
	}
	for _, m := range s.Missing {
		r.Missing = append(r.Missing, report.RunMissing(m))
	}
	for _, o := range s.Outputs {
		output := report.RunOutput{Output: o.Output, NDCG: o.NDCG}
		for _, player := range o.Players {
			output.Players = append(output.Players, report.RunPlayer(player))
		}
		r.Outputs = append(r.Outputs, output)
	}
	for _, failure := range s.Failures {
		if failure != nil {
			r.Failures = append(r.Failures, report.RunFailure(*failure))
		}
	}
	return r
}
