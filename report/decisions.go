package report

import "math"

// rareShare is the share of positive rows below which few of them reach a probability of ½.
const rareShare = .1

// decisions returns the decisions at each threshold that a reader may choose; nil unless there are two classes.
func (o *outcomes) decisions() *Decisions {
	d := &Decisions{}
	for _, threshold := range thresholds() {
		at, err := o.evaluator.Decide(threshold)
		if err != nil {
			return nil
		}
		d.At = append(d.At, at)
	}
	d.First = firstThreshold(o.of[1] / o.weight)
	return d
}

// firstThreshold returns the index of the threshold shown first: ½ or, for a rare class, the one nearest to its share
// of the rows.
func firstThreshold(share float64) int {
	if share >= rareShare {
		share = .5
	}
	first, list := 0, thresholds()
	for i, threshold := range list {
		if math.Abs(threshold-share) < math.Abs(list[first]-share) {
			first = i
		}
	}
	return first
}

// thresholds returns steps of a hundredth, and finer steps towards 0 and 1.
func thresholds() []float64 {
	var list []float64
	steps := func(from, to int, unit float64) {
		for i := from; i <= to; i++ {
			list = append(list, float64(i)/unit)
		}
	}
	steps(1, 9, 10_000)
	steps(1, 9, 1000)
	steps(1, 99, 100)
	steps(991, 999, 1000)
	return list
}
