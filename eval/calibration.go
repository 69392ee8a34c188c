package eval

import "math"

// bins is how many bins of equal width the probabilities from 0 to 1 are put into.
const bins = 15

// Calibration tells how far probabilities are from the shares of rows that turn out
// positive: of the rows said to be positive with probability 0.3, three in ten should
// be. The zero value is ready to use.
type Calibration struct {
	bin    [bins]struct{ weight, predicted, positive float64 }
	count  [bins]int
	broken bool // a probability was no number
}

// Bin is the rows whose probability lies from Low up to High.
type Bin struct {
	Low, High float64
	Count     int     // of rows
	Mean      float64 // of their probabilities
	Share     float64 // of them that are positive
}

// Add takes one row: whether it is positive, the predicted probability that it is, and
// its weight.
func (c *Calibration) Add(positive bool, probability, weight float64) {
	if math.IsNaN(probability) {
		c.broken = true
		return
	}
	i := int(max(0, min(probability*bins, bins-1)))
	c.count[i]++
	b := &c.bin[i]
	b.weight += weight
	b.predicted += weight * probability
	if positive {
		b.positive += weight
	}
}

// Bins are those that hold rows of any weight, the lowest first.
func (c *Calibration) Bins() []Bin {
	var list []Bin
	for i, b := range c.bin {
		if b.weight > 0 {
			list = append(list, Bin{
				Low: float64(i) / bins, High: float64(i+1) / bins, Count: c.count[i],
				Mean: b.predicted / b.weight, Share: b.positive / b.weight,
			})
		}
	}
	return list
}

// ECE is the expected calibration error Σ_b w_b |Share_b − Mean_b| / Σ_b w_b over 15 bins
// of equal width.
func (c *Calibration) ECE() float64 {
	if c.broken {
		return math.NaN()
	}
	gap, weight := 0.0, 0.0
	for _, b := range c.bin {
		gap += math.Abs(b.positive - b.predicted)
		weight += b.weight
	}
	return gap / weight
}
