package eval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/psi-shapley/psi/eval"
)

// Rows arrive in any number of chunks; only sums are kept.
func ExampleRegression() {
	var r eval.Regression
	for _, row := range []struct{ y, prediction, std float64 }{
		{10, 11, 1}, {20, 18, 2}, {30, 30, 1}, {40, 44, 2},
	} {
		r.Add(row.y, row.prediction, row.std, 1)
	}
	if err := r.Evaluation().Text(os.Stdout, "charges"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// regression of charges on 4 rows
	//   rmse              2.291  typical error (root mean square), in units of charges
	//   mae               1.750  mean absolute error, in units of charges
	//   r2               0.9580  share of variance explained; 1 is best, 0 is the mean
	//   nll               2.016  surprise at the truth, in nats; lower is better
	//   coverage_50      0.2500  share of the truth inside 50% intervals; 0.5 is right
	//   coverage_90      0.7500  share of the truth inside 90% intervals; 0.9 is right
}

// A model of two classes gives the probability of the positive one.
func ExampleBinary() {
	var b eval.Binary
	for _, row := range []struct {
		positive    bool
		probability float64
	}{
		{true, 0.9}, {true, 0.6}, {false, 0.7}, {false, 0.2},
	} {
		b.Add(row.positive, row.probability, 1)
	}
	if err := b.Evaluation().Text(os.Stdout, "income"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// binary classification of income on 4 rows
	//   auroc                  0.7500  ranks a random pair rightly; 0.5 is chance
	//   average_precision      0.8333  mean precision; chance is the positives' share
	//   log_loss               0.5108  surprise at the truth, in nats; lower is better
	//   brier                  0.1750  mean squared error of the probabilities
	//   ece                    0.3500  gap between probability and share of positives
	//   accuracy               0.7500  share of rows whose class is the likelier one
}

func ExampleMulticlass() {
	classes := []string{"setosa", "versicolor", "virginica"}
	var m eval.Multiclass
	for _, row := range []struct {
		class         string
		probabilities []float64
	}{
		{"setosa", []float64{0.9, 0.1, 0}}, {"virginica", []float64{0, 0.6, 0.4}},
	} {
		m.Add(slices.Index(classes, row.class), row.probabilities, 1)
	}
	fmt.Printf("accuracy %.2f, log loss %.3f, macro AUROC %.1f\n", m.Accuracy(), m.LogLoss(), m.MacroAUROC())
	// Output: accuracy 0.50, log loss 0.511, macro AUROC 1.0
}

// What is not defined, here the variance explained of a constant target, is null.
func ExampleEvaluation_MarshalJSON() {
	var r eval.Regression
	r.Add(1, 1.5, 1, 1)
	r.Add(1, 0.5, 1, 1)
	text, err := json.Marshal(r.Evaluation())
	fmt.Println(string(text), err)
	// Output:
	// {"schema":"psi.evaluation/v1","task":"regression","rows":2,"metrics":{"rmse":0.5,"mae":0.5,"r2":null,"nll":1.0439385332046727,"coverage_50":1,"coverage_90":1}} <nil>
}

// Attributions are compared with exact Shapley values, row by row.
func ExampleTopOverlap() {
	attributions := [][]float64{{0.9, -0.2, 0.1}, {0.1, 0.3, -0.2}}
	shapleyValues := [][]float64{{1.0, -0.1, 0.2}, {0.1, 0.3, -0.4}}
	var all eval.Agreement
	first, two := eval.TopOverlap{K: 1}, eval.TopOverlap{K: 2}
	for row, f := range attributions {
		phi := shapleyValues[row]
		for d := range f {
			all.Add(f[d], phi[d])
		}
		first.Add(f, phi)
		two.Add(f, phi)
	}
	fmt.Printf("relative RMSE %.3f, correlation %.3f\n", all.RelativeRMSE(), all.Correlation())
	fmt.Println("same first player:", first.Share(), "overlap of the first two:", two.Share())
	// Output:
	// relative RMSE 0.231, correlation 0.975
	// same first player: 0.5 overlap of the first two: 0.75
}
