package plot

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// sample is an explanation of rows of three numbers and a category, some of them missing, that adds up.
func sample(t *testing.T, rows int) *explain.Explanation {
	t.Helper()
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	players := []string{"age", "a name that is far too long to be written beside a picture of any size", "town", "empty"}
	e := &explain.Explanation{
		Head: "exact", Mode: explain.Fast, Exact: true, Z: 1.96, Top: 3, Outputs: []string{"y"}, Scale: explain.Identity,
		Players: players, Rows: rows,
	}
	values := make([][]float64, 2)
	var towns []string
	observed := make([][]bool, len(players))
	for range rows {
		sum := 0.0
		for d := range players {
			there := d != 3 && !(d == 1 && rng.IntN(5) == 0)
			observed[d] = append(observed[d], there)
			e.Observed = append(e.Observed, there)
			mean, std := 0.0, 0.0
			if there {
				mean, std = rng.NormFloat64()*float64(3-d), rng.Float64()
			}
			e.Mean, e.Std = append(e.Mean, mean), append(e.Std, std)
			sum += mean
			for other := range players {
				pair := 0.0
				if there && other != d {
					pair = float64(d + other)
				}
				e.Interactions = append(e.Interactions, pair)
			}
		}
		for d := range values {
			values[d] = append(values[d], rng.Float64()*50)
		}
		towns = append(towns, []string{"Aachen", "Bonn", "Celle"}[rng.IntN(3)])
		e.Base, e.Prediction = append(e.Base, 10), append(e.Prediction, 10+sum)
		e.PredictionStd, e.HiddenStd, e.Residual = append(e.PredictionStd, 1), append(e.HiddenStd, 0), append(e.Residual, 0)
	}
	e.Values = []*table.Column{
		table.NumberColumn("age", values[0], observed[0]), table.NumberColumn(players[1], values[1], observed[1]),
		table.CategoryColumn("town", towns, observed[2]), table.NumberColumn("empty", make([]float64, rows), observed[3]),
	}
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	return e
}

type drawer = func(*explain.Explanation, Options) (*Picture, error)

var drawers = map[string]drawer{
	"bar": Bar, "beeswarm": Beeswarm, "waterfall": Waterfall, "force": Force, "ranking": Ranking, "dependence": Dependence,
	"interaction": Interaction, "decision": Decision, "heatmap": Heatmap, "groups": Groups,
}

