package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Columns that are asked for are shown, and no others.
func TestColumnsAskedFor(t *testing.T) {
	e := house(t, 40)
	o := Options{Columns: []string{"rooms", "area"}}
	for kind, draw := range drawers {
		if kind == "dependence" || kind == "groups" || kind == "interaction" {
			continue
		}
		p, err := draw(e, o)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Join(wordsOf(texts(t, svg(t, p, err))), "\n")
		for _, name := range []string{"area", "rooms"} {
			if !strings.Contains(list, name) {
				t.Errorf("%s does not show %s", kind, name)
			}
		}
		for _, name := range []string{"town", "garden", "year in"} {
			if strings.Contains(list, name) {
				t.Errorf("%s shows %s", kind, name)
			}
		}
		if _, err := draw(e, Options{Columns: []string{"cellar"}}); err == nil || !strings.Contains(err.Error(), "cellar") {
			t.Errorf("%s of a column that is not there: %v", kind, err)
		}
	}
	p, err := Groups(e, Options{Columns: []string{"town", "area"}})
	if err != nil || !slices.Equal(p.Data.Column("player").Levels, []string{"area"}) {
		t.Errorf("groups of one column: %v", err)
	}
	p, err = Interaction(e, o)
	if err != nil || p.Data.Rows() != 1 {
		t.Errorf("interactions of two columns: %v", err)
	}
	if p, err = Drift(e, later(e), o); err != nil || !strings.Contains(p.Read, "2 of 6 columns") {
		t.Errorf("drift of two columns: %v", err)
	}
}

// The parts of a waterfall add up to the prediction, also if columns were asked for.
func TestWaterfallOfColumnsAddsUp(t *testing.T) {
	e := house(t, 40)
	for row := range e.Rows {
		for _, o := range []Options{{}, {Pairs: true}, {MaxPlayers: 2}} {
			o.Row, o.Columns = row, []string{"town", "rooms"}
			p, err := Waterfall(e, o)
			if err != nil {
				t.Fatal(err)
			}
			at := e.Base[row]
			for i, x := range numbers(t, p, "mean") {
				at += x
				if name := p.Data.Column("player").Text(i); !o.Pairs && name != "town" && name != "rooms" && name != "others" {
					t.Errorf("row %d: %s was not asked for", row, name)
				}
			}
			if math.Abs(at-e.Prediction[row]) > 1e-9 {
				t.Errorf("row %d, %+v: the parts end at %g, not %g", row, o, at, e.Prediction[row])
			}
		}
	}
}

// A page has the title and the size that were asked for, and nothing leaves it.
func TestTitleAndSize(t *testing.T) {
	e := house(t, 40)
	for kind, draw := range drawers {
		o := Options{Title: "What a house costs", Width: 8, Height: 5.5}
		if kind == "groups" {
			o.Columns = []string{"town"}
		}
		p, err := draw(e, o)
		file := svg(t, p, err)
		if !strings.Contains(file, `width="576pt" height="396pt"`) || !strings.Contains(file, ">What a house costs<") || p.Title != o.Title {
			t.Errorf("%s: size or title are not those asked for: %s", kind, file[:200])
		}
		if at, ok := edge(p.raster(50).Image(), p.theme.background); !ok {
			t.Errorf("%s: something is drawn at the edge, %v", kind, at)
		}
	}
	if p, err := Bar(hundred(t), Options{MaxPlayers: 100, Height: 5}); err != nil || !strings.Contains(p.Read, "The 19 most important of 100") {
		t.Errorf("as many columns as there is room for: %v", err)
	}
}

// What was drawn names rows by their numbers in the table that they were drawn from.
func TestRowNumbers(t *testing.T) {
	e := house(t, 5)
	o := Options{RowNumbers: []int{3, 14, 15, 92, 653}, Columns: []string{"area"}}
	for kind, draw := range map[string]drawer{"beeswarm": Beeswarm, "heatmap": Heatmap, "decision": Decision, "dependence": Dependence} {
		p, err := draw(e, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range numbers(t, p, "row") {
			if !slices.Contains(o.RowNumbers, int(row)) {
				t.Errorf("%s: there is no row %g", kind, row)
			}
		}
	}
	o.Row = 4
	if p, err := Waterfall(e, o); err != nil || !strings.HasPrefix(p.Title, "Row 653:") {
		t.Errorf("waterfall: %v", err)
	}
}

// Rows are drawn at random: of a table that repeats itself each day, all hours are.
func TestSomeRows(t *testing.T) {
	rows := someRows(24*200, 400)
	seen := map[int]int{}
	for i, row := range rows {
		seen[row%24]++
		if i > 0 && row <= rows[i-1] {
			t.Fatalf("row %d behind row %d", row, rows[i-1])
		}
	}
	if len(rows) != 400 || len(seen) != 24 {
		t.Errorf("%d rows of %d hours", len(rows), len(seen))
	}
	if middle := rows[200]; middle < 24*80 || middle > 24*120 {
		t.Errorf("half of the rows are before row %d of 4800", middle)
	}
	if !slices.Equal(rows, someRows(24*200, 400)) {
		t.Error("drawn twice, they differ")
	}
	if got := someRows(3, 5); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("5 of 3 rows are %v", got)
	}
}

