package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://
)

// suffix of model files.
const suffix = ".psi"

// mostBytes is the size of the largest model file that is read: more than ten times what the largest network has.
const mostBytes = 1 << 30

// place is where model files lie: a bucket or a directory, of which a single file may be all that counts.
type place struct {
	bucket *blob.Bucket
	only   string // key of the single file; "" is all
}

// found is a model file in a place.
type found struct {
	place         *place
	key           string
	name, version string
	modified      time.Time
	size          int64
}

// same tells whether two findings are of one content, as far as a listing shows.
func (f found) same(o found) bool {
	return f.place == o.place && f.key == o.key && f.size == o.size && f.modified.Equal(o.modified)
}

// openPlace understands a model file, a directory of them or the URL of a bucket.
func openPlace(ctx context.Context, where string) (*place, error) {
	if strings.Contains(where, "://") {
		address, prefix, _ := strings.Cut(where, "?prefix=")
		bucket, err := blob.OpenBucket(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if prefix != "" {
			bucket = blob.PrefixedBucket(bucket, prefix)
		}
		return &place{bucket: bucket}, nil
	}
	info, err := os.Stat(where)
	if err != nil {
		return nil, err
	}
	directory, only := where, ""
	if !info.IsDir() {
		directory, only = filepath.Split(filepath.Clean(where))
		if directory == "" {
			directory = "."
		}
		if !strings.HasSuffix(only, suffix) {
			return nil, fmt.Errorf("%s: a model file ends in %s", where, suffix)
		}
	}
	bucket, err := fileblob.OpenBucket(directory, nil)
	return &place{bucket, only}, err
}

// list is the model files that are there now.
func (p *place) list(ctx context.Context) ([]found, error) {
	var all []found
	objects := p.bucket.List(&blob.ListOptions{Prefix: strings.TrimSuffix(p.only, suffix), Delimiter: "/"})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		base, is := strings.CutSuffix(path.Base(o.Key), suffix)
		if !is || o.IsDir || p.only != "" && o.Key != p.only {
			continue
		}
		f := found{place: p, key: o.Key, name: base, version: "1", modified: o.ModTime, size: o.Size}
		if name, version, has := strings.Cut(base, "@"); has {
			f.name, f.version = name, version
		}
		if f.name != "" && f.version != "" {
			all = append(all, f)
		}
	}
}

// read is the content of a file.
func (f found) read(ctx context.Context) ([]byte, error) {
	if f.size > mostBytes {
		return nil, fmt.Errorf("%s has %d bytes: a model file has at most %d", f.key, f.size, mostBytes)
	}
	return f.place.bucket.ReadAll(ctx, f.key)
}