// Every kind draws in every format, light and dark, with many rows and with one, and says how to read it.
func TestEveryKindDraws(t *testing.T) {
	for _, rows := range []int{1, 30, 1000} {
		e := sample(t, rows)
		for kind, draw := range drawers {
			for _, o := range []Options{{}, {Dark: true, MaxPlayers: 2}, {Row: rows - 1}} {
				if kind == "groups" {
					o.Columns = []string{"town"}
				}
				p, err := draw(e, o)
				if err != nil {
					t.Errorf("%s of %d rows: %v", kind, rows, err)
					continue
				}
				if p.Title == "" || p.Read == "" || p.Data == nil || p.Data.Rows() == 0 {
					t.Errorf("%s of %d rows lacks a title, a sentence or data", kind, rows)
				}
				for format, start := range map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF"} {
					var b bytes.Buffer
					if err := p.Write(&b, format); err != nil || !strings.HasPrefix(b.String(), start) || b.Len() < 500 {
						t.Errorf("%s of %d rows as %s: %d bytes, error %v", kind, rows, format, b.Len(), err)
					}
				}
			}
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	e := sample(t, 3)
	for what, draw := range map[string]func() (*Picture, error){
		"row 3":       func() (*Picture, error) { return Waterfall(e, Options{Row: 3}) },
		"row -1":      func() (*Picture, error) { return Force(e, Options{Row: -1}) },
		"no column":   func() (*Picture, error) { return Dependence(e, Options{Columns: []string{"height"}}) },
		"no output":   func() (*Picture, error) { return Bar(e, Options{Output: "z"}) },
		"no groups":   func() (*Picture, error) { return Groups(e, Options{}) },
		"all missing": func() (*Picture, error) { return Groups(e, Options{Columns: []string{"empty"}}) },
		"no promises": func() (*Picture, error) { return Calibration(nil, "level", Options{}) },
		"no history": func() (*Picture, error) {
			return History(strings.NewReader("member,phase,step,loss,score\n"), Options{})
		},
		"other columns": func() (*Picture, error) { return Fidelity(e, sample(t, 2), Options{}) },
	} {
		if p, err := draw(); err == nil || p != nil {
			t.Errorf("%s: picture %v, error %v", what, p, err)
		}
	}
	e.Interactions = nil
	if _, err := Interaction(e, Options{}); err == nil {
		t.Error("interactions that were not asked for are no error")
	}
}

func numbers(t *testing.T, p *Picture, column string) []float64 {
	t.Helper()
	c := p.Data.Column(column)
	if c == nil {
		t.Fatalf("no column %s", column)
	}
	return c.Numbers
}

// The data of a bar are the means of |attribution|, the greatest first.
func TestBarData(t *testing.T) {
	e := sample(t, 200)
	p, err := Bar(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sizes := numbers(t, p, "mean_size")
	if !slices.IsSortedFunc(sizes, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Errorf("sizes %v are not sorted", sizes)
	}
	for i, size := range sizes {
		d := slices.Index(e.Players, p.Data.Columns[0].Text(i))
		want, n := 0.0, 0
		for row := range e.Rows {
			want += math.Abs(e.Mean[row*4+d]) / float64(e.Rows)
			if e.Observed[row*4+d] {
				n++
			}
		}
		if math.Abs(size-want) > 1e-12 || int(numbers(t, p, "observed")[i]) != n {
			t.Errorf("%s: size %g of %g rows, want %g of %d", e.Players[d], size, numbers(t, p, "observed")[i], want, n)
		}
	}
	total := 0.0
	for _, share := range numbers(t, p, "share_of_variance") {
		total += share
	}
	if math.Abs(total-1) > 1e-12 {
		t.Errorf("shares of the variance add up to %g", total)
	}
}

// The parts of a waterfall add up to the prediction, also where the small ones are drawn as one, and missing ones are
// marked.
func TestWaterfallAddsUp(t *testing.T) {
	e := sample(t, 50)
	for row := range e.Rows {
		for most := 2; most < 6; most++ {
			p, err := Waterfall(e, Options{Row: row, MaxPlayers: most})
			if err != nil {
				t.Fatal(err)
			}
			at := e.Base[row]
			for _, x := range numbers(t, p, "mean") {
				at += x
			}
			if math.Abs(at-e.Prediction[row]) > 1e-9 {
				t.Errorf("row %d, %d parts: they end at %g, not %g", row, most, at, e.Prediction[row])
			}
			for i := range p.Data.Rows() {
				if p.Data.Columns[0].Text(i) == "empty" && p.Data.Column("missing").Numbers[i] != 1 {
					t.Errorf("row %d: a missing cell is not marked", row)
				}
			}
		}
	}
}

// Ranks are those of mean + z·std.
func TestRankingData(t *testing.T) {
	e := sample(t, 5)
	p, err := Ranking(e, Options{Row: 2})
	if err != nil {
		t.Fatal(err)
	}
	z, rank, value := numbers(t, p, "z"), numbers(t, p, "rank"), numbers(t, p, "attribution")
	for i := range z {
		better := 0
		for j := range z {
			if z[j] == z[i] && value[j] > value[i] {
				better++
			}
		}
		if int(rank[i]) != better+1 {
			t.Fatalf("z %g: rank %g, but %d are greater", z[i], rank[i], better)
		}
	}
}

// What pictures of many rows hold is what the explanation holds.
func TestDataOfManyRows(t *testing.T) {
	e := sample(t, 30)
	of := func(p *Picture, err error) *Picture {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for what, p := range map[string]*Picture{"beeswarm": of(Beeswarm(e, Options{})), "heatmap": of(Heatmap(e, Options{}))} {
		row, mean := numbers(t, p, "row"), numbers(t, p, "mean")
		for i := range row {
			d := slices.Index(e.Players, p.Data.Column("player").Text(i))
			if want := e.Mean[int(row[i])*4+d]; mean[i] != want {
				t.Fatalf("%s, row %g, %s: %g, want %g", what, row[i], e.Players[d], mean[i], want)
			}
		}
	}
	p := of(Dependence(e, Options{Columns: []string{"age"}}))
	for i, row := range numbers(t, p, "row") {
		if at := int(row); numbers(t, p, "value")[i] != e.Values[0].Numbers[at] || numbers(t, p, "mean")[i] != e.Mean[at*4] || numbers(t, p, "std")[i] != e.Std[at*4] {
			t.Fatalf("dependence, row %d is not the explanation's", at)
		}
	}
	// A row's line goes from its prediction to its base.
	p = of(Decision(e, Options{}))
	first, last := map[int]float64{}, map[int]float64{}
	for i, row := range numbers(t, p, "row") {
		if _, seen := first[int(row)]; !seen {
			first[int(row)] = numbers(t, p, "value")[i]
		}
		last[int(row)] = numbers(t, p, "value")[i]
	}
	for row := range first {
		if first[row] != e.Prediction[row] || math.Abs(last[row]-e.Base[row]) > 1e-9 {
			t.Errorf("decision, row %d: from %g to %g, want %g to %g", row, first[row], last[row], e.Prediction[row], e.Base[row])
		}
	}
}

// Groups are means over their rows, interactions over all.
func TestDataOfGroupsAndPairs(t *testing.T) {
	e := sample(t, 60)
	p, err := Groups(e, Options{Columns: []string{"town"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range numbers(t, p, "mean_size") {
		d, group := slices.Index(e.Players, p.Data.Column("player").Text(i)), p.Data.Column("group").Text(i)
		sum, n := 0.0, 0
		for row := range e.Rows {
			if e.Values[2].Text(row) == group {
				sum, n = sum+math.Abs(e.Mean[row*4+d]), n+1
			}
		}
		if math.Abs(size-sum/float64(n)) > 1e-12 || int(numbers(t, p, "rows")[i]) != n {
			t.Errorf("%s in %s: %g, want %g of %d rows", e.Players[d], group, size, sum/float64(n), n)
		}
	}
	if p, err = Groups(e, Options{Columns: []string{"age"}}); err != nil || !strings.HasPrefix(p.Data.Column("group").Text(0), "up to ") {
		t.Errorf("groups of a number: %v", err)
	}
	if p, err = Interaction(e, Options{}); err != nil {
		t.Fatal(err)
	}
	for i, size := range numbers(t, p, "mean_size") {
		a, b := slices.Index(e.Players, p.Data.Column("a").Text(i)), slices.Index(e.Players, p.Data.Column("b").Text(i))
		want := 0.0
		for row := range e.Rows {
			want += math.Abs(e.Interactions[(row*4+a)*4+b]) / float64(e.Rows)
		}
		if math.Abs(size-want) > 1e-12 {
			t.Errorf("%s and %s: %g, want %g", e.Players[a], e.Players[b], size, want)
		}
	}
}

// A cell's place is by its value: the lowest is at 0 and the highest at 1, however many rows have them, and extremes leave
// the middle 90 % of rows apart.
func TestPlaces(t *testing.T) {
	hundredth, rare, rarest := make([]float64, 101), make([]float64, 101), make([]float64, 1001)
	for i := range hundredth {
		hundredth[i] = float64(i)
	}
	hundredth[0], hundredth[100] = -1e6, 1e6
	for i := range 9 {
		rare[i] = 1
	}
	rarest[7] = 5
	for what, c := range map[string]struct {
		values []float64
		want   map[int]float64 // by row
	}{
		"extremes":       {hundredth, map[int]float64{0: 0, 4: 0, 5: 0, 50: .5, 86: .9, 95: 1, 99: 1, 100: 1}},
		"0 and 1":        {rare, map[int]float64{0: 1, 8: 1, 9: 0, 100: 0}},
		"one of 1001":    {rarest, map[int]float64{0: 0, 7: 1}},
		"all alike":      {[]float64{3, 3, 3}, map[int]float64{1: .5}},
		"only one value": {[]float64{3}, map[int]float64{0: .5}},
	} {
		e := sample(t, len(c.values))
		e.Values[0] = table.NumberColumn("age", c.values, nil)
		v, err := viewOf(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		place := v.place(0)
		for row, want := range c.want {
			if got, ok := place(row); !ok || math.Abs(got-want) > 1e-12 {
				t.Errorf("%s, row %d: place %g, %v, want %g", what, row, got, ok, want)
			}
		}
		if _, ok := v.place(2)(0); ok {
			t.Error("a category has a place")
		}
	}
}

func TestTrust(t *testing.T) {
	e := sample(t, 20)
	same, err := Fidelity(e, e, Options{})
	if err != nil || !strings.Contains(same.Title, "error is 0 ") {
		t.Errorf("an explanation against itself: %v, %v", same, err)
	}
	c, err := Calibration([]CalibrationPoint{{.2, .25, 40}, {.8, .7, 0}, {.9, .9, 10}}, "probability", Options{})
	if err != nil || !slices.Equal(numbers(t, c, "kept"), []float64{.25, .9}) {
		t.Errorf("calibration: %v", err)
	}
	history := "member,phase,step,loss,score\n0,fit,10,1,0.5\n0,fit,20,0.5,0.4\n0,spread,5,1,1.5\n"
	h, err := History(strings.NewReader(history), Options{})
	if err != nil || !slices.Equal(numbers(t, h, "step"), []float64{10, 20, 25}) {
		t.Errorf("history: %v", err)
	}
	if len(h.below) != 0 {
		t.Errorf("a phase with one score has a panel")
	}
}

func TestFormats(t *testing.T) {
	for path, want := range map[string]string{"a.svg": "svg", "b/c.PNG": "png", "d.pdf": "pdf", "e.jpg": "", "f": ""} {
		if got, err := FormatOf(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	p, err := Bar(sample(t, 2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(&bytes.Buffer{}, "gif"); err == nil {
		t.Error("an unknown format is no error")
	}
}

// The parts of a waterfall of pairs add up too; pairs are named by both players, and no standard deviation is made up.
func TestWaterfallOfPairsAddsUp(t *testing.T) {
	e := house(t, 40)
	for row := range e.Rows {
		for _, most := range []int{3, 30} {
			p, err := Waterfall(e, Options{Row: row, MaxPlayers: most, Pairs: true})
			if err != nil {
				t.Fatal(err)
			}
			at := e.Base[row]
			for _, x := range numbers(t, p, "mean") {
				at += x
			}
			if math.Abs(at-e.Prediction[row]) > 1e-9 {
				t.Errorf("row %d, %d parts: they end at %g, not %g", row, most, at, e.Prediction[row])
			}
			if slices.Contains(p.Data.Column("std").Observed, true) {
				t.Error("a part of an attribution has a standard deviation")
			}
			found := false
			for i := range p.Data.Rows() {
				if p.Data.Column("player").Text(i) == "area" && p.Data.Column("with") != nil && p.Data.Column("with").Text(i) == "town" {
					found = true
					if got := numbers(t, p, "mean")[i]; got != e.Interactions[row*36+1] {
						t.Errorf("area × town is %g, not %g", got, e.Interactions[row*36+1])
					}
				}
			}
			if !found && most == 30 {
				t.Error("the pair is not there")
			}
		}
	}
	e.Interactions = nil
	if _, err := Waterfall(e, Options{Pairs: true}); err == nil {
		t.Error("pairs of an explanation without interactions are no error")
	}
}

// What is missing is not there as a number.
func TestMissingCellsHaveNoNumber(t *testing.T) {
	e := house(t, 30)
	p, err := Heatmap(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	gaps := 0
	for i, there := range p.Data.Column("mean").Observed {
		d, row := slices.Index(e.Players, p.Data.Column("player").Text(i)), int(numbers(t, p, "row")[i])
		if there != e.Observed[row*len(e.Players)+d] {
			t.Errorf("row %d, %s: there %v", row, e.Players[d], there)
		}
		if !there {
			gaps++
		}
	}
	if gaps == 0 {
		t.Error("no gap to look at")
	}
}

// A gap that training took for a value has an attribution, and is drawn beside the axis, not at 0.
func TestGapThatIsAValue(t *testing.T) {
	e := house(t, 30)
	area := *e.Values[0]
	area.Observed = slices.Clone(area.Observed)
	area.Observed[4] = false
	e.Values[0] = &area
	p, err := Dependence(e, Options{Columns: []string{"area"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range numbers(t, p, "row") {
		if (row == 4) == p.Data.Column("value").Observed[i] {
			t.Errorf("row %g: value known %v", row, row != 4)
		}
	}
	axis := axisOf(p.plot, &area)
	if axis.place(4) != axis.gap || axis.gap <= slices.Max(area.Numbers) || axis.place(3) != area.Numbers[3] {
		t.Errorf("row 4 is at %g, the place for gaps at %g", axis.place(4), axis.gap)
	}
}

func TestNumbersThatCannotBeDrawn(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		e := house(t, 3)
		e.Mean[2] = x
		for kind, draw := range drawers {
			if p, err := draw(e, Options{Columns: []string{"town"}}); err == nil {
				t.Errorf("%s of %g: %v", kind, x, p)
			}
		}
	}
}

func ExampleWaterfall() {
	e := &explain.Explanation{
		Mode: explain.Fast, Z: 2, Top: 1, Outputs: []string{"price"}, Scale: explain.Identity, Players: []string{"rooms", "age"}, Rows: 1,
		Base: []float64{100}, Prediction: []float64{130}, PredictionStd: []float64{5}, HiddenStd: []float64{0}, Residual: []float64{0},
		Mean: []float64{40, -10}, Std: []float64{4, 3}, Observed: []bool{true, true},
		Values: []*table.Column{table.NumberColumn("rooms", []float64{5}, nil), table.NumberColumn("age", []float64{60}, nil)},
	}
	p, err := Waterfall(e, Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Title)
	for i := range p.Data.Rows() {
		fmt.Println(p.Data.Columns[0].Text(i), p.Data.Column("mean").Numbers[i])
	}
	// Output:
	// Row 0: the prediction is 130 ± 10, from a base of 100
	// rooms 40
	// age -10
}
