package report

import (
	"fmt"
	"io"
)

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