// A beeswarm draws every row that it is given, and is wide where there are many.
func TestBeeswarmOfAllRows(t *testing.T) {
	e := hours(t, 3000)
	p, err := Beeswarm(e, Options{})
	if err != nil || p.Data.Rows() != e.Rows*len(e.Players) {
		t.Fatalf("%d dots, %v", p.Data.Rows(), err)
	}
	var many []float64
	for i := range 1000 {
		many = append(many, float64(i%10)/1000) // dense
	}
	many = append(many, 1, 2, 2)
	list := asides(many)
	widest := 0.0
	for i, aside := range list {
		if math.Abs(aside) > .4+1e-12 {
			t.Fatalf("dot %d leaves its line: %g", i, aside)
		}
		widest = max(widest, math.Abs(aside))
	}
	if math.Abs(widest-.4) > 1e-12 || list[1000] != 0 || math.Abs(list[1002]) > .01 {
		t.Errorf("widest %g, a dot alone at %g, the second of two at %g", widest, list[1000], list[1002])
	}
}

// Dots of an SVG file are lines without length, and as many as can be told apart.
func TestRoundDots(t *testing.T) {
	in := `<path d="M1.5,2L1.5,2M3,4L3,4" style="fill:none;stroke:#0072B2;stroke-width:3;stroke-dashoffset:7" />` + "\n" + `<path d="M1,2L3,4" style="fill:none;stroke:#0072B2" />`
	want := `<path d="M1.5,2h0M3,4h0" style="fill:none;stroke:#0072B2;stroke-width:3;stroke-linecap:round" />` + "\n" + `<path d="M1,2L3,4" style="fill:none;stroke:#0072B2" />`
	if got := string(roundDots([]byte(in))); got != want {
		t.Errorf("got %s", got)
	}
	e := house(t, 40)
	p, err := Dependence(e, Options{Columns: []string{"area"}})
	file := svg(t, p, err)
	if n := strings.Count(file, "h0"); n != e.Rows || strings.Contains(file, "dashoffset") {
		t.Errorf("%d dots of %d rows", n, e.Rows)
	}
}

// Bars of classes are stacked: their data are the importances of each class, the largest sum first.
func TestStackedBars(t *testing.T) {
	for _, classes := range []int{3, 9} {
		e := flowers(t, 50, classes)
		p, err := Bar(e, Options{})
		list := texts(t, svg(t, p, err))
		at(t, list, "class a")
		if classes > 6 {
			at(t, list, "4 others")
		}
		sums := map[string]float64{}
		for i, size := range numbers(t, p, "mean_size") {
			player, class := p.Data.Column("player").Text(i), p.Data.Column("class").Text(i)
			d, k, want := slices.Index(e.Players, player), slices.Index(e.Outputs, class), 0.0
			for row := range e.Rows {
				want += math.Abs(e.Mean[(row*classes+k)*3+d]) / float64(e.Rows)
			}
			if math.Abs(size-want) > 1e-12 {
				t.Errorf("%s for %s: %g, want %g", player, class, size, want)
			}
			sums[player] += size
		}
		order := p.Data.Column("player").Levels
		if !slices.IsSortedFunc(order, func(a, b string) int { return int(math.Copysign(1, sums[b]-sums[a])) }) || p.Data.Rows() != 3*classes {
			t.Errorf("%q of sizes %v", order, sums)
		}
		if p.plot.X.Max < slices.Max([]float64{sums[order[0]], sums[order[1]], sums[order[2]]}) {
			t.Errorf("the axis ends at %g, before the bars", p.plot.X.Max)
		}
		if one, err := Bar(e, Options{Output: "class b"}); err != nil || one.Data.Column("class") != nil {
			t.Errorf("one class: %v", err)
		}
	}
}

// Each phase of a history has an axis of its own.
func TestHistoryHasAxes(t *testing.T) {
	p, err := History(strings.NewReader(goldenHistory), Options{})
	if err != nil || len(p.below) != 1 {
		t.Fatalf("%v", err)
	}
	for i, want := range [][2]float64{{.4, .9}, {.66, .7}} {
		axis := append([]float64{}, p.plot.Y.Min, p.plot.Y.Max)
		if i == 1 {
			axis = []float64{p.below[0].Y.Min, p.below[0].Y.Max}
		}
		if !slices.Equal(axis, want[:]) {
			t.Errorf("phase %d: axis %v, want %v", i, axis, want)
		}
	}
	for _, name := range []string{"fit", "spread"} {
		if !strings.Contains(svg(t, p, nil), ">"+name+"<") {
			t.Errorf("%s is not named", name)
		}
	}
}

// Numbers of titles have three digits.
func TestTitlesHaveThreeDigits(t *testing.T) {
	e := house(t, 3)
	e.Prediction[1], e.Base[1], e.PredictionStd[1] = 287.65432, 250.1234, 3.14159/1.96
	for kind, draw := range map[string]drawer{"waterfall": Waterfall, "force": Force, "ranking": Ranking} {
		p, err := draw(e, Options{Row: 1})
		if want := "Row 1: the prediction is 288 ± 3.14, from a base of 250"; err != nil || p.Title != want {
			t.Errorf("%s: %q, want %q (%v)", kind, p.Title, want, err)
		}
	}
}

// The title counts the columns whose p, adjusted for their number, is an alarm.
func TestDriftCountsAlarms(t *testing.T) {
	for _, rows := range []int{20, 60, 400} {
		e := house(t, rows)
		p, err := Drift(e, later(e), Options{})
		if err != nil {
			t.Fatal(err)
		}
		alarms := 0
		for i, x := range p.Data.Column("p").Numbers {
			if x <= .05 {
				alarms++
			}
			if crosses := p.Data.Column("distance").Numbers[i] > p.Data.Column("chance").Numbers[i]; crosses != (x <= .05) {
				t.Errorf("%d rows: %s crosses its line: %v, but p = %v", rows, p.Data.Column("player").Text(i), crosses, x)
			}
		}
		if want := fmt.Sprintf("%d of 6 columns", alarms); alarms == 0 || !strings.HasPrefix(p.Title, want) {
			t.Errorf("%d rows: %q, want %s", rows, p.Title, want)
		}
	}
}
