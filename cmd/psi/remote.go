package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// remote resolves a URL: an object, or the tables of a prefix or a pattern.
func (d *data) remote(ctx context.Context, where string) error {
	d.name, _, _ = strings.Cut(where, "?")
	place, pattern, err := store.Open(ctx, where)
	if err != nil {
		return d.unreachable(err)
	}
	d.place = place
	_, single := store.Single(pattern)
	d.pattern = !single
	for o, err := range place.List(ctx, pattern) {
		if err != nil {
			return errors.Join(d.unreachable(err), d.close())
		}
		name := place.Name(o.Key)
		if _, err := table.FormatOf(name); err != nil && pattern == "" {
			continue // a prefix may contain other objects too
		}
		d.files, d.objects = append(d.files, name), append(d.objects, o)
	}
	switch {
	case len(d.files) > 0:
		return nil
	case pattern == "":
		return errors.Join(&plainError{d.name, "there are no tables under this prefix", "check the URL; tables end in .csv, .csv.gz, .tsv, .parquet or .arrow"}, d.close())
	}
	return errors.Join(&plainError{d.name, "nothing matches the pattern", "check the URL"}, d.close())
}

// close releases the location of a URL.
func (d *data) close() error {
	if d.place == nil {
		return nil
	}
	return d.place.Close()
}

// unreachable adds a remedy to an error of the store.
func (d *data) unreachable(err error) error {
	if e, is := errors.AsType[*store.AddressError](err); is {
		return &usageError{strings.TrimPrefix(e.Where+": "+e.Message, d.name+": "), e.Remedy}
	}
	remedy := "check the URL"
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		remedy = "check the credentials and their permissions"
	case store.Passing(err):
		remedy = "try again when the store answers"
	}
	return &plainError{d.name, strings.TrimPrefix(err.Error(), d.name+": "), remedy}
}

// openObject opens an object of a bucket, or a file behind a URL.
func (d *data) openObject(ctx context.Context, i int, format table.Format, options table.Options) (table.Source, error) {
	object, err := d.place.Open(ctx, d.objects[i])
	if err != nil {
		return nil, d.unreachable(err)
	}
	options.Name = d.files[i]
	return d.openTable(object, object, format, options)
}
