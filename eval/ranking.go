package eval

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxPlaces bounds the memory of a ranking: about 100 MB.
	maxPlaces = 1 << 22
	// firstGrain is what log odds are rounded to if there are more.
	firstGrain = 1. / 1024
)

// ranking is how the probabilities of positive and of negative rows interleave. It keeps
// every probability that occurs, up to a number of them. Beyond that it rounds their log
// odds, as little as need be, so that a table of any size fits; rows that rounding
// brings together count as tied.
type ranking struct {
	most   int // places; 0 means maxPlaces
	grain  float64
	places []place
	broken bool // a probability was no number
}

// place is the rows of one probability, by weight.
type place struct{ probability, positive, negative float64 }

func (r *ranking) add(probability float64, positive bool, weight float64) {
	p := place{probability: r.round(probability)}
	if positive {
		p.positive = weight
	} else {
		p.negative = weight
	}
	r.broken = r.broken || math.IsNaN(probability)
	r.places = append(r.places, p)
	most := cmp.Or(r.most, maxPlaces)
	if len(r.places) < most {
		return
	}
	r.merge()
	for len(r.places) > most/2 { // or the next merge would come too soon
		r.grain = max(firstGrain, 2*r.grain)
		for i := range r.places {
			r.places[i].probability = r.round(r.places[i].probability)
		}
		r.merge()
	}
}

// round keeps the order, and 0, 1/2 and 1 as they are.
func (r *ranking) round(probability float64) float64 {
	if r.grain == 0 || !(probability > 0 && probability < 1) {
		return probability
	}
	odds := math.Log(probability) - math.Log1p(-probability)
	return 1 / (1 + math.Exp(-math.Round(odds/r.grain)*r.grain))
}

// merge sorts the places, the lowest first, and joins those of one probability.
func (r *ranking) merge() {
	slices.SortFunc(r.places, func(a, b place) int { return cmp.Compare(a.probability, b.probability) })
	joined := r.places[:0]
	for _, p := range r.places {
		if last := len(joined) - 1; last >= 0 && joined[last].probability == p.probability {
			joined[last].positive += p.positive
			joined[last].negative += p.negative
			continue
		}
		joined = append(joined, p)
	}
	r.places = joined
}

// totals are the weights of the positive and of the negative rows.
func (r *ranking) totals() (positive, negative float64) {
	for _, p := range r.places {
		positive += p.positive
		negative += p.negative
	}
	return positive, negative
}

// auroc is P(p⁺ > p⁻) + P(p⁺ = p⁻)/2 of a positive and a negative row drawn by weight. It
// is NaN if there are none of either.
func (r *ranking) auroc() float64 {
	if r.broken {
		return math.NaN()
	}
	r.merge()
	positive, negative := r.totals()
	below, pairs := 0.0, 0.0 // weight of negative rows, and of pairs in order
	for _, p := range r.places {
		pairs += p.positive * (below + p.negative/2)
		below += p.negative
	}
	return pairs / (positive * negative)
}

// averagePrecision is Σ_k (R_k − R_{k−1}) P_k over the thresholds, the highest first, where
// R and P are the recall and the precision of the rows from there up. It is NaN without a
// positive row.
func (r *ranking) averagePrecision() float64 {
	if r.broken {
		return math.NaN()
	}
	r.merge()
	positive, _ := r.totals()
	hits, taken, sum := 0.0, 0.0, 0.0
	for _, p := range slices.Backward(r.places) {
		hits += p.positive
		taken += p.positive + p.negative
		if p.positive > 0 {
			sum += p.positive * hits / taken
		}
	}
	return sum / positive
}
