package explain

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/psi-shapley/psi/table"
)

func textOf(t *testing.T, e *Explanation, options TextOptions) string {
	t.Helper()
	var out strings.Builder
	if err := Text(&out, e, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// blockOf is the lines of the players of an explanation of one row.
func blockOf(t *testing.T, e *Explanation, options TextOptions) []string {
	t.Helper()
	_, rest, found := strings.Cut(textOf(t, e, options), "\nRow ")
	if !found {
		t.Fatal("no row")
	}
	block, _, _ := strings.Cut(rest, "\n\n")
	var lines []string
	for _, line := range strings.Split(block, "\n")[1:] {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTextFitsTheScreen(t *testing.T) {
	rng := newRand(t)
	for _, s := range append(shapes(), shape{rows: 3, outputs: 2, players: 40, sampled: true, interactions: true, doubt: true}) {
		e := randomExplanation(rng, s)
		for i := range e.Players {
			e.Players[i] += []string{"", " of a column that has a long name", "大きな列の名前大きな列の名前", "\x1b[2J\n\u202e"}[rng.IntN(4)]
		}
		for i := range e.Outputs {
			e.Outputs[i] += []string{"", " with a long name that nobody would give to a class", "大きな列の名前大きな列の名前"}[rng.IntN(3)]
		}
		for range e.Observed {
			e.Other = append(e.Other, rng.IntN(3) == 0)
		}
		all := []*Explanation{e}
		if s.probability && s.outputs > 1 {
			one, err := e.Contrast(e.Outputs[0], e.Outputs[1])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		for _, width := range []int{1, 40, 60, 80, 120, 300} {
			for i, ascii := range []bool{false, true, false, true}[:2*len(all)] {
				text := textOf(t, all[i/2], TextOptions{Width: width, ASCII: ascii, Players: 5})
				for line := range strings.SplitSeq(text, "\n") {
					if got := screenWidth(line); got > max(width, 40) {
						t.Errorf("%d columns of %d: %q", got, width, line)
					}
					for _, r := range line {
						if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || ascii && r > 0x7f && !strings.ContainsRune("大きな列の名前ü−", r) {
							t.Errorf("%U in %q", r, line)
						}
					}
				}
			}
		}
	}
}

func TestTextOrdersAndAddsUp(t *testing.T) {
	e := onePrediction([]float64{0.1, -3, 0.2, 0, 2, -0.3, 0.4}, []float64{0.3, 0, 0.4, 0, 1, 0, 0}, 1)
	e.Z, e.Observed[3] = 1, false
	e.Residual[0] = 0.5
	var got []string
	for _, line := range blockOf(t, e, TextOptions{Players: 3}) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"x1 █████████████████████│ -3.00 ± 0.00 lowers it",
		"x4 │██████████████─────── +2.00 ± 1.00 raises it",
		"x6 │██▊ +0.40 ± 0.00 raises it",
		"3 others ────│──── 0.00 ± 0.50 50% up", // −0.3 + 0.2 + 0.1, √(0.3² + 0.4²)
		"not attributed: +0.50",
		"missing: x3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if lines := blockOf(t, e, TextOptions{Players: 5}); len(lines) != 8 || strings.Contains(strings.Join(lines, ""), "others") {
		t.Errorf("one player is hidden behind a line about it: %q", lines)
	}
}

func TestTextShowsTheLikeliestOutput(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 1, outputs: 3, players: 2, probability: true})
	e.Observed = []bool{true, true}
	e.Mean, e.Std = []float64{-1, 0, 2, 1, 1, 2}, make([]float64, 6)
	e.Outputs = []string{"setosa", "versicolor", "virginica"}
	e.Prediction = []float64{-1, 2.5, 2.6}
	e.Probability = []float64{0.04, 0.56, 0.4} // the spread of a score can change the order
	text := textOf(t, e, TextOptions{})
	if !strings.Contains(text, ": P(versicolor) = 0.56, P(virginica) = 0.40; score 2.5") || strings.Contains(text, "setosa") ||
		!strings.Contains(text, "Of the 3 classes") {
		t.Errorf("not only the likeliest of three outputs:\n%s", text)
	}
	one, err := e.Only("setosa")
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, one, TextOptions{}); !strings.Contains(text, ": P(setosa) = 0.040; score -1.") || strings.Contains(text, "virginica") ||
		!strings.Contains(strings.ReplaceAll(text, "\n", " "), "added to the score of setosa or subtracted") || strings.Contains(text, "Of the") {
		t.Errorf("not the output that was asked for:\n%s", text)
	}
	lead, err := e.Contrast("virginica", "setosa")
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, lead, TextOptions{}); !strings.Contains(text, ": virginica − setosa = 3.6") || strings.Contains(text, "P(") ||
		!strings.Contains(strings.ReplaceAll(text, "\n", " "), "the difference between the scores of two classes") {
		t.Errorf("not the contrast:\n%s", text)
	}
}

