package serve

import "sync"

// fixed is an answer that is always the same, in all its encodings. Whoever asks for it costs next to nothing.
type fixed struct {
	contentType string
	forms       map[string][]byte // by content encoding; "" is the answer itself
}

// fixedAnswer makes an answer when it is first asked for.
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
