package encode

import "github.com/psi-shapley/psi/table"

// Alike finds out whether an encoder would read all cells of a column alike, so that nothing can be learned of it. A
// column whose missing cells lie among observed ones is not: that a cell is there may say something.
//
// It takes a byte for each label of a category until it knows that cells differ.
type Alike struct {
	missing, observed bool
	number            float64 // of the observed cells of a column that is no category
	counts            []uint8 // rows of each label, up to rareLevel
	labels            int     // that were met
	known             bool    // a label is in rareLevel rows
	differ            bool
}

// Add looks at the cells of a chunk for which keep is true. Codes must mean the same in all chunks.
func (a *Alike) Add(c *table.Column, keep func(row int) bool) {
	if more := len(c.Levels) - len(a.counts); c.Kind == table.Category && more > 0 && !a.differ {
		a.counts = append(a.counts, make([]uint8, more)...)
	}
	for row, observed := range c.Observed {
		if a.differ {
			a.counts = nil
			return
		}
		switch {
		case !keep(row):
		case !observed:
			a.missing = true
			a.differ = a.observed
		case c.Kind == table.Category:
			a.addLabel(c.Codes[row])
		default:
			a.differ = a.missing || a.observed && c.Numbers[row] != a.number
			a.observed, a.number = true, c.Numbers[row]
		}
	}
}

// addLabel looks at a label. Of two labels, one of which has a row of the embedding, the other has another.
func (a *Alike) addLabel(code int32) {
	a.observed = true
	if a.counts[code] == 0 {
		a.labels++
	}
	if a.counts[code] < rareLevel {
		a.counts[code]++
	}
	a.known = a.known || a.counts[code] == rareLevel
	a.differ = a.missing || a.known && a.labels > 1
}

// Differ says whether some cells are read differently.
func (a *Alike) Differ() bool { return a.differ }

// Why says in a user's words why all cells are read alike; "" if they are not.
func (a *Alike) Why() string {
	switch {
	case a.differ:
		return ""
	case !a.observed:
		return "every cell is missing"
	case a.labels > 1:
		return "no label is in three rows or more"
	}
	return "every cell is the same"
}
