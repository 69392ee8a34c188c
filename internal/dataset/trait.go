package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// Trait describes, in words for users, why a column is a poor feature.
type Trait struct {
	Column     string
	Null       string // why it carries no information; "" if it may
	Identifier string // why it seems to identify rows; "" if it does not
	Text       string // why it seems to be free text instead of labels; "" if it does not
}

// identity detects, in the order of the file, whether a column identifies rows. A category does if its labels are all
// different, and a number if it counts up by one. A time never does, nor does a number with a fraction, because
// measurements are often all different. Labels that are nearly all different and have several words are free text.
//
// Codes distinguish labels exactly and take a bit each. A source holds the labels of a column, and refuses more than a
// million, so this needs no limit of its own.
type identity struct {
	rows     int // observed cells
	ruledOut bool
	seen     []uint64
	labels   int // distinct labels
	words    int // total words of the labels
	before   float64
}

// minIdentified is the number of cells below which it means little that they are all different, or count up.
const minIdentified = 20

// Properties of free text: the minimum share of distinct labels, and the minimum mean number of words.
const (
	differentTexts = 0.8
	wordsOfText    = 4
)

func (d *identity) add(c *table.Column) {
	for row, observed := range c.Observed {
		switch {
		case d.ruledOut && !d.mayBeText():
			d.seen = nil
			return
		case c.Kind == table.Category:
			d.ruledOut = observed && d.repeats(c, c.Codes[row]) || d.ruledOut
		case c.Kind == table.Number:
			d.ruledOut = !observed || !d.counts(c.Numbers[row])
		default:
			d.ruledOut = true
		}
		if observed {
			d.rows++
		}
	}
}

// mayBeText reports whether enough labels so far are distinct. The first ones do not decide.
func (d *identity) mayBeText() bool {
	const first = 1000
	return d.labels > 0 && (d.rows < first || float64(d.labels) >= differentTexts*float64(d.rows))
}

// repeats reports whether a label occurred before.
func (d *identity) repeats(c *table.Column, code int32) bool {
	word, bit := int(code/64), uint64(1)<<(code%64)
	if more := word + 1 - len(d.seen); more > 0 {
		d.seen = append(d.seen, make([]uint64, more)...)
	}
	before := d.seen[word]&bit != 0
	if !before {
		d.labels++
		d.words += countWords(c.Levels[code])
	}
	d.seen[word] |= bit
	return before
}

// countWords counts the words of a label, of its start if it is long.
func countWords(label string) int {
	const limit = 1 << 10
	return len(strings.Fields(label[:min(len(label), limit)]))
}

// counts reports whether v is the previous integer plus one.
func (d *identity) counts(v float64) bool {
	const exact = 1 << 53 // beyond it, v + 1 may be v
	goes := v == math.Trunc(v) && math.Abs(v) < exact && (d.rows == 0 || v == d.before+1)
	d.before = v
	return goes
}

// text explains why the column is free text; "" if it is not.
func (d *identity) text() string {
	switch {
	case d.rows < minIdentified || float64(d.labels) < differentTexts*float64(d.rows):
		return ""
	case d.words < wordsOfText*d.labels:
		return ""
	}
	return fmt.Sprintf("free text of about %d words", (d.words+d.labels/2)/d.labels)
}

func (d *identity) why(kind table.Kind) string {
	switch {
	case d.ruledOut || d.rows < minIdentified:
		return ""
	case kind == table.Category:
		return "every text is different"
	}
	return "it counts the rows"
}

// identify examines the features in a chunk.
func (g *gathered) identify(chunk *table.Table, o Options) {
	if g.identities == nil {
		g.identities = make([]identity, len(o.Inputs))
	}
	for i, name := range o.Inputs {
		if c := chunk.Column(name); c != nil { // the fit reports missing columns
			g.identities[i].add(c)
		}
	}
}

// errAllVary ends a pass over rows early.
var errAllVary = errors.New("enough is known")

// traits examines the features in the training rows, until each is known to vary. For most tables the first rows
// suffice.
func (g *gathered) traits(ctx context.Context, side split, o Options) ([]Trait, error) {
	alike := make([]encode.Alike, len(o.Inputs))
	err := g.each(ctx, func(chunk *table.Table, first int) error {
		training := side.to(trainingSide, chunk, first, o.counts(chunk))
		kept := make([]bool, chunk.Rows())
		for i := range kept {
			kept[i] = training(i)
		}
		open := false
		for i, name := range o.Inputs {
			if c := chunk.Column(name); c != nil && !alike[i].Differ() {
				alike[i].Add(c, func(row int) bool { return kept[row] })
			}
			open = open || !alike[i].Differ()
		}
		if !open {
			return errAllVary
		}
		return nil
	})
	if err != nil && !errors.Is(err, errAllVary) {
		return nil, err
	}
	all := make([]Trait, len(o.Inputs))
	for i, name := range o.Inputs {
		d := &g.identities[i]
		all[i] = Trait{Column: name, Null: alike[i].Why(), Identifier: d.why(g.schema.Field(name).Kind), Text: d.text()}
		if all[i].Text != "" {
			all[i].Identifier = ""
		}
	}
	return all, nil
}

// narrow lets the caller choose the features, given their traits.
func (o *Options) narrow(ctx context.Context, rows *gathered, side split) error {
	if o.Choose == nil {
		return nil
	}
	traits, err := rows.traits(ctx, side, *o)
	if err != nil {
		return err
	}
	o.Inputs = o.Choose(traits)
	o.MissingAsLevel = slices.DeleteFunc(slices.Clone(o.MissingAsLevel), func(name string) bool { return !slices.Contains(o.Inputs, name) })
	return nil
}
