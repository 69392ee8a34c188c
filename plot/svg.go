package plot

import (
	"bytes"
	"html"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// svgText matches a text as the drawing library writes it: style, size, style and words.
var svgText = regexp.MustCompile(`transform="scale\(1, -1\)"\n\tstyle="font-family:Liberation Sans;([^"]*)font-size:([0-9.]+)px;([^"]*)">([^<]+)</text>`)

// families lists fonts with the letter widths of Liberation Sans, which the layout uses.
const families = "Liberation Sans,Arial,Helvetica,Arimo,Nimbus Sans,sans-serif"

// fitText adds the width of each text. Fonts are not part of an SVG file, and a replacement font must not run off the
// page.
func fitText(file []byte, style draw.TextStyle) []byte {
	return svgText.ReplaceAllFunc(file, func(found []byte) []byte {
		parts := svgText.FindSubmatch(found)
		size, err := strconv.ParseFloat(string(parts[2]), 64)
		if err != nil {
			return found
		}
		style.Font.Size = vg.Points(size)
		width := style.Width(html.UnescapeString(string(parts[4]))).Points()
		return []byte(`transform="scale(1, -1)" textLength="` + strconv.FormatFloat(width, 'f', 2, 64) + `" lengthAdjust="spacingAndGlyphs"` +
			"\n\t" + `style="font-family:` + families + ";" + string(parts[1]) + "font-size:" + string(parts[2]) + "px;" + string(parts[3]) + `">` + string(parts[4]) + "</text>")
	})
}

// dotMark is a dash offset on lines without dashes. The drawing library cannot round the ends of lines; roundDots
// recognises the paths whose lines are dots by this mark.
const dotMark = vg.Length(7)

var (
	svgDots = regexp.MustCompile(`<path d="[^"]*" style="[^"]*;stroke-dashoffset:7" />`)
	svgDot  = regexp.MustCompile(`(M[^ML"]+)L[^ML"]+`)
)

// roundDots turns lines without length into dots.
func roundDots(file []byte) []byte {
	return svgDots.ReplaceAllFunc(file, func(path []byte) []byte {
		return bytes.Replace(svgDot.ReplaceAll(path, []byte("${1}h0")), []byte("stroke-dashoffset:7"), []byte("stroke-linecap:round"), 1)
	})
}
