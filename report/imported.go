package report

import (
	"cmp"
	"fmt"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// made is how a model came to be, other than by training.
type made string

const (
	byImport  made = "imported"
	byMixture made = "mixed"
)

// madeOf returns how a model came to be; "" means that psi trained it.
func madeOf(m *psi.Manifest) made {
	switch {
	case m.Imported != nil:
		return byImport
	case m.Mixture != nil:
		return byMixture
	}
	return ""
}

// treesOf returns the trees that describe a model's columns; nil if a network does.
func treesOf(m *psi.Manifest) *psi.Imported {
	if m.Mixture != nil {
		return m.Mixture.Members[0].Imported
	}
	return m.Imported
}

// measuredRows names the rows that the metrics in a model file were measured on, to follow "on ".
func (by made) measuredRows() string {
	if by != "" {
		return "the rows that it was " + string(by) + " with"
	}
	return "rows held out from training"
}

// countedRows is measuredRows with their number.
func countedRows(m *psi.Manifest) string {
	rows, by := m.Provenance.ValidationRows, madeOf(m)
	if m.Imported != nil {
		rows = m.Imported.Rows
	}
	if by != "" {
		return fmt.Sprintf("the %s that it was %s with", prose.Count(rows, "row"), by)
	}
	return fmt.Sprintf("the %s held out from training", prose.Count(rows, "row"))
}

// auditWords describe the audit of a model file: which attributions it compared, and why there is none.
func auditWords(m *psi.Manifest) (which, unaudited string) {
	if m.Imported != nil && m.Imported.Rows == 0 {
		return "", "The model was imported without rows, so it has no audit. psi audit makes one."
	}
	how := cmp.Or(madeOf(m), "trained")
	return fmt.Sprintf("When the model was %s, the attributions of %%s", how), "The model file has no audit. psi audit makes one."
}

// mixedOf describes the members of a mixture; nil if it is none.
func mixedOf(x *psi.Mixture) (list []Mixed) {
	if x == nil {
		return nil
	}
	for k := range x.Members {
		what := "a network with the head " + x.Members[k].Settings.Head
		if i := x.Members[k].Imported; i != nil {
			what = fmt.Sprintf("%s of %s", prose.Count(i.Trees, "tree"), i.Format)
		}
		list = append(list, Mixed{x.Shares[k], what})
	}
	return list
}
