package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // s3://
)

// bucket holds the objects of a bucket whose keys begin with a prefix.
type bucket struct {
	address address
	prefix  string // with a trailing slash, or empty
	blobs   *blob.Bucket
}

// newBucket opens the bucket of an address. The first request shows whether it exists.
func newBucket(ctx context.Context, a address, prefix string) (*bucket, error) {
	blobs, err := blob.OpenBucket(ctx, a.opener())
	if err != nil {
		return nil, &AddressError{a.at(a.path), "the bucket cannot be opened: " + err.Error(), "check what follows the ? and the credentials"}
	}
	return &bucket{a, prefix, blobs}, nil
}

// openBucket finds an object, a prefix or a pattern.
func openBucket(ctx context.Context, a address) (*Location, string, error) {
	directory, rest := splitPattern(a.path, urlWildcards)
	b, err := newBucket(ctx, a, directory)
	if err != nil {
		return nil, "", err
	}
	give := func(p string, err error) (*Location, string, error) {
		if err != nil {
			return nil, "", errors.Join(err, b.close())
		}
		return &Location{b}, p, nil
	}
	if rest == "" {
		_, err := b.first(ctx)
		return give("", err)
	}
	_, err = b.stat(ctx, rest)
	switch {
	case err == nil:
		return give(Quote(rest), nil)
	case strings.ContainsAny(rest, urlWildcards):
		_, err := parsePattern(rest)
		return give(rest, err)
	case !errors.Is(err, ErrNotFound):
		return give("", err)
	}
	b.prefix = a.path + "/"
	some, err := b.first(ctx)
	if err == nil && !some {
		err = fmt.Errorf("%s: %w, and nothing below it", a.at(a.path), ErrNotFound)
	}
	return give("", err)
}

func createBucket(ctx context.Context, a address) (*Location, error) {
	prefix := a.path
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	b, err := newBucket(ctx, a, prefix)
	if err != nil {
		return nil, err
	}
	if _, err := b.first(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return &Location{b}, nil
}

// first reports whether there is any object. It fails if the bucket does not answer.
func (b *bucket) first(ctx context.Context) (bool, error) {
	page, _, err := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: b.prefix})
	return len(page) > 0, fault(b.address.at(b.prefix), err)
}

func (b *bucket) name(key string) string { return b.address.at(b.prefix + key) }

func (b *bucket) list(ctx context.Context, p pattern) iter.Seq2[Object, error] {
	const page = 1000
	options := &blob.ListOptions{Prefix: b.prefix + p.prefix()}
	if p.flat() {
		options.Delimiter = "/"
	}
	return func(yield func(Object, error) bool) {
		for token := blob.FirstPageToken; token != nil; {
			objects, next, err := b.blobs.ListPage(ctx, token, page, options)
			if err != nil {
				yield(Object{}, fault(b.address.at(options.Prefix), err))
				return
			}
			for _, o := range objects {
				key, is := strings.CutPrefix(o.Key, b.prefix)
				// Some tools represent a directory by a key with a trailing slash.
				if is && !o.IsDir && !strings.HasSuffix(key, "/") && p.matches(key) && !yield(b.listed(key, o), nil) {
					return
				}
			}
			token = next
		}
	}
}

func (b *bucket) listed(key string, o *blob.ListObject) Object {
	var of types.Object
	if o.As(&of) && of.ETag != nil {
		return Object{key, o.Size, *of.ETag}
	}
	return Object{key, o.Size, version(o.ModTime.Unix(), o.MD5)}
}

// version returns the version of an object in a store whose listings have no ETag in the library.
func version(modified int64, digest []byte) string { return fmt.Sprintf("%d-%x", modified, digest) }

// tags reports whether versions are ETags, which requests can check.
func (b *bucket) tags() bool {
	var client *s3.Client
	return b.blobs.As(&client)
}

func (b *bucket) stat(ctx context.Context, key string) (Object, error) {
	a, err := b.blobs.Attributes(ctx, b.prefix+key)
	if err != nil {
		return Object{}, fault(b.name(key), err)
	}
	if b.tags() {
		return Object{key, a.Size, a.ETag}, nil
	}
	return Object{key, a.Size, version(a.ModTime.Unix(), a.MD5)}, nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	return fault(b.name(key), b.blobs.Delete(ctx, b.prefix+key))
}

func (b *bucket) close() error { return b.blobs.Close() }

// create uploads the object in parts of a few megabytes; the store shows it when all have arrived.
func (b *bucket) create(ctx context.Context, key string) (*Writer, error) {
	const partBytes, atOnce = 8 << 20, 2
	ctx, cancel := context.WithCancel(ctx)
	w, err := b.blobs.NewWriter(ctx, b.prefix+key, &blob.WriterOptions{BufferSize: partBytes, MaxConcurrency: atOnce, ContentType: "application/octet-stream"})
	if err != nil {
		cancel()
		return nil, fault(b.name(key), err)
	}
	finish := func() error {
		defer cancel()
		return w.Close()
	}
	drop := func() {
		cancel()
		_ = w.Close() // fails because the context was cancelled, which drops the parts
	}
	return &Writer{to: w, name: b.name(key), finish: finish, drop: drop}, nil
}

// open sends no request to a store that checks the version with every range.
func (b *bucket) open(ctx context.Context, o Object) (access, error) {
	options := &blob.ReaderOptions{}
	var same func() error
	if b.tags() {
		options.BeforeRead = func(as func(any) bool) error {
			var get *s3.GetObjectInput
			if as(&get) {
				get.IfMatch = &o.Version
			}
			return nil
		}
	} else {
		same = func() error { return (&Location{b}).Same(ctx, o) }
		if err := same(); err != nil {
			return nil, err
		}
	}
	start := func(offset, length int64) (*blob.Reader, error) {
		return b.blobs.NewRangeReader(ctx, b.prefix+o.Key, offset, length, options)
	}
	pause := func() error { return rest(ctx) }
	return &ranges{name: b.name(o.Key), size: o.Size, start: start, pause: pause, same: same}, nil
}
