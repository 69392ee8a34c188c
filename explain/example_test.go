package explain_test

import (
	"context"
	"fmt"
	"os"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// insurance explains two predicted bills: what a model would return.
func insurance() *explain.Explanation {
	return &explain.Explanation{
		Model: "sha256:5eb1", Head: "product", Mode: explain.Fast, Exact: true, Z: 2, Top: 1,
		Outputs: []string{"charges"}, Scale: explain.Identity, Players: []string{"age", "bmi", "smoker"},
		Rows:          2,
		Base:          []float64{13270, 13270},
		Prediction:    []float64{18940, 3120},
		PredictionStd: []float64{2300, 1400},
		HiddenStd:     []float64{0, 900},
		Residual:      []float64{0, 0},
		Mean:          []float64{-4210, -640, 10520, -5150, 0, -5000},
		Std:           []float64{410, 900, 610, 300, 0, 100},
		Observed:      []bool{true, true, true, true, false, true},
		Values: []*table.Column{
			table.NumberColumn("age", []float64{19, 18}, nil),
			table.NumberColumn("bmi", []float64{27.9, 0}, []bool{true, false}),
			table.CategoryColumn("smoker", []string{"yes", "no"}, nil),
		},
	}
}

// Why is the prediction 18940 rather than 13270?
func ExampleText() {
	if err := explain.Text(os.Stdout, insurance(), explain.TextOptions{Width: 72}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// How much each column added to the prediction or subtracted from it,
	// starting from the base: the prediction when no column is known. ± is 2
	// standard deviations of the column's contribution among rows like this
	// one. It does not measure how far other training rows would move it.
	// Exact: these are the Shapley values of the model.
	//
	// Row 0: prediction 18940 ± 4600, 5670 above the base of 13270
	//   smoker  yes            │█████████████████▉──  +10520 ± 1220  raises it
	//   age     19    ──███████│                       -4210 ±  820  lowers it
	//   bmi     27.9       ───█│──                      -640 ± 1800  76% down
	//
	// Row 1: prediction 3120 ± 2800, 10150 below the base of 13270
	//   age     18  ───▐█████████████████████████████│  -5150 ± 600  lowers it
	//   smoker  no     ─▐████████████████████████████│  -5000 ± 200  lowers it
	//   missing: bmi (part of the prediction's uncertainty: ± 1800)
	//
	// For all rows and columns as numbers, use -o FILE, ending in .csv,
	// .parquet, .arrow or .json.
}

// Two reasons for each bill, and no more than are sure.
func ExampleText_reasons() {
	if err := explain.Text(os.Stdout, insurance(), explain.TextOptions{Width: 72, Reasons: 3}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// The columns that are sure to have raised or lowered the prediction,
	// starting from the base: the prediction when no column is known. psi
	// names a column only if its 95.4% interval excludes 0. ± is 2 standard
	// deviations of the column's contribution among rows like this one. It
	// does not measure how far other training rows would move it.
	// Exact: these are the Shapley values of the model.
	//
	// Row 0: prediction 18940 ± 4600, 5670 above the base of 13270
	//   1. smoker = yes raises it by 10520 (9300 to 11740)
	//   2. age = 19 lowers it by 4210 (3390 to 5030)
	//   no other column is sure to raise or to lower it
	//
	// Row 1: prediction 3120 ± 2800, 10150 below the base of 13270
	//   1. age = 18 lowers it by 5150 (4550 to 5750); 68% sure to outweigh the
	//     next
	//   2. smoker = no lowers it by 5000 (4800 to 5200)
	//   no other column is sure to raise or to lower it
	//
	// For all rows and columns as numbers, use -o FILE, ending in .csv,
	// .parquet, .arrow or .json.
}

// income explains whether a person earns more than 50,000: one output, the positive class, on
// the scale of log odds.
func income() *explain.Explanation {
	return &explain.Explanation{
		Model: "sha256:ad17", Head: "exact", Mode: explain.Fast, Exact: true, Z: 2, Top: 1,
		Outputs: []string{">50K"}, Scale: explain.Logit, Players: []string{"education", "work", "country"},
		Rows: 1,
		Base: []float64{-1.2}, Prediction: []float64{1.6}, PredictionStd: []float64{0.4}, HiddenStd: []float64{0}, Residual: []float64{0},
		Probability: []float64{0.828},
		Mean:        []float64{2.1, 0.8, -0.1},
		Std:         []float64{0.2, 0.3, 0.1},
		Observed:    []bool{true, true, true},
		Other:       []bool{false, false, true},
		Values: []*table.Column{
			table.NumberColumn("education", []float64{14}, nil),
			nil, // a group of columns
			table.CategoryColumn("country", []string{"Malta"}, nil),
		},
	}
}

// Of a class the text gives the probability, and explains the score.
func ExampleText_classes() {
	if err := explain.Text(os.Stdout, income(), explain.TextOptions{Width: 76}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// How much each column or group of columns added to the score of >50K or
	// subtracted from it, starting from the base: the score when no column is
	// known. The score is the log odds of >50K: 0 means a probability of 50%, and
	// adding 1 multiplies the odds by 2.7. ± is 2 standard deviations of the
	// uncertainty that labels show beyond the score: often almost none. It does
	// not measure how far other training rows would move it.
	// Exact: these are the Shapley values of the model.
	// (other): a label that was absent or very rare in training. The model treats
	// all such labels as one.
	//
	// Row 0: P(>50K) = 0.83; score (log odds) 1.60 ± 0.80, 2.80 above the base of
	//   -1.20
	//   education  14               │██████████████───     +2.10 ± 0.40  raises it
	//   work                        │█████▍───             +0.80 ± 0.60  raises it
	//   country    Malta (other)  ─▐│─                     -0.10 ± 0.20  84% down
	//
	// For all rows and columns as numbers, use -o FILE, ending in .csv, .parquet,
	// .arrow or .json.
}

// Why versicolor, and not virginica?
func ExampleExplanation_Contrast() {
	e := income()
	e.Outputs, e.Scale = []string{"setosa", "versicolor", "virginica"}, explain.Score
	e.Players, e.Values, e.Observed, e.Other = []string{"length"}, e.Values[:1], []bool{true}, nil
	e.Base, e.Prediction, e.Residual = []float64{0, 0, 0}, []float64{-3, 2, 1}, []float64{0, 0, 0}
	e.PredictionStd, e.HiddenStd = []float64{0.3, 0.3, 0.4}, []float64{0, 0, 0}
	e.Probability = []float64{0.005, 0.725, 0.27}
	e.Mean, e.Std = []float64{-3, 2, 1}, []float64{0.3, 0.3, 0.4}

	lead, err := e.Contrast("versicolor", "virginica")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range lead.Attributions(0, 0) {
		fmt.Printf("%s: %s adds %g ± %.1f\n", lead.Outputs[0], a.Player, a.Mean, a.Std)
	}
	// Output: versicolor − virginica: length adds 1 ± 0.5
}

func ExampleExplanation_At() {
	a, found := insurance().At(0, "", "smoker")
	fmt.Printf("%s = %s adds %.0f: %v\n", a.Player, a.Value, a.Mean, found)
	_, found = insurance().At(0, "", "smokes")
	fmt.Println(found)
	// Output:
	// smoker = yes adds 10520: true
	// false
}

func ExampleExplanation_Attributions() {
	for _, a := range insurance().Attributions(0, 0) {
		fmt.Printf("%-6s = %-4s %6.0f in [%6.0f, %6.0f], above 0 with probability %.3f, the largest with %.3f\n",
			a.Player, a.Value, a.Mean, a.Lower, a.Upper, a.PPositive, a.PTop)
	}
	// Output:
	// age    = 19    -4210 in [ -5030,  -3390], above 0 with probability 0.000, the largest with 0.000
	// bmi    = 27.9   -640 in [ -2440,   1160], above 0 with probability 0.239, the largest with 0.000
	// smoker = yes   10520 in [  9300,  11740], above 0 with probability 1.000, the largest with 1.000
}

// A table of any length becomes one document, chunk by chunk.
func ExampleJSONWriter() {
	e := insurance()
	e.Players, e.Values = e.Players[2:], e.Values[2:]
	e.Prediction, e.HiddenStd = []float64{23790, 8270}, []float64{0, 0}
	e.Mean, e.Std, e.Observed = []float64{10520, -5000}, []float64{610, 100}, []bool{true, true}

	w := explain.NewJSONWriter(os.Stdout)
	for _, chunk := range []*explain.Explanation{e} {
		if err := w.Write(chunk); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"schema":"psi.explanation/v1","model":"sha256:5eb1","head":"product","game":"observational","mode":"fast","exact":true,"z":2,"interval":"spread","bags":0,"outputs":["charges"],"players":["smoker"],"rows":[
	// {"row":0,"outputs":[{"output":"charges","scale":"identity","base":13270,"prediction":23790,"prediction_std":2300,"hidden_std":0,"probability":null,"residual":0,"attributions":[{"player":"smoker","value":"yes","observed":true,"mean":10520,"std":610,"lower":9300,"upper":11740,"spread_lower":9300,"spread_upper":11740,"p_positive":1,"p_top":1,"standard_error":null,"model_std":null}],"interactions":null}]},
	// {"row":1,"outputs":[{"output":"charges","scale":"identity","base":13270,"prediction":8270,"prediction_std":1400,"hidden_std":0,"probability":null,"residual":0,"attributions":[{"player":"smoker","value":"no","observed":true,"mean":-5000,"std":100,"lower":-5200,"upper":-4800,"spread_lower":-5200,"spread_upper":-4800,"p_positive":0,"p_top":1,"standard_error":null,"model_std":null}],"interactions":null}]}
	// ]}
}

// Tables go to any sink: CSV here, or a Parquet or Arrow file by table.Create.
func ExampleExplanation_Wide() {
	sink, err := table.NewSink(os.Stdout, table.CSV)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := insurance().Wide()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sink.Write(context.Background(), rows); err != nil {
		fmt.Println(err)
		return
	}
	if err := sink.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// row,prediction,prediction_std,base,age,age__std,bmi,bmi__std,smoker,smoker__std
	// 0,18940,2300,13270,-4210,410,-640,900,10520,610
	// 1,3120,1400,13270,-5150,300,0,0,-5000,100
}

func ExampleExplanation_Long() {
	lines, err := insurance().Long()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, column := range lines.Columns {
		fmt.Printf("%-10s", column.Name)
		for line := range lines.Rows() {
			switch {
			case column.Kind == table.Number && column.Observed[line]:
				fmt.Printf(" %10.5g", column.Numbers[line])
			default:
				fmt.Printf(" %10s", column.Text(line))
			}
		}
		fmt.Println()
	}
	// Output:
	// row                 0          0          0          1          1          1
	// output        charges    charges    charges    charges    charges    charges
	// player            age        bmi     smoker        age        bmi     smoker
	// value              19       27.9        yes         18                    no
	// observed         true       true       true       true      false       true
	// mean            -4210       -640      10520      -5150          0      -5000
	// std               410        900        610        300          0        100
	// lower           -5030      -2440       9300      -5750          0      -5200
	// upper           -3390       1160      11740      -4550          0      -4800
	// p_positive 4.8961e-25    0.23851          1 2.3587e-66                     0
	// p_top       3.542e-19          0          1    0.68237          0    0.31763
}
