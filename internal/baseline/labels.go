package baseline

import "github.com/psi-shapley/psi/internal/encode"

// minOfLabel is the number of sampled rows below which labels are combined, because they could not be fitted
// individually.
const minOfLabel = 5

// labels holds the levels of a category: gaps, rare or unknown labels, and each of the others.
type labels struct {
	column int             // index among the categories
	levels map[int32]int32 // by row of the embedding table; absent ones are rare
	count  int
}

const (
	gapLevel  = 0
	rareLevel = 1
	ownLevels = 2 // first level of individual labels
)

func newLabels(rows *encode.Batch, column int) labels {
	l := labels{column: column, levels: map[int32]int32{}, count: ownLevels}
	seen := map[int32]int{}
	for i := range rows.Rows {
		if !l.gap(rows, i) {
			code := l.code(rows, i)
			if seen[code]++; seen[code] == minOfLabel {
				l.levels[code] = int32(l.count)
				l.count++
			}
		}
	}
	return l
}

func (l labels) gap(rows *encode.Batch, i int) bool {
	return rows.Observed[i*rows.Players()+rows.Numeric+l.column] == 0
}

func (l labels) code(rows *encode.Batch, i int) int32 {
	return rows.Codes[i*rows.Categorical+l.column]
}

// level returns the level of a row.
func (l labels) level(rows *encode.Batch, i int) int32 {
	if l.gap(rows, i) {
		return gapLevel
	}
	if level, known := l.levels[l.code(rows, i)]; known {
		return level
	}
	return rareLevel
}

// newAllLabels returns the levels of every category.
func newAllLabels(rows *encode.Batch) []labels {
	all := make([]labels, rows.Categorical)
	for c := range all {
		all[c] = newLabels(rows, c)
	}
	return all
}
