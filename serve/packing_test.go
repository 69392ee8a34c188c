package serve

import "testing"

func TestPackingFor(t *testing.T) {
	for accept, want := range map[string]string{
		"":                           "",
		"gzip":                       gzipped,
		"GZip":                       gzipped,
		"deflate":                    deflated,
		"deflate, gzip":              gzipped,
		"gzip, deflate, br, zstd":    gzipped,
		"gzip;q=0.2, deflate;q=0.5":  deflated,
		"gzip;q=0":                   "",
		"gzip; q=0, deflate":         deflated,
		"identity":                   "",
		"*":                          gzipped,
		"br;q=1.0, *;q=0.1":          gzipped,
		"notgzip":                    "",
		"gzip;q=none":                "",
		"deflate;q=0.5, gzip;q=0.5,": gzipped,
	} {
		if got := packingFor(accept); got != want {
			t.Errorf("Accept-Encoding %q gives %q, want %q", accept, got, want)
		}
	}
}
