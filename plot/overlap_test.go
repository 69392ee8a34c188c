package plot

import (
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
)

// written is a text of an SVG file and where it stands, in points from the lower left.
type written struct {
	words                    string
	left, right, bottom, top float64
}

var (
	textLine = regexp.MustCompile(`<text x="([^"]+)" y="([^"]+)"[^>]*textLength="([^"]+)"[^>]*font-size:([0-9.]+)px[^>]*>([^<]*)</text>`)
	strokeOf = regexp.MustCompile(`<path d="M([0-9.]+),([0-9.-]+)L([0-9.]+),([0-9.-]+)" style="fill:none;stroke:#([0-9A-F]{6})`)
)

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// texts are those of a file that are not turned.
func texts(t *testing.T, file string) (list []written) {
	t.Helper()
	// The drawing library writes a group for a turn, and ends it behind the text.
	for i, part := range strings.Split(file, "rotate(") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "</text>")
		}
		for _, m := range textLine.FindAllStringSubmatch(part, -1) {
			x, y, width, size := number(t, m[1]), -number(t, m[2]), number(t, m[3]), number(t, m[4])
			list = append(list, written{html.UnescapeString(m[5]), x, x + width, y, y + .7*size})
		}
	}
	return list
}

func wordsOf(list []written) (words []string) {
	for _, w := range list {
		words = append(words, w.words)
	}
	return words
}

// overlapping checks that no two texts lie on each other.
func overlapping(t *testing.T, what string, list []written) {
	t.Helper()
	for i, a := range list {
		for _, b := range list[:i] {
			if a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top {
				t.Errorf("%s: %q lies on %q", what, a.words, b.words)
			}
		}
	}
}

// No label lies on another, whatever the number of columns, the length of their names and the size of the page.
func TestLabelsDoNotOverlap(t *testing.T) {
	for what, e := range map[string]*explain.Explanation{"house": house(t, 40), "hundred": hundred(t), "hours": hours(t, 400)} {
		for kind, draw := range drawers {
			for _, o := range []Options{{}, {Row: 5}, {Most: 100}, {Most: 3}, {Pairs: true}, {Width: 6, Height: 5}, {Width: 12, Height: 9, Row: 7}} {
				if kind == "groups" {
					o.Columns = []string{e.Players[1]}
				}
				p, err := draw(e, o)
				list := texts(t, svg(t, p, err))
				if len(list) < 4 {
					t.Fatalf("%s of %s: texts %q", kind, what, wordsOf(list))
				}
				overlapping(t, fmt.Sprintf("%s of %s, %+v", kind, what, o), list)
			}
		}
	}
	p, err := History(strings.NewReader(goldenHistory), Options{})
	overlapping(t, "history", texts(t, svg(t, p, err)))
}

func hexOf(c color.NRGBA) string { return fmt.Sprintf("%02X%02X%02X", c.R, c.G, c.B) }

// The lines from the bars of a force picture to their names cross no other text, nor does that of the base, and texts are on
// the page.
func TestLinesToNamesCrossNoOther(t *testing.T) {
	for what, e := range map[string]*explain.Explanation{"house": house(t, 40), "hundred": hundred(t), "hours": hours(t, 40)} {
		for row := range 20 {
			for _, o := range []Options{{Row: row}, {Row: row, Most: 100}, {Row: row, Width: 5, Height: 4}} {
				p, err := Force(e, o)
				file := svg(t, p, err)
				list, leaders := texts(t, file), 0
				for _, m := range strokeOf.FindAllStringSubmatch(file, -1) {
					switch m[5] {
					case hexOf(p.theme.faint):
						leaders++
					case hexOf(p.theme.small): // the base's
					default:
						continue
					}
					x, from, to := number(t, m[1]), number(t, m[2]), number(t, m[4])
					for _, w := range list {
						if x > w.left && x < w.right && min(from, to) < w.top && max(from, to) > w.bottom {
							t.Errorf("%s, row %d, %+v: a line crosses %q", what, row, o, w.words)
						}
					}
				}
				if leaders == 0 {
					t.Errorf("%s, row %d: no line leads to a name", what, row)
				}
				for _, w := range list {
					if w.left < 0 || w.right > p.width.Points() {
						t.Errorf("%s, row %d, %+v: %q leaves the page", what, row, o, w.words)
					}
				}
			}
		}
	}
}
