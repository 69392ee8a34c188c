package eval

import "math"

// bins is the number of bins of equal width for probabilities from 0 to 1.
const bins = 15

// Calibration compares predicted probabilities with the observed shares of positive rows, in bins. Of the rows with a
// probability of 0.3, three in ten should be positive. The zero value is ready to use. It is not safe for concurrent
// use.
type Calibration struct {
	bin    [bins]struct{ weight, predicted, positive float64 }
	count  [bins]int
	broken bool // a probability was NaN
}

// Bin holds the rows with a probability from Low up to High.
type Bin struct {
	Low, High float64
	Count     int     // number of rows
	Mean      float64 // mean probability
	Share     float64 // share of positive rows
}

// Add adds a row: whether it is positive, the predicted probability of that, and its weight.
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

// Bins returns the bins with a positive weight in ascending order.
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

// ECE returns the expected calibration error Σ_b w_b |Share_b − Mean_b| / Σ_b w_b over 15 bins of equal width.
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
