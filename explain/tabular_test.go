package explain

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func names(t *table.Table) []string {
	var list []string
	for _, c := range t.Columns {
		list = append(list, c.Name)
	}
	return list
}

// cellOf is a number of a table; NaN if missing.
func cellOf(t *table.Table, column string, line int) float64 {
	if c := t.Column(column); c.Observed[line] {
		return c.Numbers[line]
	}
	return math.NaN()
}

func TestWide(t *testing.T) {
	rng := newRand(t)
	for _, s := range []shape{{rows: 9, outputs: 1, players: 4}, {rows: 9, outputs: 1, players: 4, probability: true}, {rows: 9, outputs: 3, players: 6, probability: true}} {
		e := randomExplanation(rng, s)
		e.Prediction[2], e.Base[3] = math.Inf(1), math.NaN()
		wide, err := e.Wide()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"row", "prediction", "prediction_std", "base"}
		if s.probability {
			want = []string{"row", "prediction", "prediction_std", "probability", "base"}
		}
		if s.outputs > 1 {
			want = []string{"row", "output", "prediction", "prediction_std", "probability", "base"}
		}
		for _, player := range e.Players {
			want = append(want, player, player+"__std")
		}
		if got := names(wide); !slices.Equal(got, want) {
			t.Fatalf("columns %v, want %v", got, want)
		}
		if wide.Column("prediction").Observed[2] || wide.Column("base").Observed[3] {
			t.Error("a number that is not finite is not a missing cell")
		}
		for row := range s.rows {
			for output := range s.outputs {
				line := row*s.outputs + output
				if got := cellOf(wide, "row", line); got != float64(e.FirstRow+row) {
					t.Errorf("row %v, want %d", got, e.FirstRow+row)
				}
				if s.outputs > 1 && wide.Column("output").Text(line) != e.Outputs[output] || s.probability && cellOf(wide, "probability", line) != e.Probability[line] {
					t.Errorf("line %d is not of output %d", line, output)
				}
				if cellOf(wide, "prediction_std", line) != e.PredictionStd[line] {
					t.Errorf("line %d has another prediction_std", line)
				}
				for d, a := range e.Attributions(row, output) {
					if cellOf(wide, e.Players[d], line) != a.Mean || cellOf(wide, e.Players[d]+"__std", line) != a.Std {
						t.Errorf("line %d has not the attribution of %s", line, a.Player)
					}
				}
			}
		}
	}
}

func TestWideNamesAreDistinct(t *testing.T) {
	players := []string{"row", "row__mean", "base", "x", "x__std", "x__std__mean", "file", "output", "prediction", "prediction_std", "probability", "y"}
	e := onePrediction(make([]float64, len(players)), make([]float64, len(players)), 1)
	e.Players = players
	wide, err := e.Wide()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for d := range players {
		got = append(got, wide.Columns[4+2*d].Name)
		if std := wide.Columns[5+2*d].Name; std != players[d]+"__std" {
			t.Errorf("the std of %s is %s", players[d], std)
		}
	}
	want := []string{
		"row__mean__mean", "row__mean", "base__mean", "x", "x__std__mean__mean", "x__std__mean", "file__mean",
		"output__mean", "prediction__mean", "prediction_std__mean", "probability__mean", "y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("means are named %v, want %v", got, want)
	}
}

