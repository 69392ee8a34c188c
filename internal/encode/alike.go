package encode

import "github.com/psi-shapley/psi/table"

// Alike reports whether an encoder would encode all cells of a column identically, so that the column carries no
// information. A column with both missing and observed cells may carry some: the gap itself may be informative.
//
// It takes a byte for each label of a category until it finds cells that differ.
type Alike struct {
	missing, observed bool
	number            float64 // value of the observed cells, unless the column is a category
	counts            []uint8 // rows of each label, up to rareLevel
	labels            int     // number of labels seen
	known             bool    // whether a label occurs in rareLevel rows
	differ            bool
}

// Add examines the cells of a chunk for which keep is true. Codes must have the same meaning in all chunks.
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

// addLabel examines a label. If one of two labels has its own row of the embedding, the other has a different one.
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

// Differ reports whether some cells are encoded differently.
func (a *Alike) Differ() bool { return a.differ }

// Why explains to users why all cells are encoded identically; "" if they are not.
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
