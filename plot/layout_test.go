package plot

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// hundred is an explanation of 100 columns, whose names start alike and end differently.
func hundred(t *testing.T) *explain.Explanation {
	t.Helper()
	const seed, rows, n = 13, 30, 100
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	e := &explain.Explanation{
		Head: "learned", Mode: explain.Fast, Z: 1.96, Top: 3, Outputs: []string{"default within the next twelve months"}, Scale: explain.Logit, Rows: rows,
		Interactions: make([]float64, rows*n*n),
	}
	for d := range n {
		e.Players = append(e.Players, fmt.Sprintf("total of all transactions that were booked within the last %d days", 3*d+1))
		values, observed := make([]float64, rows), make([]bool, rows)
		for row := range rows {
			values[row], observed[row] = 1e6*rng.NormFloat64(), rng.IntN(10) > 0
		}
		e.Values = append(e.Values, table.NumberColumn(e.Players[d], values, observed))
	}
	for row := range rows {
		sum := 0.0
		for d := range n {
			mean, std := 0.0, 0.0
			there := e.Values[d].Observed[row]
			if there {
				mean, std = rng.NormFloat64()*math.Exp(-float64(d)/20), .1*rng.Float64()
			}
			sum += mean
			e.Mean, e.Std, e.Observed = append(e.Mean, mean), append(e.Std, std), append(e.Observed, there)
			for b := range d {
				if there && e.Values[b].Observed[row] {
					pair := .1 * rng.NormFloat64()
					e.Interactions[(row*n+d)*n+b], e.Interactions[(row*n+b)*n+d] = pair, pair
				}
			}
		}
		e.Base, e.Prediction, e.Probability = append(e.Base, -1), append(e.Prediction, sum-1), append(e.Probability, 1/(1+math.Exp(1-sum)))
		e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

// Nothing is cut off, whatever the number of columns and the length of their names, light or dark: no dot at the edge of a
// picture differs from the background.
func TestNothingLeavesThePage(t *testing.T) {
	for what, e := range map[string]*explain.Explanation{"house": house(t, 40), "hundred": hundred(t)} {
		for kind, draw := range drawers {
			for _, o := range []Options{{}, {Dark: true, Row: 5}, {MaxPlayers: 100}, {MaxPlayers: 1}, {Pairs: true}} {
				if kind == "groups" {
					o.Columns = []string{e.Players[1]}
				}
				p, err := draw(e, o)
				if err != nil {
					t.Fatalf("%s of %s: %v", kind, what, err)
				}
				drawn := p.raster(50).Image()
				if dir := os.Getenv("PSI_PICTURES"); dir != "" { // to look at
					writePNG(t, filepath.Join(dir, fmt.Sprintf("%s-%s-%d-%v-%v.png", kind, what, o.MaxPlayers, o.Dark, o.Pairs)), p.raster(100).Image())
				}
				if at, ok := edge(drawn, p.theme.background); !ok {
					t.Errorf("%s of %s, %+v: something is drawn at the edge, %v of %v", kind, what, o, at, drawn.Bounds().Size())
				}
			}
		}
	}
}

// edge looks for a dot at the edge that is not of the background.
func edge(drawn image.Image, background color.NRGBA) (at image.Point, ok bool) {
	size := drawn.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			if x > 0 && y > 0 && x < size.X-1 && y < size.Y-1 {
				continue
			}
			if c := color.NRGBAModel.Convert(drawn.At(x, y)).(color.NRGBA); c != background {
				return image.Pt(x, y), false
			}
		}
	}
	return image.Point{}, true
}

