package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// Thresholds of warnings.
const (
	manyMissing  = .2
	fewOutside   = .001
	strongEnough = .8
)

// Kinds of warnings, besides those of the model.
const (
	kindCalibration  = "calibration"
	kindAttributions = "attributions"
	kindMissing      = "missing"
	kindConstant     = "constant"
	kindUnknown      = "unknown"
	kindOutside      = "outside"
	kindRare         = "rare"
	kindAssociated   = "associated"
)

// warnings returns the caveats for readers, those with the largest effect first: about the model as a whole, then about
// columns.
func (r *Report) warnings(ofModel []psi.Warning) []Warning {
	list := []Warning{}
	for _, w := range ofModel {
		list = append(list, Warning{w.Kind, []int{}, w.String(), 1})
	}
	if r.Calibration.Level == "poor" {
		list = append(list, Warning{kindCalibration, []int{}, r.Calibration.Verdict, 1})
	}
	if r.Trust.Level == "rough" || r.Trust.Level == "poor" {
		list = append(list, Warning{kindAttributions, []int{}, r.Trust.Verdict, 1})
	}
	list = append(list, r.ofColumns()...)
	slices.SortStableFunc(list, func(a, b Warning) int { return cmp.Compare(b.Change, a.Change) })
	return list
}

// ofColumns returns the warnings about columns. The effect of a warning is the share of all attributions that its
// columns have in the affected rows.
func (r *Report) ofColumns() []Warning {
	list := []Warning{}
	rows, shares := float64(r.Data.Rows), r.sharesOfColumns()
	for i := range r.Columns {
		c := &r.Columns[i]
		warn := func(kind string, cells int, words string, values ...any) {
			list = append(list, Warning{kind, []int{i}, fmt.Sprintf(words, values...), shares[i] * float64(cells) / rows})
		}
		if share := float64(c.Missing) / rows; c.Missing == r.Data.Rows {
			warn(kindMissing, c.Missing, "%s is missing in every row.", c.Name)
		} else if share >= manyMissing {
			words := "%s is missing in %s of rows. In those rows it has no attribution, and the model predicts without it."
			if c.GapLevel {
				words = "%s is missing in %s of rows. The model treats a missing cell as a value of its own, which has an attribution."
			}
			warn(kindMissing, c.Missing, words, c.Name, percent(share))
		}
		if c.constant() {
			warn(kindConstant, r.Data.Rows, "%s has only one value: these rows cannot show what it does.", c.Name)
		}
		if c.Unknown > 0 {
			warn(kindUnknown, c.Unknown, "%s of %s %s a label that was absent or very rare in training. The model treats all such labels as one, “other”.",
				prose.Count(c.Unknown, "cell"), c.Name, either(c.Unknown, "has", "have"))
		}
		if float64(c.Outside) > fewOutside*rows {
			warn(kindOutside, c.Outside, "%s of %s %s outside the training range: results for these rows are a guess from the nearest values.",
				prose.Count(c.Outside, "cell"), c.Name, either(c.Outside, "lies", "lie"))
		}
		if c.Rare > 0 && c.Levels > 2 {
			warn(kindRare, c.InRare, "%d of the %d labels of %s %s in fewer than %d rows: results for %s rest on little data.", c.Rare, c.Levels, c.Name, either(c.Rare, "is", "are"), rareRows, either(c.Rare, "it", "them"))
		}
	}
	for _, group := range r.alike() {
		names, sum, largest := make([]string, len(group.columns)), 0.0, 0.0
		for i, at := range group.columns {
			names[i], sum, largest = r.Columns[at].Name, sum+shares[at], max(largest, shares[at])
		}
		list = append(list, Warning{
			kindAssociated, group.columns,
			fmt.Sprintf("%s carry much the same information (association %s): they share the credit, and how it splits between them means little.", joined(names), group.measure()), sum - largest,
		})
	}
	return list
}

// shares returns each player's share of all |attributions|.
func (r *Report) shares() []float64 {
	shares, total := make([]float64, len(r.Players)), 0.0
	for _, list := range r.Importances {
		for _, im := range list {
			shares[im.Player] += im.Mean
			total += im.Mean
		}
	}
	for d := range shares {
		shares[d] /= max(total, math.SmallestNonzeroFloat64)
	}
	return shares
}

// sharesOfColumns returns the shares of the columns' players in rows that have them. A player that is missing in all
// rows counts with an equal share.
func (r *Report) sharesOfColumns() []float64 {
	observed := make([]int, len(r.Players))
	for _, list := range r.Importances {
		for _, im := range list {
			observed[im.Player] = im.Observed
		}
	}
	ofColumns := make([]float64, len(r.Columns))
	for d, share := range r.shares() {
		if observed[d] == 0 {
			share = 1 / float64(len(r.Players))
		} else {
			share = min(1, share*float64(r.Data.Explained)/float64(observed[d]))
		}
		for _, at := range r.Players[d].Columns {
			ofColumns[at] = share
		}
	}
	return ofColumns
}

// alike is a set of columns with nearly the same information.
type alike struct {
	columns   []int
	low, high float64 // strength of the associations
}

func (a alike) measure() string {
	if a.low == a.high {
		return fmt.Sprintf("%.2f of 1", a.low)
	}
	return fmt.Sprintf("%.2f to %.2f of 1", a.low, a.high)
}

// alike joins the columns of strong associations.
func (r *Report) alike() []alike {
	var groups []alike
	for _, a := range r.Associations {
		size := math.Abs(a.Value)
		if size < strongEnough {
			continue
		}
		joined := alike{[]int{a.A, a.B}, size, size}
		groups = slices.DeleteFunc(groups, func(g alike) bool {
			if !slices.Contains(g.columns, a.A) && !slices.Contains(g.columns, a.B) {
				return false
			}
			joined.columns = append(joined.columns, g.columns...)
			joined.low, joined.high = min(joined.low, g.low), max(joined.high, g.high)
			return true
		})
		slices.Sort(joined.columns)
		joined.columns = slices.Compact(joined.columns)
		groups = append(groups, joined)
	}
	slices.SortStableFunc(groups, func(a, b alike) int { return cmp.Compare(b.high, a.high) })
	return groups
}

// joined lists names with "and".
func joined(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (c *Column) constant() bool {
	if c.Labels != nil {
		return c.Levels == 1 && !c.GapLevel
	}
	return c.Least != nil && *c.Least == *c.Greatest && !c.GapLevel
}

func either(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// percent writes a share without rounding it to 0 or 100 %.
func percent(share float64) string {
	switch {
	case share > 0 && share < .001:
		return "under 0.1 %"
	case share < .1 || share > .9 && share < 1:
		return fmt.Sprintf("%.1f %%", 100*min(share, .999))
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
