package explain

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// A number whose log is normal: the centre and the spread that Normal finds from the log of its mean and the root-mean-square distance from that, and
// the standard deviation of the number, are those of the distribution.
func TestLinkOfLogs(t *testing.T) {
	for _, sigma := range []float64{0.05, 0.741, 1.5} {
		d := distuv.LogNormal{Mu: 2.2, Sigma: sigma}
		score := math.Log(d.Mean())
		rms := math.Sqrt(sigma*sigma + math.Pow(d.Mu-score, 2))
		link := Link{LogMean, true}
		centre, spread := link.Normal(score, rms)
		for what, pair := range map[string][2]float64{
			"centre": {centre, d.Mu}, "spread": {spread, sigma}, "mean": {link.Response(score), d.Mean()},
			"deviation of the mean": {link.Deviation(score, rms), d.StdDev()}, "median": {Link{Log, true}.Response(d.Mu), d.Quantile(0.5)},
			"deviation of the median": {Link{Log, true}.Deviation(d.Mu, sigma), d.StdDev()},
		} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
				t.Errorf("σ %g: %s %g, want %g", sigma, what, pair[0], pair[1])
			}
		}
		score, logSlope := link.Score(7)
		if got, want := (distuv.Normal{Mu: d.Mu, Sigma: sigma}).LogProb(score)+logSlope, d.LogProb(7); math.Abs(got-want) > 1e-9 {
			t.Errorf("σ %g: log density %g, want %g", sigma, got, want)
		}
	}
	if v := (Link{Log, true}).Response(1e9); math.IsInf(v, 0) {
		t.Error("a score that is too large has no finite response")
	}
	if centre, spread := (Link{Identity, true}).Normal(-3, 2); centre != -3 || spread != 2 {
		t.Errorf("in its own units the distribution is about %g ± %g, want -3 ± 2", centre, spread)
	}
}
