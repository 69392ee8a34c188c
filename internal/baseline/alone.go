package baseline

import (
	"context"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

const (
	aloneRows = 10_000 // maximum
	minOthers = 10     // minimum rows outside the largest class, because fewer are ranked well by chance
)

// EachAlone predicts the target from each column alone, out of fold. It calls visit with the index of the player, the
// predictions in the form of Model.Predict, and the rows, a fixed sample of the training rows. For a numeric target,
// numeric columns are visited twice: with step functions, and with a line plus step functions of its residuals. With
// too few rows nothing is visited.
//
// A row is predicted from the rows j of other folds in the same bin, and from one virtual row with the mean target m
// and the mean weight w̄ of all rows: (w̄ m + Σ_j w_j y_j) / (w̄ + Σ_j w_j). Boosting a single column converges to the
// same, without the virtual row.
func EachAlone(ctx context.Context, p Problem, visit func(player int, predictions []float64, rows train.Data)) error {
	if p.Rows.Len() < minRows {
		return nil
	}
	s, err := drawSome(p, aloneRows)
	if err != nil {
		return err
	}
	f := family{p.Classes}
	if p.Classes > 0 && s.others(p.Classes) < minOthers {
		return nil
	}
	rows := s.data()
	y := f.indicators(s.y)
	for player := range s.rows.Players() {
		if err := ctx.Err(); err != nil {
			return err
		}
		column := aloneColumn(s.rows, player)
		bins := binned([]binning{column}, s.rows)[0]
		visit(player, s.meansOfBins(y, bins, column.count()), rows)
		if numeric, ordered := column.(ordered); ordered && p.Classes == 0 {
			line := s.lines(numeric.number)
			rest := make([]float64, len(line))
			for i, v := range line {
				rest[i] = s.y[i] - v
			}
			for i, v := range s.meansOfBins(rest, bins, column.count()) {
				line[i] += v
			}
			visit(player, line, rows)
		}
	}
	return nil
}

func aloneColumn(rows *encode.Batch, player int) binning {
	if player < rows.Numeric {
		return newOrdered(number{column: player, part: -1}, rows)
	}
	return byLabel{newLabels(rows, player-rows.Numeric)}
}

// others returns the number of rows outside the largest class.
func (s *sample) others(classes int) int {
	count := make([]int, classes)
	for _, y := range s.y {
		count[int(y)]++
	}
	return s.len() - slices.Max(count)
}

// data returns the sample as training data.
func (s *sample) data() train.Data {
	d := train.Data{Rows: s.rows, Target: make([]float32, s.len()), Weight: make([]float32, s.len())}
	for i := range s.y {
		d.Target[i], d.Weight[i] = float32(s.y[i]), float32(s.weight[i])
	}
	return d
}

// indicators returns targets [rows, outputs] whose mean is a prediction: numbers, or 0 and 1.
func (f family) indicators(y []float64) []float64 {
	if f.classes <= 2 {
		return y
	}
	all := make([]float64, len(y)*f.classes)
	for i, class := range y {
		all[i*f.classes+int(class)] = 1
	}
	return all
}

// meansOfBins predicts y [rows, outputs] of each fold from the means of bins in the others.
func (s *sample) meansOfBins(y []float64, bins []uint16, count int) []float64 {
	k := len(y) / s.len()
	all := newSums(count, k)
	all.add(s, y, bins, 0, s.len(), 1)
	mean, total := make([]float64, k), 0.0
	for bin, w := range all.weight {
		total += w
		for o := range k {
			mean[o] += all.sum[bin*k+o]
		}
	}
	row := total / float64(s.len()) // mean weight of a row
	predictions := make([]float64, len(y))
	for fold := range foldCount {
		from, to := s.folds[fold], s.folds[fold+1]
		all.add(s, y, bins, from, to, -1)
		for i := from; i < to; i++ {
			bin := int(bins[i])
			for o := range k {
				predictions[i*k+o] = (row*mean[o]/total + all.sum[bin*k+o]) / (row + all.weight[bin])
			}
		}
		all.add(s, y, bins, from, to, 1)
	}
	return predictions
}

// sums holds the sums of y and of weights in each bin.
type sums struct{ sum, weight []float64 }

func newSums(bins, outputs int) sums {
	return sums{make([]float64, bins*outputs), make([]float64, bins)}
}

// add adds rows [from, to), or subtracts them if sign is −1.
func (a sums) add(s *sample, y []float64, bins []uint16, from, to int, sign float64) {
	k := len(a.sum) / len(a.weight)
	for i := from; i < to; i++ {
		bin, w := int(bins[i]), sign*s.weight[i]
		a.weight[bin] += w
		for o := range k {
			a.sum[bin*k+o] += w * y[i*k+o]
		}
	}
}

// lines predicts each fold from the least-squares line of the others in n; 0 for a gap.
func (s *sample) lines(n number) []float64 {
	predictions := make([]float64, s.len())
	for fold := range foldCount {
		from, to := s.folds[fold], s.folds[fold+1]
		outside := func(visit func(x, y, w float64)) {
			for i, w := range s.weight {
				if x := n.value(s.rows, i); (i < from || i >= to) && !math.IsNaN(x) {
					visit(x, s.y[i], w)
				}
			}
		}
		mx, my, total := 0.0, 0.0, 0.0
		outside(func(x, y, w float64) { mx, my, total = mx+w*x, my+w*y, total+w })
		mx, my = mx/total, my/total
		xx, xy := 0.0, 0.0
		outside(func(x, y, w float64) { xx, xy = xx+w*(x-mx)*(x-mx), xy+w*(x-mx)*(y-my) })
		if !(xx > 0) {
			continue
		}
		for i := from; i < to; i++ {
			if x := n.value(s.rows, i); !math.IsNaN(x) {
				predictions[i] = my + xy/xx*(x-mx)
			}
		}
	}
	return predictions
}