func TestChancesAreNeverSure(t *testing.T) {
	for p, want := range map[float64]string{
		0: "< 0.001", 0.0004: "< 0.001", 0.004: "= 0.004", 0.0996: "= 0.10", 0.834: "= 0.83", 0.9: "= 0.90", 0.9876: "= 0.988", 0.9991: "> 0.999", 1: "> 0.999",
	} {
		if got := chance(p); got != want {
			t.Errorf("%v is told as %q, want %q", p, got, want)
		}
	}
}

// A gap that is a value has an attribution, and one that is not has none.
func TestTextOfGaps(t *testing.T) {
	e := onePrediction([]float64{3, 0}, []float64{0, 0}, 1)
	for d := range e.Values {
		e.Values[d] = table.NumberColumn(e.Players[d], []float64{0}, []bool{false})
	}
	e.Observed[1] = false
	if lines := blockOf(t, e, TextOptions{}); len(lines) != 2 || !strings.HasPrefix(lines[0], "  x0  (missing)  │█") || lines[1] != "  missing: x1" {
		t.Errorf("got %q", lines)
	}
}

// A label that is not known from training is marked, however long it is; a group has no value.
func TestTextOfOthersAndGroups(t *testing.T) {
	e := onePrediction([]float64{3, 2, 1}, []float64{0, 0, 0}, 1)
	e.Players = []string{"city", "body", "job"}
	e.Values = []*table.Column{
		table.CategoryColumn("city", []string{"Llanfairpwllgwyngyll"}, nil), nil, table.CategoryColumn("job", []string{"baker"}, nil),
	}
	e.Other = []bool{true, false, false}
	lines := blockOf(t, e, TextOptions{})
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "  city  Llanfairpwll… (other)  │█") || !strings.HasPrefix(lines[1], "  body                         │█") ||
		!strings.HasPrefix(lines[2], "  job   baker                  │█") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	if text := strings.ReplaceAll(textOf(t, e, TextOptions{}), "\n", " "); !strings.Contains(text, "each column or group of columns added") || !strings.Contains(text, "(other): a label") {
		t.Errorf("the header says nothing of groups or others: %s", text)
	}
}

func TestTextSaysHowExactItIs(t *testing.T) {
	for want, e := range map[string]*Explanation{
		"Exact: ":     {Mode: Fast, Exact: true},
		"Not exact: ": {Mode: Fast},
		"Refined: ":   {Mode: Refined, StandardError: []float64{0.25, 0.5}, Evaluations: []int{48}},
	} {
		row := onePrediction([]float64{1, 2}, []float64{1, 1}, 1)
		row.Mode, row.Exact, row.StandardError, row.Evaluations = e.Mode, e.Exact, e.StandardError, e.Evaluations
		text := textOf(t, row, TextOptions{})
		if !strings.Contains(text, want) || strings.Contains(text, "standard error of the computation: at most 0.5, after 48 evaluations") != (e.StandardError != nil) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
}

// ± is the doubt where it is known, and words go by it.
func TestTextTellsDoubt(t *testing.T) {
	e := onePrediction([]float64{3, 2, 1}, []float64{.01, .01, .01}, 1)
	e.ModelStd, e.Bags = []float64{.5, .2, 1}, 8
	lines := blockOf(t, e, TextOptions{})
	for i, want := range []string{"± 1.21", "± 0.49", "± 2.43"} { // ∓ 2 of a normal distribution is ∓ 2.4288 with seven degrees of freedom
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q does not say %q", lines[i], want)
		}
	}
	if !strings.Contains(lines[0], "raises it") || !strings.Contains(lines[2], "82% up") {
		t.Errorf("got %q", lines)
	}
	if text := textOf(t, e, TextOptions{}); !strings.Contains(text, "8 such trainings") {
		t.Errorf("got\n%s", text)
	}
}

func TestTextOfManyRows(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 9, outputs: 1, players: 3})
	text := textOf(t, e, TextOptions{Rows: 2})
	if strings.Count(text, "\nRow ") != 2 || !strings.Contains(text, "2 of 9 rows shown") || !strings.Contains(text, "-o FILE") {
		t.Errorf("got\n%s", text)
	}
}

