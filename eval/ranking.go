package eval

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxPlaces limits the memory of a ranking to about 100 MB.
	maxPlaces = 1 << 22
	// firstGrain is the initial rounding of log odds if there are more.
	firstGrain = 1. / 1024
)

// ranking holds the order of the probabilities of positive and negative rows. It keeps every distinct probability up to
// a maximum. Beyond that it rounds their log odds as little as possible, so that tables of any size fit. Rows with the
// same rounded probability count as tied.
type ranking struct {
	most   int // maximum number of places; 0 means maxPlaces
	grain  float64
	places []place
	broken bool // a probability was NaN
}

// place holds the weights of the rows with one probability.
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
	for len(r.places) > most/2 { // otherwise the next merge would come too soon
		r.grain = max(firstGrain, 2*r.grain)
		for i := range r.places {
			r.places[i].probability = r.round(r.places[i].probability)
		}
		r.merge()
	}
}

// round preserves the order, and keeps 0, 1/2 and 1 exact.
func (r *ranking) round(probability float64) float64 {
	if r.grain == 0 || !(probability > 0 && probability < 1) {
		return probability
	}
	odds := math.Log(probability) - math.Log1p(-probability)
	return 1 / (1 + math.Exp(-math.Round(odds/r.grain)*r.grain))
}

// merge sorts the places in ascending order and joins those with equal probabilities.
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

// totals returns the weights of the positive and of the negative rows.
func (r *ranking) totals() (positive, negative float64) {
	for _, p := range r.places {
		positive += p.positive
		negative += p.negative
	}
	return positive, negative
}

// auroc returns P(p⁺ > p⁻) + P(p⁺ = p⁻)/2 of a positive and a negative row drawn by weight. It is NaN if either class
// is absent.
func (r *ranking) auroc() float64 {
	if r.broken {
		return math.NaN()
	}
	r.merge()
	positive, negative := r.totals()
	below, pairs := 0.0, 0.0 // weight of negative rows, and of correctly ordered pairs
	for _, p := range r.places {
		pairs += p.positive * (below + p.negative/2)
		below += p.negative
	}
	return pairs / (positive * negative)
}

// averagePrecision returns Σ_k (R_k − R_{k−1}) P_k over descending thresholds, where R and P are the recall and
// precision of the rows above each. It is NaN without positive rows.
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
