package serve

import "sync"

// fixed is a constant answer in all its encodings, which costs next to nothing to send.
type fixed struct {
	contentType string
	forms       map[string][]byte // by content encoding; "" is the answer itself
}

// fixedAnswer builds an answer at the first request for it.
func fixedAnswer(contentType string, body func() ([]byte, error)) func(x *exchange) error {
	made := sync.OnceValues(func() (*fixed, error) {
		plain, err := body()
		if err != nil {
			return nil, err
		}
		f := &fixed{contentType, map[string][]byte{"": plain}}
		for _, how := range []string{gzipped, deflated} {
			f.forms[how] = packed(how, plain)
		}
		return f, nil
	})
	return func(x *exchange) error {
		f, err := made()
		if err != nil {
			return err
		}
		how := packingFor(x.r.Header.Get("Accept-Encoding"))
		x.w.Header().Set("Vary", "Accept-Encoding")
		return x.send(f.contentType, how, f.forms[how])
	}
}
