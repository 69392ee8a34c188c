package psi

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// The quantile by trying every score: the smallest that at least .9 (n + 1) scores do not exceed.
func TestConformalIsTheBruteForceQuantile(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 5, 8, 9, 10, 19, 20, 99, 100, 101, 250} {
		for range 20 {
			scores, values := make([]rangeScore, n), make([]float64, n)
			for i := range scores {
				values[i] = math.Round(20*rng.ExpFloat64()) / 8 // many are equal
				scores[i] = rangeScore{rng.Float64(), values[i], 3}
			}
			want := slices.Max(values)
			for _, q := range values {
				within := 0
				for _, v := range values {
					if v <= q {
						within++
					}
				}
				if 10*within >= 9*(n+1) {
					want = min(want, q)
				}
			}
			if got := conformal(scores); got != want {
				t.Fatalf("%d scores: q %v, want %v", n, got, want)
			}
			if n < 9 && want != slices.Max(values) {
				t.Fatalf("%d scores cannot hold 90 %% of a new one", n)
			}
		}
	}
}

// A weight of 2 is the row twice, but for the weight of the new row.
func TestConformalWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	scores, twice := []rangeScore{}, []rangeScore{}
	for range 2000 {
		s := rangeScore{0, rng.ExpFloat64(), float64(1 + rng.IntN(2))}
		scores = append(scores, s)
		for range int(s.weight) {
			twice = append(twice, rangeScore{0, s.score, 1})
		}
	}
	if a, b := conformal(scores), conformal(twice); math.Abs(a-b) > 0.02 {
		t.Errorf("q %v by weights, %v by rows", a, b)
	}
}

// A new row's score is within q with the probability .9 or a little more, over draws of the scores.
func TestConformalHolds(t *testing.T) {
	const seed, draws, n = 3, 4000, 120
	rng := rand.New(rand.NewPCG(seed, 0))
	held := 0.0
	for range draws {
		scores := make([]rangeScore, n)
		for i := range scores {
			scores[i] = rangeScore{1, math.Abs(rng.NormFloat64()) * rng.ExpFloat64(), 1}
		}
		if math.Abs(rng.NormFloat64())*rng.ExpFloat64() <= conformal(scores) {
			held++
		}
	}
	if share := held / draws; share < 0.9-0.015 || share > 0.9+1./n+0.015 {
		t.Errorf("ranges hold %.3f", share)
	}
}

// Scores that depend on the share have bins of their own; those that do not have one. Bins have 100 scores or more, and equal shares
// are in one.
func TestRangesByShare(t *testing.T) {
	const seed, n = 4, 900
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(width func(share float64) float64) []rangeScore {
		scores := make([]rangeScore, n)
		for i := range scores {
			share := float64(rng.IntN(6)) / 5
			scores[i] = rangeScore{share, width(share) * math.Abs(rng.NormFloat64()), 1}
		}
		return scores
	}
	even := draw(func(float64) float64 { return 1 })
	if got := rangesOf(even, 100); len(got) != 1 || got[0].From != 0 || got[0].Width != conformal(even) {
		t.Errorf("scores that are all alike have the ranges %+v", got)
	}
	uneven := draw(func(share float64) float64 { return 2 - share })
	got := rangesOf(slices.Clone(uneven), 100)
	t.Logf("%+v", got)
	if len(got) < 2 || got[0].From != 0 {
		t.Fatalf("ranges %+v", got)
	}
	for i, r := range got {
		var in []rangeScore
		for _, s := range uneven {
			if s.share >= r.From && (i+1 == len(got) || s.share < got[i+1].From) {
				in = append(in, s)
			}
		}
		if len(in) < minScores || r.Width != conformal(in) {
			t.Errorf("range %+v has %d scores, whose q is %v", r, len(in), conformal(in))
		}
	}
	c := Calibration{Ranges: got}
	for _, s := range uneven {
		at := len(got) - 1
		for got[at].From > s.share {
			at--
		}
		if want := got[at].Width / 1.6448536269514722; c.widen(s.share) != want {
			t.Fatalf("share %g: factor %v, want %v", s.share, c.widen(s.share), want)
		}
	}
	if (&Calibration{}).widen(0.3) != 1 {
		t.Error("a model without ranges has others than a normal distribution's")
	}
}

// The ranges of a trained model are the conformal ones of the rows that were set aside, whole and masked, from predictions; no
// deviation knows of them.
func TestRangesOfATrainedNumber(t *testing.T) {
	rows := small(t, 250)
	m := trainSmall(t, rows, "number", "label", 1)
	c := m.manifest.Calibration
	t.Logf("%+v", c)
	if c.RangeRows != 0 { // 100 validation rows are too few to set any aside
		t.Errorf("%d rows are set aside", c.RangeRows)
	}
	if c.Noise != m.own.NoiseVariance()[0] || len(c.Ranges) == 0 || c.Temperature != 1 {
		t.Errorf("calibration %+v", c)
	}
	p, err := m.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	e := explainSmall(t, m, rows)
	if !slices.Equal(p.Std, e.PredictionStd) || !slices.Equal(p.RangeStd, e.RangeStd) {
		t.Error("predictions and explanations have other deviations or ranges")
	}
	for i, s := range p.Std {
		if want := s * c.Ranges[len(c.Ranges)-1].Width / 1.6448536269514722; math.Abs(p.RangeStd[i]-want) > 1e-12*want {
			t.Fatalf("row %d: ranges are by %v, want %v", i, p.RangeStd[i], want)
		}
	}
	m.manifest.Calibration.Ranges = nil
	if p, err = m.Predict(t.Context(), rows.Source()); err != nil || !slices.Equal(p.Std, p.RangeStd) {
		t.Errorf("a model without ranges: %v", err)
	}
	if e = explainSmall(t, m, rows); e.RangeStd != nil || !slices.Equal(e.PredictionStd, p.Std) {
		t.Error("an explanation of a model without ranges has some")
	}
}

