package store

import (
	"net/url"
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