func TestTextOfOddNumbers(t *testing.T) {
	for _, means := range [][]float64{{math.NaN(), 1}, {math.Inf(-1), 2}, {0, 0}, {1e-12, 2e-12}, {1e15, 1}, {1e300, -1e300}} {
		for _, std := range []float64{0, 1, 1e12, math.NaN()} {
			e := onePrediction(means, []float64{std, 0}, 1)
			e.Prediction[0], e.PredictionStd[0] = means[0], std
			if lines := blockOf(t, e, TextOptions{Width: 40}); len(lines) < 2 || strings.Contains(strings.Join(lines, ""), "NaN") {
				t.Errorf("mean %v, std %v: %q", means, std, lines)
			}
		}
	}
}

func TestTextOfARowWithNothing(t *testing.T) {
	e := onePrediction([]float64{0, 0}, []float64{0, 0}, 1)
	e.Observed = []bool{false, false}
	if text := textOf(t, e, TextOptions{}); !strings.Contains(text, "the same as the base of 0.000\n  missing: x0, x1\n") {
		t.Errorf("got\n%s", text)
	}
}

func TestDirection(t *testing.T) {
	for want, c := range map[string][2]float64{
		"raises it": {1, 0.1}, "lowers it": {-1, 0}, "no effect": {0, 0}, "50% up": {0, 1}, "84% up": {1, 1}, "84% down": {-1, 1}, "unknown": {math.NaN(), 1},
		"97% up": {1.9, 1}, // its 95% interval contains 0
	} {
		if got := (&textWriter{law: law{reach: 1.96}}).direction(textLine{mean: c[0], std: c[1]}); got != want {
			t.Errorf("N(%g, %g²): %q, want %q", c[0], c[1], got, want)
		}
	}
}

// Either side has a share of the cells, and both the same scale. Intervals go on beyond their bars, and are cut where they
// are far wider than any bar.
func TestBars(t *testing.T) {
	at := func(values ...float64) (list []interval) {
		for _, v := range values {
			list = append(list, interval{v, v, v})
		}
		return list
	}
	for _, c := range []struct {
		values []interval
		ascii  bool
		want   []string
	}{
		{at(4, 2, 1.0625, 0), false, []string{"│████", "│██  ", "│█▏  ", "│    "}},
		{at(4, 1.25, 1.5, 1.9), false, []string{"│████", "│█▎  ", "│█▌  ", "│█▉  "}},
		{at(-4, -1.5, -0.2), false, []string{"████│", "  ▐█│", "    │"}},
		{at(2, -2), false, []string{"  │██", "██│  "}},
		{at(2, -1), true, []string{" |## ", "#|   "}},
		{at(0, math.NaN()), true, []string{"|    ", "|    "}},
		{at(1e-3, -1e3), true, []string{"   | ", "###| "}},
		{[]interval{{2, 1, 3}, {1, -1, 3}}, false, []string{" │██─", "─│█──"}},
		{[]interval{{2, 0, 4}, {2, 1.9, 2.1}}, true, []string{"|##--", "|##  "}},
		{[]interval{{1, -99, 99}}, false, []string{"←─│▋→"}},
		{[]interval{{-2, -4, 0}, {-1, -1.4, -.6}}, false, []string{"──██│", "   █│"}},
		{[]interval{{1, math.NaN(), math.NaN()}}, true, []string{"|####"}},
	} {
		b := newBars(c.values, 5, c.ascii)
		for i, v := range c.values {
			if got := barText(b.draw(v), ink{}); got != c.want[i] {
				t.Errorf("%v of %v: %q, want %q", v, c.values, got, c.want[i])
			}
		}
	}
}

