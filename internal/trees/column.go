package trees

import (
	"fmt"
	"math"
	"slices"
)

// Code is the number of a value of a column: of the interval that it lies in, or of its label.
type Code = int32

// zeroThreshold is how near to 0 a number is 0: LightGBM's kZeroThreshold, a 32-bit constant.
var zeroThreshold = float64(float32(1e-35))

// Missing is the code of a missing value.
const Missing Code = -1

// Column says how values become codes.
type Column struct {
	Name string

	// A column of numbers. The code of x is the number of edges that x has passed: edges ≤ x or, if Inclusive, edges < x.
	Edges     []float64 // thresholds, in increasing order
	Inclusive bool      // a split sends x ≤ threshold to the left, as LightGBM's; otherwise x < threshold, as XGBoost's
	Single    bool      // x is rounded to 32 bits first
	Zero      Code      // of numbers within zeroThreshold of 0, if there are splits that take them for missing; otherwise Missing

	// A column of labels, if not nil. The code of any other label is their number.
	Labels []string
}

// Number is the code of a number.
func (c *Column) Number(x float64) Code {
	if math.IsNaN(x) {
		return Missing
	}
	if c.Single {
		x = float64(float32(x))
	}
	if c.Zero != Missing && math.Abs(x) <= zeroThreshold {
		return c.Zero
	}
	at, found := slices.BinarySearch(c.Edges, x)
	if found && !c.Inclusive {
		at++
	}
	return Code(at)
}

// Label is the code of a label, if the labels are sorted, as those that Arrange leaves.
func (c *Column) Label(text string) Code {
	at, found := slices.BinarySearch(c.Labels, text)
	if !found {
		at = len(c.Labels)
	}
	return Code(at)
}

// before is the greatest number below x, which is one of 32 bits if the column is Single.
func (c *Column) before(x float64) float64 {
	if c.Single {
		return float64(math.Nextafter32(float32(x), float32(math.Inf(-1))))
	}
	return math.Nextafter(x, math.Inf(-1))
}

func (c *Column) check() error {
	for k, edge := range c.Edges {
		if !finite(edge) || k > 0 && !(edge > c.Edges[k-1]) {
			return fmt.Errorf("threshold %d is %v", k, edge)
		}
	}
	if c.Labels != nil && len(c.Edges) > 0 {
		return fmt.Errorf("it has thresholds and labels")
	}
	if c.Zero < Missing || int(c.Zero) > len(c.Edges) {
		return fmt.Errorf("0 has the code %d", c.Zero)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
