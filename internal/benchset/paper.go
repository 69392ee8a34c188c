package benchset

import (
	"cmp"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// PaperNames returns the names of the sets in the form in which the paper seems to have used them, leaks included. Load
// knows them; Names does not, for nobody should be measured by them.
func PaperNames() []string { return namesOf(paperRecipes()) }

func paperRecipes() []recipe { return []recipe{pksnPaper(), bikePaper(), ficoPaper(), censPaper()} }

// pksnPaper has the patient's number, and so rows of one patient on both sides, and the target in standard deviations.
func pksnPaper() recipe {
	return recipe{
		name: "pksn-paper", task: Regression,
		files:    []file{{path: "uci_datasets_prepared/parkinsons_data.csv.gz"}},
		noHeader: true,
		target:   "x20", divisor: 10.699366,
	}
}

// bikePaper has the casual and the registered riders, who add up to the target, whose logarithm is to be predicted.
func bikePaper() recipe {
	return recipe{
		name: "bike-paper", task: Regression,
		files:    []file{{path: "uci_datasets_prepared/bike_data.csv.gz"}},
		noHeader: true,
		target:   "x17",
	}
}

// ficoPaper leaves out a score that others made and the applicants without it, and has the median for what is missing.
func ficoPaper() recipe {
	r := fico()
	noScore := r.missing
	r.name = "fico-paper"
	r.classes = map[string]string{"Bad": "c0", "Good": "c1"}
	r.leave = []string{"ExternalRiskEstimate"}
	r.keep = func(inputs []*table.Column, row int) bool {
		return !slices.ContainsFunc(inputs, func(c *table.Column) bool {
			return c.Name == "ExternalRiskEstimate" && noScore(c.Name, c.Numbers[row])
		})
	}
	r.fill = true
	return r
}

// censPaper is the first of adult's two files, all columns of it.
func censPaper() recipe {
	r := adult()
	r.name, r.files, r.drop = "cens-paper", r.files[:1], nil
	r.categories = append(slices.Clone(r.categories), "education")
	return r
}

// filled returns the column with its median where it is missing.
func filled(c *table.Column) *table.Column {
	if c.Kind != table.Number || !slices.Contains(c.Observed, false) {
		return c
	}
	var known []float64
	for row, value := range c.Numbers {
		if c.Observed[row] {
			known = append(known, value)
		}
	}
	slices.SortFunc(known, cmp.Compare[float64])
	values := slices.Clone(c.Numbers)
	for row := range values {
		if !c.Observed[row] {
			values[row] = known[len(known)/2]
		}
	}
	return table.NumberColumn(c.Name, values, nil)
}
