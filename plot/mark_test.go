package plot

import (
	"bytes"
	"fmt"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every picture carries psi's mark and no date, is otherwise whole, and is the same bytes each time.
func TestMarks(t *testing.T) {
	for kind, draw := range drawers {
		p, err := draw(house(t, 12), Options{Columns: []string{"town"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats() {
			var first, second bytes.Buffer
			if err := p.Write(&first, format); err != nil {
				t.Fatal(err)
			}
			if err := p.Write(&second, format); err != nil {
				t.Fatal(err)
			}
			file := first.Bytes()
			if !bytes.Equal(file, second.Bytes()) {
				t.Errorf("%s as %s: drawn twice, it differs", kind, format)
			}
			if got := Drawn(file, file); got != format {
				t.Errorf("%s as %s: taken for %q", kind, format, got)
			}
			if bytes.Contains(file, []byte("Date")) {
				t.Errorf("%s as %s has a date", kind, format)
			}
			switch format {
			case "png":
				if _, err := png.Decode(bytes.NewReader(file)); err != nil {
					t.Errorf("%s as PNG: %v", kind, err)
				}
			case "pdf":
				checkOffsets(t, file)
			}
		}
	}
}

// checkOffsets sees that each object of a PDF is where its list of objects says.
func checkOffsets(t *testing.T, file []byte) {
	t.Helper()
	_, list, found := strings.Cut(string(file), "\nxref\n")
	if !found {
		t.Fatal("the PDF has no list of objects")
	}
	for number, entry := range regexp.MustCompile(`(\d{10}) \d{5} [nf]`).FindAllStringSubmatch(list, -1) {
		at, err := strconv.Atoi(entry[1])
		if want := fmt.Sprintf("%d 0 obj", number); number > 0 && (err != nil || !bytes.HasPrefix(file[at:], []byte(want))) {
			t.Errorf("object %d of the PDF is not at byte %d", number, at)
		}
	}
}

// Pictures of other programs are not psi's, but SVG pictures from before there were marks are.
func TestOtherPictures(t *testing.T) {
	old := `<?xml version="1.0"?>` + "\n" + svgTheirs + "\n" + `<svg width="1pt" height="1pt"><text style="font-family:` + families + `;">a</text></svg>`
	if got := Drawn([]byte(old), nil); got != "svg" {
		t.Errorf("an old SVG picture is taken for %q", got)
	}
	for what, file := range map[string]string{
		"another SVG":  `<?xml version="1.0"?>` + "\n" + svgTheirs + "\n<svg></svg>",
		"another PNG":  pngStart + "IHDR",
		"another PDF":  "%PDF-1.3\n/Producer (LaTeX)\n",
		"text":         svgMark + pdfMark + pngText,
		"nothing":      "",
		"HTML":         "<!doctype html>" + svgMark,
		"a cut-off":    pngStart[:4],
		"an empty PDF": "%PDF-",
	} {
		if got := Drawn([]byte(file), []byte(file)); got != "" {
			t.Errorf("%s is taken for a picture of psi's, %s", what, got)
		}
	}
}