// Of a bar, what lies within its interval is drawn as doubtful.
func TestDoubtOfABar(t *testing.T) {
	values := []interval{{4, 2, 6}}
	var marks []barMark
	for _, c := range newBars(values, 7, false).draw(values[0]) {
		marks = append(marks, c.mark)
	}
	if want := []barMark{axisMark, sureMark, sureMark, doubtMark, doubtMark, reachMark, reachMark}; !slices.Equal(marks, want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
}

var sequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colours change nothing but the colour, and end where they began.
func TestColours(t *testing.T) {
	rng := newRand(t)
	for _, s := range shapes() {
		e := randomExplanation(rng, s)
		for i := range e.Players {
			e.Players[i] += []string{"", "大きな列", "\x1b[31m"}[rng.IntN(3)]
		}
		for _, width := range []int{40, 80, 200} {
			plain, coloured := textOf(t, e, TextOptions{Width: width}), textOf(t, e, TextOptions{Width: width, Colour: true})
			if strings.Contains(plain, "\x1b") {
				t.Error("a plain text has colours")
			}
			if got := sequence.ReplaceAllString(coloured, ""); got != plain {
				t.Errorf("without its colours it is\n%s\nnot\n%s", got, plain)
			}
			for line := range strings.SplitSeq(coloured, "\n") {
				if on, off := strings.Count(line, "\x1b["), strings.Count(line, "\x1b[0m"); on != 2*off {
					t.Errorf("%d sequences, %d of them ends: %q", on, off, line)
				}
			}
		}
	}
}

// Orange raises, blue lowers, and what may do either is dim.
func TestColoursOfSigns(t *testing.T) {
	e := onePrediction([]float64{4, -3, 2, -1, 0}, []float64{0.1, 0.1, 2, 2, 0}, 1)
	_, rest, _ := strings.Cut(textOf(t, e, TextOptions{Colour: true}), "\n\x1b[1mRow 0\x1b[0m: ")
	lines := strings.Split(rest, "\n")[1:]
	for i, want := range []string{"\x1b[38;5;208m", "\x1b[38;5;33m", "\x1b[2;38;5;208m", "\x1b[2;38;5;33m", "\x1b[2m"} {
		before, _, _ := strings.Cut(lines[i], []string{"+4", "-3", "+2", "-1", "0.00"}[i])
		if !strings.HasSuffix(before, want) {
			t.Errorf("%q is not in %q", lines[i], want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"大きな列", 8, "大きな列"}, {"大きな列", 6, "大き…"}, {"cafe\u0301s", 5, "cafe\u0301s"}, {"ab", 0, "…"},
	} {
		if got := shorten(c.text, c.width, "…"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// Main effects and pairs stand below the attributions and add up to the same.
func TestTextSplitsIntoPairs(t *testing.T) {
	e := onePrediction([]float64{1, 2, 3, 0, 4}, []float64{0, 0, 0, 0, 0}, 1)
	e.Observed[3] = false
	e.Values[0] = table.NumberColumn("x0", []float64{7}, nil)
	n := len(e.Players)
	e.Interactions = make([]float64, n*n)
	for pair, v := range map[[2]int]float64{{0, 1}: 0.1, {0, 2}: -0.5, {1, 2}: 0.3, {0, 4}: 0.001, {1, 4}: -0.2, {2, 3}: 9} {
		e.Interactions[pair[0]*n+pair[1]], e.Interactions[pair[1]*n+pair[0]] = v, v
	}
	lines := blockOf(t, e, TextOptions{})
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  alone and in pairs") })
	if at < 0 {
		t.Fatalf("got %q", lines)
	}
	var got []string
	sum := 0.0
	for _, line := range lines[at+1:] {
		fields := strings.Fields(line)
		number, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += number
		name, _, _ := strings.Cut(line, "│")
		got = append(got, strings.TrimRight(strings.TrimSpace(name), "▐█ ")+" "+fields[len(fields)-1])
	}
	want := []string{"x4 +4.10", "x2 +3.10", "x1 +1.90", "x0 +1.20", "x0 × x2 -0.50", "x1 × x2 +0.30", "x1 × x4 -0.20", "x0 × x1 +0.10", "2 others 0.00"}
	if !slices.Equal(got, want) || math.Abs(sum-10) > .02 {
		t.Errorf("got %q, which add up to %g, want %q", got, sum, want)
	}
	e.Interactions = make([]float64, n*n)
	if text := fmt.Sprint(blockOf(t, e, TextOptions{ASCII: true})); !strings.Contains(text, "pairs: none large enough to show") {
		t.Errorf("got %s", text)
	}
}

// Reasons are all players whose interval holds no 0, and only those, by size.
func TestReasonsAreSure(t *testing.T) {
	rng := newRand(t)
	for range 200 {
		n := 1 + rng.IntN(8)
		mean, std := make([]float64, n), make([]float64, n)
		for d := range mean {
			mean[d], std[d] = rng.NormFloat64(), rng.Float64()*float64(rng.IntN(2))
		}
		e := onePrediction(mean, std, 1)
		absent := rng.IntN(n)
		e.Observed[absent], e.Mean[absent], e.Std[absent] = false, 0, 0
		reasons := e.Reasons(0, 0, n)
		for d := range n {
			low, high := e.Mean[d]-e.Z*e.Std[d], e.Mean[d]+e.Z*e.Std[d]
			if sure := low > 0 || high < 0; sure != slices.Contains(reasons, d) {
				t.Errorf("player %d, from %g to %g: a reason is %v", d, low, high, !sure)
			}
		}
		for i := 1; i < len(reasons); i++ {
			if math.Abs(e.Mean[reasons[i]]) > math.Abs(e.Mean[reasons[i-1]]) {
				t.Errorf("reasons %v of means %v are not by size", reasons, e.Mean)
			}
		}
		if few := e.Reasons(0, 0, 1); len(few) > 1 || len(few) == 1 && few[0] != reasons[0] {
			t.Errorf("one of %v is %v", reasons, few)
		}
	}
}