func svg(t *testing.T, p *Picture, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// below is the small print of a picture, as it is written.
func below(t *testing.T, p *Picture, err error) string {
	t.Helper()
	drawn := svg(t, p, err)
	foot := strings.Join(p.page().foot, " ")
	for _, line := range p.page().foot {
		if !strings.Contains(drawn, html.EscapeString(line)) {
			t.Errorf("%q is not in the file", line)
		}
	}
	return foot
}

// Long names are cut in the middle: those that start alike can be told apart.
func TestLongNames(t *testing.T) {
	e := hundred(t)
	p, err := Bar(e, Options{MaxPlayers: 100})
	drawn := svg(t, p, err)
	for d, name := range e.Players {
		end := name[len(name)-9:]
		if !strings.Contains(drawn, ">total of all trans…"+end) || strings.Contains(drawn, name) {
			t.Errorf("column %d is not told by its ends, %q", d, end)
		}
	}
	if p, err = Bar(e, Options{}); !strings.Contains(below(t, p, err), "15 most important of 100 columns") {
		t.Error("the picture does not say that there are more columns")
	}
}

// Names that would break a file or the screen are made harmless, and those of other scripts break nothing.
func TestOddNames(t *testing.T) {
	e := house(t, 9)
	e.Players = []string{"a\x00b\x1b[2J", "<script>&\"", "\u202eright to left", "大きな列", "🙂", "line\nbreak"}
	for kind, draw := range drawers {
		o := Options{}
		if kind == "groups" {
			o.Columns = []string{e.Players[1]}
		}
		p, err := draw(e, o)
		drawn := svg(t, p, err)
		if strings.ContainsAny(drawn, "\x00\x1b\u202e") || strings.Contains(drawn, "<script") {
			t.Errorf("%s: a name got into the file as it is", kind)
		}
		for _, format := range []string{"png", "pdf"} {
			if err := p.Write(&bytes.Buffer{}, format); err != nil {
				t.Errorf("%s as %s: %v", kind, format, err)
			}
		}
	}
}

// Every text of an SVG file says how wide it is, so that another font does not run off the page.
func TestTextsOfAnSVGAreAsWideAsTheyWereLaidOut(t *testing.T) {
	e := house(t, 12)
	for kind, draw := range drawers {
		p, err := draw(e, Options{Columns: []string{"town"}})
		drawn := svg(t, p, err)
		if texts, fitted := strings.Count(drawn, "<text"), strings.Count(drawn, "textLength=\""); texts == 0 || texts != fitted {
			t.Errorf("%s: %d of %d texts say how wide they are", kind, fitted, texts)
		}
		if strings.Contains(drawn, "\"> ") || strings.Contains(drawn, " </text>") {
			t.Errorf("%s: a text has spaces at an end, which get lost", kind)
		}
	}
	style := (&Picture{plot: themeOf(Options{}).newPlot("", "", "")}).page().small
	text := "<text x=\"1\" y=\"2\" transform=\"scale(1, -1)\"\n\tstyle=\"font-family:Liberation Sans;a:b;font-size:8px;fill:red\">a &gt; b</text>"
	if got, want := string(fitText([]byte(text), style)), fmt.Sprintf("textLength=\"%.2f\"", style.Width("a > b").Points()); !strings.Contains(got, want) || !strings.HasSuffix(got, "fill:red\">a &gt; b</text>") {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// Every picture of attributions says below it how exact they are.
func TestPicturesSayHowExactTheyAre(t *testing.T) {
	for says, change := range map[string]func(e *explain.Explanation){
		"Exact: these are the Shapley values of the model": func(*explain.Explanation) {},
		"Not exact: the network":                           func(e *explain.Explanation) { e.Exact = false },
		"standard error is at most 0.5": func(e *explain.Explanation) {
			e.Exact, e.Mode, e.StandardError = false, explain.Refined, make([]float64, len(e.Mean))
			e.StandardError[0] = .5
		},
	} {
		e := house(t, 12)
		change(e)
		for kind, draw := range drawers {
			o := Options{}
			if kind == "groups" {
				o.Columns = []string{"town"}
			}
			p, err := draw(e, o)
			if !strings.Contains(below(t, p, err), says) {
				t.Errorf("%s does not say %q", kind, says)
			}
		}
		p, err := Fidelity(e, e, Options{})
		if !strings.Contains(below(t, p, err), says) {
			t.Errorf("fidelity does not say %q", says)
		}
	}
}

// The background is that of the theme, and what is written on it can be read: at least 4.5 to 1, as WCAG asks for text.
func TestContrast(t *testing.T) {
	light := func(c color.NRGBA) float64 {
		linear := func(v uint8) float64 {
			x := float64(v) / 255
			if x <= .04045 {
				return x / 12.92
			}
			return math.Pow((x+.055)/1.055, 2.4)
		}
		return .2126*linear(c.R) + .7152*linear(c.G) + .0722*linear(c.B)
	}
	for _, o := range []Options{{}, {Dark: true}} {
		th := themeOf(o)
		for i := range 6 {
			for j := range i {
				if th.series(i) == th.series(j) {
					t.Errorf("series %d and %d, dark %v: the same colour", j, i, o.Dark)
				}
			}
		}
		for what, c := range map[string]color.NRGBA{"ink": th.ink, "small print": th.small} {
			a, b := light(c)+.05, light(th.background)+.05
			if ratio := math.Max(a, b) / math.Min(a, b); ratio < 4.5 {
				t.Errorf("%s, dark %v: contrast %.2f", what, o.Dark, ratio)
			}
		}
		for share := 0.0; share <= 1; share += .05 { // numbers on the cells of pairs
			cell := mix(th.background, th.up, share)
			a, b := light(th.on(cell))+.05, light(cell)+.05
			if ratio := math.Max(a, b) / math.Min(a, b); ratio < 3.5 {
				t.Errorf("a number on a cell of %.2f, dark %v: contrast %.2f", share, o.Dark, ratio)
			}
		}
		for what, c := range map[string]color.NRGBA{"up": th.up, "down": th.down} {
			a, b := light(c)+.05, light(th.background)+.05
			if ratio := math.Max(a, b) / math.Min(a, b); ratio < 3 {
				t.Errorf("%s, dark %v: contrast %.2f of a drawing", what, o.Dark, ratio)
			}
		}
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{-1.3, 0.45, "-1.0 -0.5 0"},
		{0, 1750, "0 500 1000 1500"},
		{3, 3.004, "3.000 3.001 3.002 3.003 3.004"},
		{-2e-9, 3e-9, "-2e-09 -1e-09 0 1e-09 2e-09 3e-09"},
		{0, 5e9, "0 1e+09 2e+09 3e+09 4e+09 5e+09"},
	} {
		var got []string
		for _, tick := range (roundTicks{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, text, c.want)
		}
	}
}

func TestTimesOnAnAxis(t *testing.T) {
	for want, span := range map[string][2]float64{"2001-09-09 2002-06-25": {1e9, 1.1e9}, "01-01 00:00 01-01 18:00": {0, 3 * 24 * 3600}, "00:00:00 00:00:30": {0, 120}} {
		ticks := (timeTicks{}).Ticks(span[0], span[1])
		if got := ticks[0].Label + " " + ticks[1].Label; got != want {
			t.Errorf("%v: %q, want %q", span, got, want)
		}
	}
}

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
			for _, o := range []Options{{}, {Row: 5}, {MaxPlayers: 100}, {MaxPlayers: 3}, {Pairs: true}, {Width: 6, Height: 5}, {Width: 12, Height: 9, Row: 7}} {
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
			for _, o := range []Options{{Row: row}, {Row: row, MaxPlayers: 100}, {Row: row, Width: 5, Height: 4}} {
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
