package synth

import "strconv"

// Sample is a synthetic data set with its ground truth. Arrays by row are in the order of the rows, and the first rows
// of a larger sample with the same seed are the smaller sample. Arrays by column are in the order of Columns.
//
// y follows App. H.1 with all its constants; the truth is centred. On synth1 this moves the paper's constants 2 and 1,
// and the mean sin(12)/4 ≈ −0.1341 that the paper leaves in f_3, from attributions to Base.
//
// On synth1-binary Y is a label, 0 or 1, and the truth (Mean, Std, Draw, Pair, Expected, Base) is that of its log odds
// y − E y, where y is synth1's. On logit Y is a label too, and the truth is that of log odds: φ_d is the Shapley value
// of S ↦ log(p_S / (1 − p_S)), p_S = P(y = 1 | x_S).
type Sample struct {
	Name    string
	Rows    int
	Columns []string    // names of the inputs
	X       [][]float64 // features; NaN is a missing cell
	Y       []float64

	Mean     [][]float64 // φ_d, the Shapley value of S ↦ E[y | x_S]; 0 for a missing cell
	NoiseStd []float64   // σ_0, the standard deviation of y about Expected, or about Base + Σ_d Draw where there is a Draw
	Expected []float64   // E[y | x] = Base + Σ_d Mean
	Base     float64     // E y

	// Only the sets of App. H.1 have these; they are nil on others.
	Std  [][]float64 // σ_d, the standard deviation of Draw about Mean; 0 except on synth1
	Draw [][]float64 // the latent draw, ~ N(φ_d, σ_d²)
	Pair [][]float64 // the Shapley interaction indices of columns 1 and 2, 1 and 3, 2 and 3
}

// newSample returns a sample of zeros with the given columns and rows, without Std, Draw and Pair.
func newSample(name string, rows int, columns []string) *Sample {
	return &Sample{
		Name: name, Rows: rows, Columns: columns,
		X: matrix(len(columns), rows), Y: make([]float64, rows),
		Mean: matrix(len(columns), rows), NoiseStd: make([]float64, rows), Expected: make([]float64, rows),
	}
}

// matrix returns columns of zeros.
func matrix(columns, rows int) [][]float64 {
	m := make([][]float64, columns)
	for d := range m {
		m[d] = make([]float64, rows)
	}
	return m
}

// numbered returns the names x1, x2, ….
func numbered(columns int) []string {
	names := make([]string, columns)
	for d := range names {
		names[d] = "x" + strconv.Itoa(d+1)
	}
	return names
}
