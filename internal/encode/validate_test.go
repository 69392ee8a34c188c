package encode_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

func TestFittedEncodersAreValid(t *testing.T) {
	for _, rows := range []*table.Table{
		people(t),
		people(t).Select(nil),
		people(t).Select([]int{4}),
		thrice(people(t)),
		tableOf(t, table.NumberColumn("constant", slices.Repeat([]float64{3}, 5), nil), table.NumberColumn("missing", slices.Repeat([]float64{missing}, 5), nil)),
		mixed(t, newRand(t), 5000),
	} {
		for _, bins := range []int{1, 3, 128, 4096} {
			e := fit(t, rows, bins)
			stored, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var restored encode.Encoder
			if err := json.Unmarshal(stored, &restored); err != nil {
				t.Fatal(err)
			}
			for _, e := range []*encode.Encoder{e, &restored} {
				if err := e.Validate(); err != nil {
					t.Errorf("%d bins: %v", bins, err)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	number := func(change func(p *encode.Player)) encode.Player {
		p := encode.Player{Name: "x", Edges: []float64{-1, 0, 2}, Centre: 0.5, Scale: 1}
		change(&p)
		return p
	}
	category := func(change func(p *encode.Player)) encode.Player {
		p := encode.Player{Name: "c", Kind: table.Category, Levels: []string{"", "a", "b"}}
		change(&p)
		return p
	}
	instant := func(change func(p *encode.Player)) encode.Player {
		p := encode.Player{Name: "t", Kind: table.Time, Edges: []float64{0, 86400}, Scale: 1, Cycles: []bool{true, false, false, true}}
		change(&p)
		return p
	}
	same := func(*encode.Player) {}
	players := func(n int) []encode.Player {
		many := make([]encode.Player, n)
		for i := range many {
			many[i] = number(func(p *encode.Player) { p.Name = fmt.Sprint(i) })
		}
		return many
	}
	million := make([]string, 1<<20)
	for i := range million {
		million[i] = fmt.Sprintf("%08d", i)
	}
	categories := func(n int) []encode.Player {
		many := make([]encode.Player, n)
		for i := range many {
			many[i] = category(func(p *encode.Player) { p.Name, p.Levels = fmt.Sprint(i), million })
		}
		return many
	}
	one := func(p encode.Player) []encode.Player { return []encode.Player{p} }
	for _, c := range []struct {
		name    string
		bins    int
		players []encode.Player
		says    string // nothing: it is valid
	}{
		{"a number and a category", 2, []encode.Player{number(same), category(same)}, ""},
		{"a column without observed cells", 2, one(number(func(p *encode.Player) { p.Edges, p.Centre = nil, 0 })), ""},
		{"a constant", 2, one(number(func(p *encode.Player) { p.Edges = []float64{3} })), ""},
		{"no level seen", 2, one(category(func(p *encode.Player) { p.Levels = nil })), ""},
		{"all kinds", 2, []encode.Player{number(same), instant(same), category(same)}, ""},
		{"a time without cycles", 2, one(instant(func(p *encode.Player) { p.Cycles = nil })), ""},
		{"gaps", 2, []encode.Player{number(func(p *encode.Player) { p.Gap = true }), category(func(p *encode.Player) { p.Gap = true })}, ""},
		{"rare levels", 2, one(category(func(p *encode.Player) { p.Rare = 1 << 20 })), ""},
		{"the most players", 2, players(10_000), ""},
		{"the most levels", 2, categories(16), ""},

		{"no bins", 0, one(number(same)), "bins"},
		{"too many bins", 4097, one(number(same)), "bins"},
		{"no players", 2, nil, "players"},
		{"too many players", 2, players(10_001), "players"},
		{"no name", 2, one(number(func(p *encode.Player) { p.Name = "" })), "no name"},
		{"a name twice", 2, []encode.Player{number(same), number(same)}, "name"},
		{"category first", 2, []encode.Player{category(same), number(same)}, "after"},
		{"time first", 2, []encode.Player{instant(same), number(same)}, "after"},
		{"time last", 2, []encode.Player{category(same), instant(same)}, "after"},
		{"unknown kind", 2, one(number(func(p *encode.Player) { p.Kind = 9 })), "kind"},
		{"too many edges", 1, one(number(same)), "edges"},
		{"equal edges", 2, one(number(func(p *encode.Player) { p.Edges[1] = -1 })), "edge 1"},
		{"descending edges", 2, one(number(func(p *encode.Player) { p.Edges[2] = -5 })), "edge 2"},
		{"an edge without bounds", 2, one(number(func(p *encode.Player) { p.Edges[2] = math.Inf(1) })), "edge 2"},
		{"an edge that is no number", 2, one(number(func(p *encode.Player) { p.Edges[0] = math.NaN() })), "edge 0"},
		{"no scale", 2, one(number(func(p *encode.Player) { p.Scale = 0 })), "scale"},
		{"a negative scale", 2, one(number(func(p *encode.Player) { p.Scale = -1 })), "scale"},
		{"a scale without bounds", 2, one(number(func(p *encode.Player) { p.Scale = math.Inf(1) })), "scale"},
		{"a scale that is no number", 2, one(number(func(p *encode.Player) { p.Scale = math.NaN() })), "scale"},
		{"a centre without bounds", 2, one(number(func(p *encode.Player) { p.Centre = math.Inf(-1) })), "centre"},
		{"a number with levels", 2, one(number(func(p *encode.Player) { p.Levels = []string{"a"} })), "levels"},
		{"a category with edges", 2, one(category(func(p *encode.Player) { p.Edges = []float64{1} })), "edges"},
		{"a number with rare levels", 2, one(number(func(p *encode.Player) { p.Rare = 1 })), "levels"},
		{"a number with cycles", 2, one(number(func(p *encode.Player) { p.Cycles = make([]bool, 4) })), "cycles"},
		{"a category with cycles", 2, one(category(func(p *encode.Player) { p.Cycles = make([]bool, 4) })), "cycles"},
		{"too few cycles", 2, one(instant(func(p *encode.Player) { p.Cycles = make([]bool, 3) })), "cycles"},
		{"too many cycles", 2, one(instant(func(p *encode.Player) { p.Cycles = make([]bool, 5) })), "cycles"},
		{"rare levels below 0", 2, one(category(func(p *encode.Player) { p.Rare = -1 })), "rare"},
		{"rare levels without bounds", 2, one(category(func(p *encode.Player) { p.Rare = 1<<20 + 1 })), "rare"},
		{"equal levels", 2, one(category(func(p *encode.Player) { p.Levels[1] = "" })), "level 1"},
		{"levels out of order", 2, one(category(func(p *encode.Player) { p.Levels[2] = "A" })), "level 2"},
		{"too many levels", 2, one(category(func(p *encode.Player) { p.Levels = append(slices.Clip(million), "one more") })), "levels"},
		{"too many levels together", 2, append(categories(16), category(same)), "levels together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&encode.Encoder{Players: c.players, Bins: c.bins}).Validate()
			if c.says == "" && err != nil {
				t.Error("refused:", err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error %v does not say %q", err, c.says)
			}
		})
	}
}

// FuzzEncoder: whatever a model file says, an encoder that is valid encodes any table
// into numbers a network can read.
func FuzzEncoder(f *testing.F) {
	for _, text := range []string{
		`{"players":[{"name":"x","kind":"number","edges":[-1,0,2],"centre":0.5,"scale":1},{"name":"c","kind":"category","levels":["","a"]}],"bins":2}`,
		`{"players":[{"name":"y","kind":"boolean","edges":[0,1],"scale":1e308},{"name":"x","kind":"time","scale":1e-320,"cycles":[true,true,true,true]}],"bins":1}`,
		`{"players":[{"name":"x","scale":1,"gap":true},{"name":"t","kind":"time","scale":1,"gap":true},{"name":"c","kind":"category","levels":["a"],"rare":3,"gap":true},{"name":"d","kind":"category","gap":true}],"bins":1}`,
		`{"players":[{"name":"x","kind":"number","edges":[-1.7e308,1.7e308],"centre":-1.7e308,"scale":5e-324}],"bins":4096}`,
		`{"players":[{"name":"c","kind":"category"},{"name":"x","scale":1}],"bins":1}`,
		`{"players":[{"name":"x","edges":[2,1],"scale":0}],"bins":-1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e encode.Encoder
		if json.Unmarshal(text, &e) != nil || e.Validate() != nil {
			return
		}
		var columns []*table.Column
		for _, p := range e.Players {
			columns = append(columns, anyCells(p))
		}
		b := encoded(t, &e, tableOf(t, columns...))
		for i, v := range b.Numbers {
			if size := math.Abs(float64(v)); !(size <= 1e6) {
				t.Errorf("number %d is %g", i, v)
			}
		}
		for i, v := range b.Cycles {
			if !(math.Abs(float64(v)) <= 1) {
				t.Errorf("cyclic part %d is %g", i, v)
			}
		}
		for row, d := range e.Others(b) {
			if d < b.Numeric || b.Observed[row*b.Players()+d] == 0 {
				t.Errorf("row %d of player %d is other", row, d)
			}
		}
		rows := int32(0)
		for _, n := range e.EmbeddingRows() {
			rows += int32(n)
		}
		for i, code := range b.Codes {
			if code < 0 || code >= rows {
				t.Errorf("code %d is %d, outside %d rows of the embedding table", i, code, rows)
			}
		}
	})
}

// anyCells is a column of a player's kind whose numbers reach as far as numbers go.
func anyCells(p encode.Player) *table.Column {
	if p.Kind == table.Category {
		labels := append([]string{"", "a", "\U0010ffff", "b"}, p.Levels...)
		return table.CategoryColumn(p.Name, labels[:4], []bool{true, true, true, false})
	}
	return table.NumberColumn(p.Name, []float64{-math.MaxFloat64, 1, math.MaxFloat64, missing}, nil)
}

func TestCentred(t *testing.T) {
	of := encode.Target{Task: encode.Multiclass, Kind: table.Category, Classes: []string{"10", "9", "a"}, Base: []float64{1, -3, 2}}
	if err := of.Centred(); err != nil {
		t.Error("refused:", err)
	}
	of.Base[0] = 2
	if err := of.Centred(); err == nil || !strings.Contains(err.Error(), "adds up") {
		t.Errorf("a base that adds up to 1: %v", err)
	}
}

func TestValidateTarget(t *testing.T) {
	regression := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Regression, Mean: -3, Std: 0.5}
		change(&of)
		return of
	}
	binary := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Binary, Kind: table.Category, Classes: []string{"b", "a"}, Base: []float64{-1}}
		change(&of)
		return of
	}
	three := func(change func(t *encode.Target)) encode.Target {
		of := encode.Target{Task: encode.Multiclass, Kind: table.Category, Classes: []string{"10", "9", "a"}, Base: []float64{1, -3, 2}}
		change(&of)
		return of
	}
	digits := func(change func(t *encode.Target)) encode.Target {
		return three(func(t *encode.Target) {
			t.Kind, t.Classes = table.Number, []string{"-1", "9", "10"}
			change(t)
		})
	}
	same := func(*encode.Target) {}
	for _, c := range []struct {
		name   string
		target encode.Target
		says   string // nothing: it is valid
	}{
		{"a regression", regression(same), ""},
		{"a regression of times", regression(func(t *encode.Target) { t.Kind = table.Time }), ""},
		{"two classes", binary(same), ""},
		{"an empty label", binary(func(t *encode.Target) { t.Classes[0] = "" }), ""},
		{"two booleans", binary(func(t *encode.Target) { t.Kind = table.Boolean }), ""},
		{"two numbers, turned", binary(func(t *encode.Target) { t.Kind, t.Classes = table.Number, []string{"10", "9"} }), ""},
		{"three texts", three(same), ""},
		{"three numbers", digits(same), ""},
		{"the most classes", three(func(t *encode.Target) { t.Classes, t.Base = count(100, name).Levels, make([]float64, 100) }), ""},

		{"nothing", encode.Target{}, "task"},
		{"no task", regression(func(t *encode.Target) { t.Task = "auto" }), "task"},
		{"an unknown kind", regression(func(t *encode.Target) { t.Kind = 9 }), "kind"},
		{"no scale", regression(func(t *encode.Target) { t.Std = 0 }), "deviation"},
		{"a negative scale", regression(func(t *encode.Target) { t.Std = -1 }), "deviation"},
		{"a scale that is no number", regression(func(t *encode.Target) { t.Std = missing }), "deviation"},
		{"a scale without bounds", regression(func(t *encode.Target) { t.Std = math.Inf(1) }), "deviation"},
		{"a mean that is no number", regression(func(t *encode.Target) { t.Mean = missing }), "mean"},
		{"a mean without bounds", regression(func(t *encode.Target) { t.Mean = math.Inf(-1) }), "mean"},
		{"a regression of texts", regression(func(t *encode.Target) { t.Kind = table.Category }), "category"},
		{"a regression of booleans", regression(func(t *encode.Target) { t.Kind = table.Boolean }), "boolean"},
		{"a regression with classes", regression(func(t *encode.Target) { t.Classes = []string{"a"} }), "classes"},
		{"a regression with a base", regression(func(t *encode.Target) { t.Base = []float64{1} }), "base"},
		{"classes with a mean", binary(func(t *encode.Target) { t.Mean = 1 }), "mean"},
		{"classes with a scale", three(func(t *encode.Target) { t.Std = 1 }), "deviation"},
		{"three binary classes", three(func(t *encode.Target) { t.Task = encode.Binary }), "binary"},
		{"two of many classes", binary(func(t *encode.Target) { t.Task = encode.Multiclass }), "classes"},
		{"no classes", three(func(t *encode.Target) { t.Classes = nil }), "classes"},
		{"too many classes", three(func(t *encode.Target) { t.Classes, t.Base = count(101, name).Levels, make([]float64, 101) }), "classes"},
		{"one class twice", binary(func(t *encode.Target) { t.Classes[1] = "b" }), "class 1"},
		{"one number twice", binary(func(t *encode.Target) { t.Kind, t.Classes = table.Number, []string{"1", "1.0"} }), "class 1"},
		{"classes out of order", three(func(t *encode.Target) { slices.Reverse(t.Classes) }), "class 1"},
		{"numbers in the order of texts", digits(func(t *encode.Target) { t.Classes = []string{"-1", "10", "9"} }), "class 2"},
		{"a number that is none", digits(func(t *encode.Target) { t.Classes[1] = "x" }), "class 1"},
		{"a number without bounds", digits(func(t *encode.Target) { t.Classes[2] = "inf" }), "class 2"},
		{"not a text", binary(func(t *encode.Target) { t.Classes[0] = "\xff" }), "class 0"},
		{"three booleans", three(func(t *encode.Target) { t.Kind = table.Boolean }), "boolean"},
		{"three times", three(func(t *encode.Target) { t.Kind = table.Time }), "time"},
		{"no base", binary(func(t *encode.Target) { t.Base = nil }), "base"},
		{"too long a base", binary(func(t *encode.Target) { t.Base = []float64{0, 0} }), "base"},
		{"too short a base", three(func(t *encode.Target) { t.Base = []float64{0, 0} }), "base"},
		{"a base that is no number", binary(func(t *encode.Target) { t.Base[0] = missing }), "base 0"},
		{"a base without bounds", three(func(t *encode.Target) { t.Base[2] = math.Inf(1) }), "base 2"},
		{"a far base", binary(func(t *encode.Target) { t.Base[0] = -201 }), "base 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.target.Validate()
			if c.says == "" && err != nil {
				t.Error("refused:", err)
			}
			if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("the error %v does not say %q", err, c.says)
			}
		})
	}
}

// FuzzTarget: whatever a model file says, a target that is valid encodes any column into
// numbers that a loss can take, or says why not.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{
		`{"task":"regression","kind":"number","mean":-1.7e308,"std":5e-324}`,
		`{"task":"binary","kind":"boolean","classes":["Yes","no"],"base":[-3]}`,
		`{"task":"multiclass","kind":"number","classes":["-1","0","1.5"],"base":[1,1,-2]}`,
		`{"task":"multiclass","kind":"category","classes":["","a","b"],"base":[0,0,0]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var target encode.Target
		if json.Unmarshal(text, &target) != nil || target.Validate() != nil {
			return
		}
		if len(target.Base) != target.Outputs() && target.Task != encode.Regression {
			t.Errorf("a base of %d numbers for %d outputs", len(target.Base), target.Outputs())
		}
		for _, y := range []*table.Column{
			numbers(-1, 0, 1.5, -math.MaxFloat64, math.MaxFloat64), booleans(nil, true, false), times(1, 2), texts(append([]string{"a", "b"}, target.Classes...)...),
		} {
			for row := range y.Len() {
				v, err := target.Encode(y, []int{row})
				if err != nil {
					wantTableError(t, err, "y", row)
					continue
				}
				if size := math.Abs(float64(v[0])); !(size <= 1e6) {
					t.Errorf("encoded as %g", v[0])
				}
				if k := float64(v[0]); target.Task != encode.Regression && (k != math.Trunc(k) || k < 0 || int(k) >= len(target.Classes)) {
					t.Errorf("class %g of %d", k, len(target.Classes))
				}
			}
		}
	})
}
