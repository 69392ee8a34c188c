package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Item is one claim of the paper and what is run to answer it.
type Item struct {
	Name     string // of its files
	Title    string
	Claim    string // what the paper says
	Protocol string // what is run here
	Run      func(ctx context.Context, l *Lab) (*Answer, error)
}

// Answer is what was found.
type Answer struct {
	Verdict string // in a line: does the claim hold?
	Text    string // the figures, in Markdown
	Tables  []Table
	Charts  []Chart
}

// Table is shown in the text, or is too long for that and written as a CSV file.
type Table struct {
	File   string // name of the CSV file, without its extension; "" shows the table
	Header []string
	Rows   [][]string
}

// items are all, in the order of the paper, then what goes beyond it.
func items() []Item {
	return []Item{
		synth1Item(), table1Item(), divergenceItem(), remarkItem(),
		mnistItem(), icuItem(), table2Item(), searchItem(),
		estimatorItem(), boundItem(), budgetItem(), fidelityItem(),
	}
}

const resultsFile = "RESULTS.md"

// output writes answers.
type output struct {
	dir string
	png string // directory of pictures to look at; "" is none
}

// file is the path of a result of an item.
func (o *output) file(item Item, name, ending string) string {
	if name == "" {
		name = strings.ToLower(item.Name)
	}
	return filepath.Join(o.dir, "results", name+ending)
}

// write makes an item's files, its pictures and its long tables, and its section of the results.
func (o *output) write(l *Lab, item Item, a *Answer) error {
	if err := os.MkdirAll(filepath.Join(o.dir, "results"), 0o755); err != nil {
		return err
	}
	section := &strings.Builder{}
	fmt.Fprintf(section, "%s%s: %s\n\n**The paper.** %s\n\n**Here.** %s\n\n", heading, item.Name, item.Title, item.Claim, item.Protocol)
	if l.quick {
		section.WriteString("*A quick run: what follows shows that the item runs, not what it measures.*\n\n")
	}
	fmt.Fprintf(section, "**Verdict.** %s\n\n%s\n", a.Verdict, strings.TrimSpace(a.Text))
	for _, c := range a.Charts {
		svg, err := c.svg()
		if err != nil {
			return err
		}
		path := o.file(item, c.Name, ".svg")
		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(section, "\n![%s](results/%s)\n\n*%s*\n", c.Caption, filepath.Base(path), c.Caption)
		if err := o.look(c, path); err != nil {
			return err
		}
	}
	for _, t := range a.Tables {
		if t.File == "" {
			section.WriteString("\n" + t.markdown())
			continue
		}
		path := o.file(item, t.File, ".csv")
		if err := os.WriteFile(path, t.csv(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(section, "\nData: [%s](results/%s)\n", filepath.Base(path), filepath.Base(path))
	}
	return o.results(l, item, section.String())
}

// look draws a picture for people without a reader of SVG.
func (o *output) look(c Chart, path string) error {
	if o.png == "" {
		return nil
	}
	png, err := c.png()
	if err != nil {
		return err
	}
	return replace(filepath.Join(o.png, strings.TrimSuffix(filepath.Base(path), ".svg")+".png"), png)
}

func (t Table) csv() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.WriteAll(append([][]string{t.Header}, t.Rows...)) // to memory
	return b.Bytes()
}

func (t Table) markdown() string {
	b := &strings.Builder{}
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Header)
	rule := make([]string, len(t.Header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range t.Rows {
		line(r)
	}
	return b.String()
}

// results writes the file of results anew, with a new section of one item and those that it had of the others.
func (o *output) results(l *Lab, changed Item, section string) error {
	path := filepath.Join(o.dir, resultsFile)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b := &strings.Builder{}
	b.WriteString("# The paper, measured again\n\n" +
		"*Probabilistic Shapley Value Modeling and Inference* (Ketenci, Urteaga, Rodriguez, Elhadad, Perotte; TMLR), claim by claim.\n" +
		"`paper/run all` writes this file; `paper/run NAME` one section. Trainings are kept by a digest of their configuration in\n" +
		"`measured.jsonl`, so that what was measured is not measured twice. ± is the standard deviation over folds. How the code\n" +
		"departs from the paper, and why: [docs/divergence.md](../docs/divergence.md).\n\n")
	cost, trainings, err := l.cost()
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "Behind it are %d trainings, which took %.0f minutes of one core.\n\n", trainings, cost/60)
	sections := &strings.Builder{}
	b.WriteString("| item | verdict |\n| --- | --- |\n")
	for _, item := range items() {
		text := section
		if item.Name != changed.Name {
			text = sectionOf(string(before), item)
		}
		if text == "" {
			continue // not run yet
		}
		_, after, _ := strings.Cut(text, "**Verdict.** ")
		verdict, _, _ := strings.Cut(after, "\n")
		fmt.Fprintf(b, "| [%s](#%s) | %s |\n", item.Name, anchor(item), strings.ReplaceAll(verdict, "|", `\|`))
		sections.WriteString("\n" + text)
	}
	return replace(path, []byte(b.String()+sections.String()))
}

const heading = "## "

// sectionOf is an item's section of the results; "" if they have none.
func sectionOf(results string, item Item) string {
	start := heading + item.Name + ": "
	_, after, found := strings.Cut(results, "\n"+start)
	if !found {
		return ""
	}
	rest, _, _ := strings.Cut(after, "\n"+heading)
	return start + rest
}

// anchor is the address that a heading gets.
func anchor(item Item) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(item.Name+": "+item.Title))
}

// cost adds up the CPU seconds of all trainings that answers are kept of.
func (l *Lab) cost() (seconds float64, trainings int, err error) {
	models, err := l.models()
	for _, m := range models {
		seconds += m.Cost.CPUSeconds
	}
	return seconds, len(models), err
}

// spread is a mean over folds with its standard deviation.
type spread struct {
	Mean, SD float64
	N        int
}

func spreadOf(x []float64) spread {
	s := spread{N: len(x)}
	for _, v := range x {
		s.Mean += v / float64(len(x))
	}
	for _, v := range x {
		s.SD += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(s.SD / max(1, float64(len(x)-1)))
	return s
}

// String is "0.123 ± 0.004", with the number of folds unless it is five.
func (s spread) String() string {
	switch {
	case s.N == 0:
		return "–"
	case s.N == 1:
		return short(s.Mean) + " [1]"
	case s.N == 5:
		return fmt.Sprintf("%s ± %s", short(s.Mean), short(s.SD))
	}
	return fmt.Sprintf("%s ± %s [%d]", short(s.Mean), short(s.SD), s.N)
}

// short is a number in three or four digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case a != 0 && a < 1e-3:
		return strconv.FormatFloat(x, 'e', 1, 64)
	case a < 10:
		return strconv.FormatFloat(x, 'f', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// full is a number for a file.
func full(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func rmse(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// size is the root mean square.
func size(a []float64) float64 { return rmse(a, make([]float64, len(a))) }

// pick are the elements of x at the given places.
func pick(x []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for i, k := range at {
		out[i] = x[k]
	}
	return out
}

// ratio is a/b, or NaN of nothing.
func ratio(a, b int) float64 {
	if b == 0 {
		return math.NaN()
	}
	return float64(a) / float64(b)
}
