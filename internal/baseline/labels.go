package baseline

import "github.com/psi-shapley/psi/internal/encode"

// minOfLabel is the number of sampled rows below which labels are taken together: nothing could be learned of them singly.
const minOfLabel = 5

// labels are the levels of a category: gaps, all that are rare or unknown, and each of the others.
type labels struct {
	column int             // among the categories
	levels map[int32]int32 // by row of the embedding table; an absent one is rare
	count  int
}

const (
	gapLevel  = 0
	rareLevel = 1
	ownLevels = 2 // from here on
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

// level of a row.
func (l labels) level(rows *encode.Batch, i int) int32 {
	if l.gap(rows, i) {
		return gapLevel
	}
	if level, known := l.levels[l.code(rows, i)]; known {
		return level
	}
	return rareLevel
}

// newAllLabels are the levels of every category.
func newAllLabels(rows *encode.Batch) []labels {
	all := make([]labels, rows.Categorical)
	for c := range all {
		all[c] = newLabels(rows, c)
	}
	return all
}
