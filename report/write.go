package report

import (
	"crypto/sha256"
	_ "embed" // the viewer
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"regexp"

	"github.com/psi-shapley/psi"
)

// The viewer, built from web/.
var (
	//go:embed viewer/viewer.js
	script string
	//go:embed viewer/viewer.css
	style string
)

// page is the whole file. Nothing in it may be loaded from elsewhere. The content security policy allows only these
// two, script and style, by their digests.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="psi %s">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<noscript><p>This report needs JavaScript: allow the browser to run the script in this file. It loads nothing from the network.</p></noscript>
<script type="application/json" id="%s">%s</script>
<script>%s</script>
</body>
</html>
`

// Write writes the page: a single HTML file that needs no network and no other file.
func Write(w io.Writer, r *Report) error { return writePage(w, "report", r.Title, r) }

// WriteBatch writes the page of a batch, in the same way.
func WriteBatch(w io.Writer, b *Batch) error { return writePage(w, "batch", b.Title, b) }

// writePage writes the page of a document; kind is the element id that the viewer looks for.
func writePage(w io.Writer, kind, title string, content any) error {
	document, err := json.Marshal(content) // json.Marshal escapes <, > and &, so that no cell can end the element
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, page, psi.Version(), digest(script), digest(style), html.EscapeString(title), style, kind, document, script)
	return err
}

// Written reports whether a file is a report that psi wrote, of a table or of a batch. start is the first kilobytes of
// the file. It recognises the name of the generator or, in older reports, their security policy, which is unique.
func Written(start []byte) bool {
	mark := regexp.MustCompile(`^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n` +
		`(<meta name="generator" content="psi [^"]*">|<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ` +
		`script-src 'sha256-[^']*'; style-src 'sha256-[^']*'; base-uri 'none'; form-action 'none'">)`)
	return mark.Match(start)
}

// digest returns the digest of a script or a style for a content security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// livePage is the viewer without a report. It contacts only the server that it comes from, for models and for
// explanations of rows that a reader enters.
const livePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>What if</title>
<style>%s</style>
</head>
<body>
<noscript><p>This page asks its server for predictions. Allow the browser to run the script in it.</p></noscript>
<script type="application/json" id="live">{"models":"ui/models","explain":"explain"}</script>
<script>%s</script>
</body>
</html>
`

// WriteLive writes the page that a server shows at /ui. It contains no data.
func WriteLive(w io.Writer) error {
	_, err := fmt.Fprintf(w, livePage, digest(script), digest(style), style, script)
	return err
}
