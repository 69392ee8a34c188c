package plot

import (
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// at finds a text and where it stands.
func at(t *testing.T, list []written, words string) written {
	t.Helper()
	k := slices.IndexFunc(list, func(w written) bool { return w.words == words })
	if k < 0 {
		t.Fatalf("no %q in %q", words, wordsOf(list))
	}
	return list[k]
}

// A colour bar has its lowest value at the bottom: low and high of a beeswarm, the numbers of full colour of a heat map.
func TestColourBarEnds(t *testing.T) {
	e := hours(t, 100)
	p, err := Beeswarm(e, Options{})
	list := texts(t, svg(t, p, err))
	if low, high := at(t, list, "low"), at(t, list, "high"); low.top > high.bottom || low.left != high.left {
		t.Errorf("low is at %v, high at %v", low, high)
	}
	bar := p.side.(colourBar)
	if bar.colour(0) != p.theme.down || bar.colour(1) != p.theme.up {
		t.Error("a beeswarm's low is not blue, or its high not orange")
	}
	p, err = Heatmap(e, Options{})
	list = texts(t, svg(t, p, err))
	var sizes []float64
	for _, x := range e.Mean {
		sizes = append(sizes, math.Abs(x))
	}
	slices.Sort(sizes)
	full := sizes[len(sizes)-5] + .04*(sizes[len(sizes)-4]-sizes[len(sizes)-5]) // quantile .99 of 400: at 395.01
	low, high := at(t, list, digits(-full)), at(t, list, "+"+digits(full))
	if low.top > high.bottom {
		t.Errorf("%s is at %v, %s at %v", digits(-full), low, digits(full), high)
	}
	bar = p.side.(colourBar)
	if bar.colour(0) != p.theme.down || bar.colour(1) != p.theme.up || bar.colour(.5) != p.theme.background {
		t.Error("a heat map's colours do not go from blue by the background to orange")
	}
}

// Of 0/1 columns the lowest value is blue, also where nearly all rows have it.
func TestColourIsByValue(t *testing.T) {
	e := hours(t, 168)
	v, err := viewOf(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	th := themeOf(Options{})
	of, _ := v.colours(th, 1, e.Values[1])
	for row, x := range e.Values[1].Numbers {
		if want := map[float64]color.NRGBA{0: th.down, 1: th.up}[x]; of(row) != want {
			t.Fatalf("row %d, %g: %v, want %v", row, x, of(row), want)
		}
	}
}

// The key of a 0/1 column names its two values; that of a number with many values is a colour bar with its ends.
func TestKeyNamesValues(t *testing.T) {
	e := hours(t, 168)
	p, err := Dependence(e, Options{Columns: []string{"hr", "workingday"}})
	list := texts(t, svg(t, p, err))
	title := at(t, list, "workingday")
	var below []string
	for _, w := range list {
		if w.left >= title.left && w.top < title.bottom {
			below = append(below, w.words)
		}
	}
	if !slices.Equal(below, []string{"0", "1"}) {
		t.Errorf("below the key's title stand %q", below)
	}
	p, err = Dependence(e, Options{Columns: []string{"hr", "temp"}})
	if bar, ok := p.side.(colourBar); err != nil || !ok || bar.title != "temp" || !(number(t, bar.low) < .1) || !(number(t, bar.high) > .9) {
		t.Errorf("the side of temp is %+v", p.side)
	}
	p, err = Groups(e, Options{Columns: []string{"workingday"}})
	list = texts(t, svg(t, p, err))
	at(t, list, "0 (24 rows)")
	at(t, list, "1 (144 rows)")
}

// Ticks of numbers with few values are these values.
func TestTicksOfValues(t *testing.T) {
	e := hours(t, 300)
	e.Players = append(e.Players[:3:3], "year")
	e.Values[3] = table.NumberColumn("year", slices.Repeat([]float64{2011}, e.Rows), nil)
	for column, want := range map[string]string{"hr": "0 5 10 15 20", "workingday": "0 1", "season": "1 2 3 4", "year": "2011"} {
		p, err := Dependence(e, Options{Columns: []string{column}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tick := range p.plot.X.Tick.Marker.Ticks(p.plot.X.Min, p.plot.X.Max) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: ticks %q, want %s", column, got, want)
		}
	}
}

// Hours of a day are not put together, but numbers that nearly every row has for itself are.
func TestGroupsOfFewValues(t *testing.T) {
	e := hours(t, 480)
	p, err := Groups(e, Options{Columns: []string{"hr"}})
	if err != nil {
		t.Fatal(err)
	}
	n := len(e.Players)
	for i, size := range numbers(t, p, "mean_size") {
		d, hour := slices.Index(e.Players, p.Data.Column("player").Text(i)), number(t, p.Data.Column("group").Text(i))
		want, rows := 0.0, 0
		for row := int(hour); row < e.Rows; row += 24 {
			want, rows = want+math.Abs(e.Mean[row*n+d]), rows+1
		}
		if want /= float64(rows); math.Abs(size-want) > 1e-12 || numbers(t, p, "rows")[i] != float64(rows) {
			t.Errorf("%s at %g: %g, want %g of %d rows", e.Players[d], hour, size, want, rows)
		}
	}
	if p.Data.Rows() != 24*n {
		t.Errorf("%d cells", p.Data.Rows())
	}
}

// The predictions stand above a heat map: their ends are written, and the line falls.
func TestPredictionsAboveAHeatmap(t *testing.T) {
	e := hours(t, 100)
	p, err := Heatmap(e, Options{})
	list := texts(t, svg(t, p, err))
	high, low := at(t, list, digits(slices.Max(e.Prediction))), at(t, list, digits(slices.Min(e.Prediction)))
	name, first := at(t, list, "f(x)"), at(t, list, "hr")
	if !(high.bottom > name.top && name.bottom > low.top && low.bottom > first.top) {
		t.Errorf("high %v, f(x) %v, low %v, hr %v", high, name, low, first)
	}
	// The line has a point for each row, as high above the last as its prediction is.
	var curve []float64
	path := regexp.MustCompile(`d="M([^"]*)" style="fill:none;stroke:#1E1E1E;stroke-width:1.2"`).FindStringSubmatch(svg(t, p, nil))[1]
	for point := range strings.SplitSeq(path, "L") {
		_, y, _ := strings.Cut(point, ",")
		curve = append(curve, number(t, y))
	}
	rows := numbers(t, p, "row")[:e.Rows]
	least, greatest, foot, top := slices.Min(e.Prediction), slices.Max(e.Prediction), curve[len(curve)-1], curve[0]
	for i, row := range rows {
		if got, want := (curve[i]-foot)/(top-foot), (e.Prediction[int(row)]-least)/(greatest-least); !(math.Abs(got-want) < .001) {
			t.Fatalf("row %g is at %.4f of the height, want %.4f", row, got, want)
		}
	}
	for i, row := range rows[1:] {
		if e.Prediction[int(row)] > e.Prediction[int(rows[i])] {
			t.Fatalf("row %g stands behind row %g, whose prediction is lower", row, rows[i])
		}
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -1.5: "-1.5", 33.4567: "33.5", .0123456: "0.0123", 189.449: "189", 1987.4: "1987", 234567.8: "234568", 1e7: "1e+07", 2.34567e9: "2.35e+09",
		.00001234: "1.23e-05", 9.999: "10", 99.96: "100", .4: "0.4", 100: "100", 130: "130",
	} {
		if got := digits(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
	if got := fmt.Sprint(signed(1.234), " ", signed(-1.234), " ", signed(0)); got != "+1.23 -1.23 0" {
		t.Error(got)
	}
}