// fitRanges scores copies of rows by what the model predicts of them.
func TestFitRangesScoresPredictions(t *testing.T) {
	rows := small(t, 250)
	m := trainSmall(t, rows, "number", "label", 2)
	chunk, err := m.chunk(rows, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	y, err := m.manifest.Scale.Encode(rows.Column("number"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := train.Unweighted(chunk.batch, y)
	got, err := m.fitRanges(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, scaleStream))
	var scores []rangeScore
	for _, kept := range []float64{0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75, 1} {
		part := keepCells(rng, d.Rows, kept)
		p, err := m.predict(t.Context(), part, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, truth := range rows.Column("number").Numbers {
			share := float64(part.Observed[2*i]+part.Observed[2*i+1]) / 2
			scores = append(scores, rangeScore{share, math.Abs(truth-p.Mean[i]) / p.Std[i], 1})
		}
	}
	want := rangesOf(scores, 250)
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range got {
		if got[i].From != want[i].From || math.Abs(got[i].Width-want[i].Width) > 1e-5*want[i].Width {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

// numbered are rows whose target is their number.
func numbered(n int) train.Data {
	d := train.Unweighted(&encode.Batch{Rows: n, Numeric: 1, Numbers: make([]float32, 2*n), Observed: make([]float32, n)}, make([]float32, n))
	for i := range d.Target {
		d.Target[i] = float32(i)
	}
	return d
}

// Every validation row is on one side, a quarter is set aside, rows of one unit stay together, and few rows do both.
func TestSetAside(t *testing.T) {
	for _, c := range []struct{ rows, perUnit, aside int }{{399, 1, 399}, {400, 1, 100}, {900, 1, 225}, {5000, 1, 1000}, {900, 7, 224}, {900, 200, 100}, {900, 450, 900}} {
		d := numbered(c.rows)
		var units []uint64
		if c.perUnit > 1 {
			for i := range c.rows {
				units = append(units, uint64(i/c.perUnit)*0x9E3779B97F4A7C15)
			}
		}
		choosing, aside := setAside(d, units)
		if aside.Len() != c.aside {
			t.Errorf("%d rows by %d: %d are set aside, want %d", c.rows, c.perUnit, aside.Len(), c.aside)
		}
		if aside.Len() == c.rows {
			if choosing.Len() != c.rows {
				t.Errorf("%d of %d rows choose", choosing.Len(), c.rows)
			}
			continue
		}
		all := slices.Concat(choosing.Target, aside.Target)
		slices.Sort(all)
		if !slices.Equal(all, d.Target) {
			t.Errorf("%d rows by %d: not every row is on one side", c.rows, c.perUnit)
		}
		side := map[int]int{}
		for k, rows := range [][]float32{choosing.Target, aside.Target} {
			for _, i := range rows {
				unit := int(i) / c.perUnit
				if before, met := side[unit]; met && before != k {
					t.Fatalf("unit %d is on both sides", unit)
				}
				side[unit] = k
			}
		}
	}
}

// A model with ranges requires a program that knows them, keeps them in its file, and refuses invalid ones.
func TestRangesInTheFile(t *testing.T) {
	rows := small(t, 250)
	m := trainSmall(t, rows, "number", "label", 1)
	if !slices.Contains(m.manifest.requires(), "ranges") {
		t.Errorf("the model requires %v", m.manifest.requires())
	}
	path := t.TempDir() + "/model.psi"
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	file, _, err := artifact.ReadFile(path, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Lacks(path, "product", "pairs", "tensor-train", "learned", "scale", "bags"); err == nil {
		t.Error("a program that knows no ranges reads the file")
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if !slices.Equal(opened.manifest.Calibration.Ranges, m.manifest.Calibration.Ranges) {
		t.Errorf("ranges %+v, saved %+v", opened.manifest.Calibration.Ranges, m.manifest.Calibration.Ranges)
	}
	for _, bad := range [][]Range{{{0.1, 1}}, {{0, -1}}, {{0, 1}, {0, 2}}, {{0, 1}, {1.5, 2}}, {{0, 1e9}}, {{0, 1}, {0.5, 1}, {0.4, 1}}} {
		c := m.manifest.Calibration
		c.Ranges = bad
		if c.validate(Regression, 1) == nil {
			t.Errorf("ranges %+v are accepted", bad)
		}
	}
	c := Calibration{Scale: 1, Ranges: []Range{{0, 1}}}
	if c.validate(Binary, 1) == nil {
		t.Error("ranges of classes are accepted")
	}
	content, err := json.Marshal(Calibration{Scale: 1})
	if err != nil || bytes.Contains(content, []byte("range")) {
		t.Errorf("a model without ranges says %s (%v)", content, err)
	}
}
