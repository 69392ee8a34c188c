package plot

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
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

// hours is an explanation of a table that repeats itself each day, of whole numbers with few values, the second of them 0
// and 1.
func hours(t *testing.T, rows int) *explain.Explanation {
	t.Helper()
	rng := rand.New(rand.NewPCG(17, 0))
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Outputs: []string{"cnt"}, Scale: explain.Identity,
		Players: []string{"hr", "workingday", "season", "temp"}, Rows: rows,
	}
	values := make([][]float64, len(e.Players))
	for row := range rows {
		hr, work, season, temp := float64(row%24), float64(min(1, row/24%7)), float64(1+row/24%4), math.Round(100*rng.Float64())/100
		sum := 0.0
		for d, x := range []float64{hr, work, season, temp} {
			values[d] = append(values[d], x)
			mean := []float64{40 * math.Sin(hr/4), 12*work - 6, 3 * (season - 2.5), 30 * (temp - .5)}[d] + rng.NormFloat64()
			sum += mean
			e.Mean, e.Std, e.Observed = append(e.Mean, mean), append(e.Std, 1), append(e.Observed, true)
			e.Interactions = append(e.Interactions, make([]float64, len(e.Players))...)
		}
		e.Base, e.Prediction = append(e.Base, 189), append(e.Prediction, 189+sum)
		e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
	}
	for d, name := range e.Players {
		e.Values = append(e.Values, table.NumberColumn(name, values[d], nil))
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

// flowers is an explanation of so many classes by three columns.
func flowers(t *testing.T, rows, classes int) *explain.Explanation {
	t.Helper()
	rng := rand.New(rand.NewPCG(19, 0))
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Scale: explain.Score, Players: []string{"petal", "sepal", "colour"}, Rows: rows,
	}
	for k := range classes {
		e.Outputs = append(e.Outputs, "class "+string(rune('a'+k)))
	}
	for range rows {
		for k := range classes {
			sum := 0.0
			for d := range e.Players {
				mean := rng.NormFloat64() * float64((d+k)%3+1)
				sum += mean
				e.Mean, e.Std = append(e.Mean, mean), append(e.Std, .2)
			}
			e.Base, e.Prediction, e.Probability = append(e.Base, 0), append(e.Prediction, sum), append(e.Probability, 1/float64(classes))
			e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
		}
		e.Observed = append(e.Observed, true, true, true)
	}
	numbers := make([]float64, rows)
	for d, name := range e.Players {
		for i := range numbers {
			numbers[i] = float64(d) + rng.Float64()
		}
		e.Values = append(e.Values, table.NumberColumn(name, numbers, nil))
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

var rewrite = flag.Bool("rewrite", false, "write testdata/*.png anew; look at each of them")

// house is an explanation of prices of houses that looks like one: numbers, a category, a truth, a group, gaps, an
// interaction of area and town, and a name that is too long.
func house(t *testing.T, rows int) *explain.Explanation {
	t.Helper()
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	towns, steps := []string{"Aachen", "Bonn", "Celle", "Düren"}, []float64{40, 10, -25, -15}
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Outputs: []string{"price"}, Scale: explain.Identity,
		Players: []string{"area", "town", "year in which it was last renovated from the ground up", "garden", "street and noise", "rooms"},
		Rows:    rows,
	}
	n := len(e.Players)
	area, year, rooms, garden, town := make([]float64, rows), make([]float64, rows), make([]float64, rows), make([]bool, rows), make([]string, rows)
	there := make([][]bool, n)
	for row := range rows {
		k := rng.IntN(4)
		area[row], year[row], rooms[row] = 60+100*rng.Float64(), math.Round(1950+70*rng.Float64()), float64(2+rng.IntN(5))
		garden[row], town[row] = rng.IntN(2) == 0, towns[k]
		together := steps[k] * (area[row] - 110) / 100
		mean := []float64{1.5*(area[row]-110) + together/2, steps[k] + together/2, .5 * (year[row] - 1985), 8, -12 * rng.NormFloat64(), 2 * (rooms[row] - 4)}
		if !garden[row] {
			mean[3] = -8
		}
		std := []float64{3 + .1*math.Abs(mean[0]), 6, 4, 2, 10, 5}
		sum := 0.0
		for d := range n {
			is := !(d == 2 && rng.IntN(4) == 0 || d == 5 && row%9 == 5)
			if !is {
				mean[d], std[d] = 0, 0
			}
			there[d], e.Observed, sum = append(there[d], is), append(e.Observed, is), sum+mean[d]
			for b := range n {
				pair := 0.0
				if d+b == 1 {
					pair = together
				}
				e.Interactions = append(e.Interactions, pair)
			}
		}
		e.Mean, e.Std = append(e.Mean, mean...), append(e.Std, std...)
		e.Base, e.Prediction = append(e.Base, 250), append(e.Prediction, 250+sum)
		e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 20), append(e.HiddenStd, 0), append(e.Residual, 0)
	}
	e.Values = []*table.Column{
		table.NumberColumn("area", area, there[0]), table.CategoryColumn("town", town, there[1]), table.NumberColumn("year", year, there[2]),
		table.BooleanColumn("garden", garden, there[3]), nil, table.NumberColumn("rooms", rooms, there[5]),
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

// near is an explanation that is off by a little, as a learned head's is.
func near(e *explain.Explanation) *explain.Explanation {
	rng := rand.New(rand.NewPCG(12, 0))
	off := *e
	off.Exact, off.Mean = false, append([]float64(nil), e.Mean...)
	for i, there := range e.Observed {
		if there {
			off.Mean[i] += 3 * rng.NormFloat64()
		}
	}
	return &off
}

// later is an explanation of other rows, in which gardens count for more and the year is missing more often.
func later(e *explain.Explanation) *explain.Explanation {
	moved := *e
	moved.Mean, moved.Observed = append([]float64(nil), e.Mean...), append([]bool(nil), e.Observed...)
	for row := range e.Rows {
		at := row * len(e.Players)
		moved.Mean[at+3] *= 3
		if row%2 == 0 {
			moved.Mean[at+2], moved.Observed[at+2] = 0, false
		}
	}
	return &moved
}

const goldenHistory = `member,phase,step,loss,score
0,fit,100,1,0.9
0,fit,200,0.5,0.5
0,fit,300,0.4,0.42
0,fit,400,0.36,0.4
0,spread,100,1,0.7
0,spread,200,1,0.66
`

// goldens are the pictures that are kept, by file.
func goldens(t *testing.T) map[string]func() (*Picture, error) {
	e, few := house(t, 60), house(t, 12)
	of := func(draw drawer, e *explain.Explanation, o Options) func() (*Picture, error) {
		return func() (*Picture, error) { return draw(e, o) }
	}
	points := []CalibrationPoint{{.1, .14, 30}, {.3, .27, 60}, {.5, .55, 80}, {.7, .66, 60}, {.9, .93, 30}}
	drops := []LossDrop{
		{"area", 812, 90, 1e-9, true, 60},
		{e.Players[2], 240, 70, .0006, true, 45},
		{"town", 130, 45, .003, true, 60},
		{"rooms", 12, 9, .09, false, 53},
		{"garden", -15, 11, .91, false, 60},
	}
	return map[string]func() (*Picture, error){
		"loss":             func() (*Picture, error) { return LossBar(drops, "squared error", Options{}) },
		"loss-dark":        func() (*Picture, error) { return LossBar(drops, "squared error", Options{Dark: true, MaxPlayers: 4}) },
		"bar":              of(Bar, e, Options{}),
		"bar-classes":      of(Bar, flowers(t, 60, 4), Options{}),
		"groups-hours":     of(Groups, hours(t, 480), Options{Columns: []string{"hr"}, Dark: true}),
		"dependence-hours": of(Dependence, hours(t, 480), Options{Columns: []string{"hr", "workingday"}}),
		"bar-dark":         of(Bar, e, Options{Dark: true, MaxPlayers: 4}),
		"beeswarm":         of(Beeswarm, e, Options{}),
		"beeswarm-dark":    of(Beeswarm, e, Options{Dark: true}),
		"waterfall":        of(Waterfall, few, Options{Row: 5}),
		"waterfall-dark":   of(Waterfall, few, Options{Row: 2, MaxPlayers: 3, Dark: true}),
		"waterfall-trees":  of(Waterfall, trees(house(t, 12)), Options{Row: 5}),
		"beeswarm-trees":   of(Beeswarm, trees(house(t, 60)), Options{}),
		"heatmap-trees":    of(Heatmap, trees(house(t, 60)), Options{Dark: true}),
		"force-trees":      of(Force, trees(house(t, 12)), Options{Row: 5}),
		"dependence-trees": of(Dependence, trees(house(t, 60)), Options{Columns: []string{"area", "town"}}),
		"waterfall-pairs":  of(Waterfall, few, Options{Row: 5, Pairs: true}),
		"force":            of(Force, few, Options{Row: 5}),
		"force-dark":       of(Force, few, Options{Row: 2, Dark: true}),
		"ranking":          of(Ranking, few, Options{Row: 5}),
		"ranking-dark":     of(Ranking, few, Options{Row: 2, MaxPlayers: 4, Dark: true}),
		"dependence":       of(Dependence, e, Options{Columns: []string{"area", "town"}}),
		"dependence-dark":  of(Dependence, e, Options{Columns: []string{e.Players[2]}, Dark: true}),
		"interaction":      of(Interaction, e, Options{}),
		"interaction-dark": of(Interaction, e, Options{Dark: true}),
		"decision":         of(Decision, few, Options{}),
		"decision-dark":    of(Decision, few, Options{MaxPlayers: 3, Dark: true}),
		"heatmap":          of(Heatmap, e, Options{}),
		"heatmap-dark":     of(Heatmap, e, Options{Dark: true}),
		"groups":           of(Groups, e, Options{Columns: []string{"town"}}),
		"groups-dark":      of(Groups, e, Options{Columns: []string{"area"}, Dark: true}),
		"calibration":      func() (*Picture, error) { return Calibration(points, "probability of a class", Options{}) },
		"calibration-dark": func() (*Picture, error) { return Calibration(points, "probability of a class", Options{Dark: true}) },
		"fidelity":         func() (*Picture, error) { return Fidelity(near(e), e, Options{}) },
		"fidelity-dark":    func() (*Picture, error) { return Fidelity(e, e, Options{Dark: true}) },
		"drift":            func() (*Picture, error) { return Drift(e, later(e), Options{}) },
		"drift-dark":       func() (*Picture, error) { return Drift(e, later(e), Options{Dark: true}) },
		"history":          func() (*Picture, error) { return History(strings.NewReader(goldenHistory), Options{}) },
		"history-dark":     func() (*Picture, error) { return History(strings.NewReader(goldenHistory), Options{Dark: true}) },
	}
}

// Pictures are those that somebody looked at. Fonts come with the drawing library, so they are the same everywhere but for
// rounding.
func TestGoldenPictures(t *testing.T) {
	const (
		dots    = 96
		visible = 40   // of 255: differences of a colour that count
		most    = 2e-4 // share of dots that may differ
	)
	for name, draw := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			p, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			drawn := p.raster(dots).Image()
			path := filepath.Join("testdata", name+".png")
			if *rewrite {
				writePNG(t, path, drawn)
				return
			}
			kept := readPNG(t, path)
			if drawn.Bounds() != kept.Bounds() {
				t.Fatalf("%v dots, not %v: if that is meant, go test ./plot -run Golden -rewrite and look", drawn.Bounds().Size(), kept.Bounds().Size())
			}
			if share := differing(drawn, kept, visible); share > most {
				t.Errorf("%.3f%% of the dots differ: if that is meant, go test ./plot -run Golden -rewrite and look", 100*share)
			}
		})
	}
}

// differing is the share of dots that differ by more than a little.
func differing(a, b image.Image, visible int) float64 {
	size, off := a.Bounds().Size(), 0
	for y := range size.Y {
		for x := range size.X {
			p, q := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA), color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				if max(d, -d) > visible {
					off++
					break
				}
			}
		}
	}
	return float64(off) / float64(size.X*size.Y)
}

func writePNG(t *testing.T, path string, drawn image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, drawn); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kept, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

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
	old := `<?xml version="1.0"?>` + "\n" + svgLibraryMark + "\n" + `<svg width="1pt" height="1pt"><text style="font-family:` + families + `;">a</text></svg>`
	if got := Drawn([]byte(old), nil); got != "svg" {
		t.Errorf("an old SVG picture is taken for %q", got)
	}
	for what, file := range map[string]string{
		"another SVG":  `<?xml version="1.0"?>` + "\n" + svgLibraryMark + "\n<svg></svg>",
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
