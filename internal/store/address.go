package store

import (
	"fmt"
	"net/url"
	"strings"
)

const fileScheme = "file"

// address is a URL taken apart. Its path is taken as it is written: a % is a %, as in the tools of the object stores.
type address struct {
	scheme, bucket, path string
	query                url.Values
}

// IsURL tells a URL from a path.
func IsURL(where string) bool { return strings.Contains(where, "://") }

func parseAddress(where string) (address, error) {
	scheme, rest, _ := strings.Cut(where, "://")
	rest, query, _ := strings.Cut(rest, "?")
	a := address{scheme: scheme}
	switch scheme {
	case fileScheme:
		if query != "" || !strings.HasPrefix(rest, "/") {
			return a, fmt.Errorf("%s: a file's URL is file:// and its full path, as in file:///data/rows.parquet", where)
		}
		a.path = rest
		return a, nil
	case "s3", "gs", "azblob":
	default:
		return a, fmt.Errorf("%s: %s:// is no store that is known; use s3://, gs://, azblob:// or file://", where, scheme)
	}
	var err error
	if a.query, err = url.ParseQuery(query); err != nil {
		return a, fmt.Errorf("%s: what follows the ? cannot be read: %w", where, err)
	}
	a.bucket, a.path, _ = strings.Cut(rest, "/")
	if a.bucket == "" {
		return a, fmt.Errorf("%s: the bucket's name is missing", where)
	}
	a.path = a.query.Get("prefix") + a.path
	a.query.Del("prefix")
	return a, nil
}

// opener is the URL by which the bucket is opened.
func (a address) opener() string {
	return (&url.URL{Scheme: a.scheme, Host: a.bucket, RawQuery: a.query.Encode()}).String()
}

// at is the name of what has that path in the bucket.
func (a address) at(path string) string { return a.scheme + "://" + a.bucket + "/" + path }
