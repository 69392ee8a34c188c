package store

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const fileScheme = "file"

// address is a parsed URL. Its path is used literally: a % is a %, as in the tools of the object stores.
type address struct {
	scheme, bucket, path string
	query                url.Values
}

// AddressError reports an invalid address.
type AddressError struct{ Where, Message, Remedy string }

func (e *AddressError) Error() string { return e.Where + ": " + e.Message + "; " + e.Remedy }

// IsURL distinguishes a URL from a path.
func IsURL(where string) bool { return strings.Contains(where, "://") }

func parseAddress(where string) (address, error) {
	scheme, rest, _ := strings.Cut(where, "://")
	rest, query, _ := strings.Cut(rest, "?")
	a := address{scheme: scheme}
	switch scheme {
	case fileScheme:
		if query != "" || !strings.HasPrefix(rest, "/") {
			return a, &AddressError{where, "this is no URL of a file", "write file:// and the full path, as in file:///data/rows.parquet"}
		}
		a.path = rest
		return a, nil
	case "s3":
	case "gs", "azblob":
		if !hasCloud {
			return a, &AddressError{where, "this program was built without " + scheme + "://", "build one that has it (make psi-cloud), or use s3:// or file://"}
		}
	default:
		return a, &AddressError{where, scheme + ":// is no store that is known", "use s3://, gs://, azblob:// or file://"}
	}
	var err error
	if a.query, err = url.ParseQuery(query); err != nil {
		return a, &AddressError{where, "what follows the ? cannot be read: " + err.Error(), "write name=value, with & between them"}
	}
	a.bucket, a.path, _ = strings.Cut(rest, "/")
	if a.bucket == "" {
		return a, &AddressError{where, "the bucket's name is missing", "write it behind " + scheme + "://"}
	}
	a.path = a.query.Get("prefix") + a.path
	a.query.Del("prefix")
	return a, nil
}

// opener returns the URL that opens the bucket.
func (a address) opener() string {
	return (&url.URL{Scheme: a.scheme, Host: a.bucket, RawQuery: a.query.Encode()}).String()
}

// at returns the name of a path in the bucket.
func (a address) at(path string) string { return a.scheme + "://" + a.bucket + "/" + path }

// Overlap reports whether in, as passed to Open, and out, as passed to Create, overlap: in is inside out, or in could
// match objects written to out. It resolves links and several names of one directory. Invalid addresses overlap with
// nothing.
func Overlap(in, out string) bool {
	from, fromURL := addressOf(in)
	to, toURL := addressOf(out)
	switch {
	case fromURL && toURL:
		return from.sameBucket(to) && overlapInBucket(from.path, to.path)
	case fromURL || toURL:
		return false
	}
	return overlapOnDisk(from.path, to.path)
}

// addressOf returns a bucket's address, or a path alone.
func addressOf(where string) (a address, inBucket bool) {
	if !IsURL(where) {
		return address{path: where}, false
	}
	a, err := parseAddress(where)
	return a, err != nil || a.scheme != fileScheme // an invalid address is not a path either
}

// sameBucket compares what distinguishes buckets of one name, as far as both addresses contain it.
func (a address) sameBucket(b address) bool {
	for _, setting := range []string{"endpoint", "storage_account", "domain"} {
		if x, y := a.query.Get(setting), b.query.Get(setting); x != y && x != "" && y != "" {
			return false
		}
	}
	return a.scheme == b.scheme && a.bucket == b.bucket && a.bucket != ""
}

func overlapInBucket(in, out string) bool {
	below := func(prefix string) string {
		if prefix == "" || strings.HasSuffix(prefix, "/") {
			return prefix
		}
		return prefix + "/"
	}
	out = below(out)
	directory, rest := splitPattern(in, urlWildcards)
	if strings.HasPrefix(directory, out) {
		return true
	}
	if !strings.ContainsAny(rest, urlWildcards) { // it may be an object, or a prefix
		return strings.HasPrefix(out, below(in))
	}
	inside, is := strings.CutPrefix(out, directory)
	return is && enters(rest, strings.Split(strings.TrimSuffix(inside, "/"), "/"))
}

func overlapOnDisk(in, out string) bool {
	location, rest, err := openDisk(in)
	if err != nil {
		return false
	}
	directory := location.Name("")
	if _, is := below(out, directory); is {
		return true
	}
	inside, is := below(directory, out)
	return is && enters(rest, inside)
}

// enters reports whether a pattern can match objects below a directory.
func enters(text string, directory []string) bool {
	p, err := parsePattern(text)
	return err == nil && p.enters(directory)
}

// below reports whether a path, existing or not, is a directory or lies below it, and by which names.
func below(directory, path string) (names []string, is bool) {
	above, err := os.Stat(directory)
	if err != nil {
		return nil, false
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, false
	}
	for { // what does not exist yet contains no links
		resolved, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = resolved
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return nil, false
		}
		names = slices.Insert(names, 0, filepath.Base(path))
		path = filepath.Dir(path)
	}
	for {
		found, err := os.Stat(path)
		if err == nil && os.SameFile(found, above) {
			return names, true
		}
		if err != nil || filepath.Dir(path) == path {
			return nil, false
		}
		names = slices.Insert(names, 0, filepath.Base(path))
		path = filepath.Dir(path)
	}
}
