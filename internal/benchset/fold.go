package benchset

import "fmt"

// Folds is the number of folds.
const Folds = 5

// splitmix64 is the first output of the generator of that name (Steele, Lea and Flood 2014) from state x:
//
//	z ← x + 0x9E3779B97F4A7C15
//	z ← (z ⊕ z≫30) · 0xBF58476D1CE4E5B9
//	z ← (z ⊕ z≫27) · 0x94D049BB133111EB
//	z ⊕ z≫31
func splitmix64(x uint64) uint64 {
	z := x + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// part returns the fold that tests the row, h mod 5 with h = splitmix64(row + 1), and whether the other folds hold it
// out for validation, (h≫32) mod 10 = 0.
func part(row int) (fold int, validates bool) {
	h := splitmix64(uint64(row) + 1)
	return int(h % Folds), (h>>32)%10 == 0
}

// Fold returns the rows of each part of fold k, 0 ≤ k < Folds, in row order. The parts are disjoint and cover the table;
// recipes are chosen on validation, never on test.
func (s *Set) Fold(k int) (train, validation, test []int) {
	if k < 0 || k >= Folds {
		panic(fmt.Sprintf("benchset: fold %d: there are 0 to %d", k, Folds-1))
	}
	for row := range s.Table.Rows() {
		switch fold, validates := part(row); {
		case fold == k:
			test = append(test, row)
		case validates:
			validation = append(validation, row)
		default:
			train = append(train, row)
		}
	}
	return train, validation, test
}