func TestLong(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 8, outputs: 2, players: 6})
	long, err := e.Long()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"row", "output", "player", "value", "observed", "mean", "std", "lower", "upper", "p_positive", "p_top"}
	if got := names(long); !slices.Equal(got, want) {
		t.Fatalf("columns %v, want %v", got, want)
	}
	line := 0
	for row := range e.Rows {
		for output := range e.Outputs {
			for d, a := range e.Attributions(row, output) {
				got := fmt.Sprintln(
					cellOf(long, "row", line), long.Column("output").Text(line), long.Column("player").Text(line), long.Column("value").Text(line), long.Column("observed").Text(line),
					cellOf(long, "mean", line), cellOf(long, "std", line), cellOf(long, "lower", line), cellOf(long, "upper", line), cellOf(long, "p_positive", line), cellOf(long, "p_top", line))
				want := fmt.Sprintln(float64(e.FirstRow+row), e.Outputs[output], a.Player, a.Value, a.Observed, a.Mean, a.Std, a.Lower, a.Upper, a.PPositive, a.PTop)
				if got != want {
					t.Fatalf("line %d is %s, want %s", line, got, want)
				}
				if known := e.Values[d] != nil && e.Values[d].Observed[row]; long.Column("value").Observed[line] != known {
					t.Errorf("line %d: value observed is not %v", line, known)
				}
				line++
			}
		}
	}
	if long.Rows() != line {
		t.Errorf("%d lines, want %d", long.Rows(), line)
	}
}

// Of interactions each pair has a column of the wide layout; the long one has no place for them.
func TestTablesOfInteractions(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 4, outputs: 2, players: 3, probability: true, interactions: true})
	e.Players = []string{"a", "b__x__c", "a__x__b"}
	wide, err := e.Wide()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(wide)[12:], []string{"a__x__b__x__c", "a__x__a__x__b", "b__x__c__x__a__x__b"}; !slices.Equal(got, want) {
		t.Fatalf("pairs %v, want %v", got, want)
	}
	for line := range wide.Rows() {
		row, output := line/2, line%2
		if got, want := cellOf(wide, "a__x__a__x__b", line), e.Interactions[e.pairAt(row, output, 0, 2)]; got != want {
			t.Errorf("line %d: %v, want %v", line, got, want)
		}
	}
	if _, err := e.Long(); err == nil || !strings.Contains(err.Error(), ".json") {
		t.Errorf("want an error that names .json, got %v", err)
	}
}

// Rows of one of several files say which.
func TestTablesNameTheFile(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 2, outputs: 1, players: 2})
	e.File = "north.csv"
	for _, make := range []func() (*table.Table, error){e.Wide, e.Long} {
		lines, err := make()
		if err != nil {
			t.Fatal(err)
		}
		if file := lines.Columns[0]; file.Name != "file" || file.Levels[file.Codes[lines.Rows()-1]] != "north.csv" {
			t.Errorf("the first column is %q", file.Name)
		}
	}
}

// Chunks go through a sink one after the other and come back as one table.
func TestTablesOfChunks(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 10, outputs: 2, players: 5, probability: true})
	for _, make := range []func(e *Explanation) (*table.Table, error){(*Explanation).Wide, (*Explanation).Long} {
		for _, format := range []table.Format{table.CSV, table.Parquet, table.ArrowFile} {
			write := func(chunks ...*Explanation) string {
				var out bytes.Buffer
				sink, err := table.NewSink(&out, format)
				if err != nil {
					t.Fatal(err)
				}
				for _, chunk := range chunks {
					lines, err := make(chunk)
					if err != nil {
						t.Fatal(err)
					}
					if err := sink.Write(t.Context(), lines); err != nil {
						t.Fatal(err)
					}
				}
				if err := sink.Close(); err != nil {
					t.Fatal(err)
				}
				source, err := table.OpenReader(bytes.NewReader(out.Bytes()), format, table.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer source.Close()
				back, err := table.ReadAll(t.Context(), source)
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				for _, c := range back.Columns {
					for line := range c.Len() {
						text.WriteString(c.Name + "=" + c.Text(line) + "\n")
					}
				}
				return text.String()
			}
			if whole, parts := write(e), write(e.chunk(0, 0), e.chunk(0, 3), e.chunk(3, 9), e.chunk(9, 10)); whole != parts {
				t.Errorf("format %v: chunks differ from the whole", format)
			}
		}
	}
}

func BenchmarkWide(b *testing.B) {
	e := randomExplanation(fixedRand(b, 1), shape{rows: 100_000, outputs: 1, players: 10})
	for b.Loop() {
		if _, err := e.Wide(); err != nil {
			b.Fatal(err)
		}
	}
}
