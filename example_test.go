package psi_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// flats is a table of 300 flats: each square metre costs 3,000, a garden 60,000.
func flats() psi.Source {
	rng, text := rand.New(rand.NewPCG(1, 1)), "size,garden,price\n"
	for range 300 {
		size, garden := 20+rng.IntN(180), rng.IntN(2)
		text += fmt.Sprintf("%d,%s,%d\n", size, []string{"no", "yes"}[garden], 3000*size+60_000*garden)
	}
	rows, err := table.OpenReader(strings.NewReader(text), table.CSV, table.Options{})
	if err != nil {
		panic(err)
	}
	return rows
}

func modelOfFlats() *psi.Model {
	model, err := psi.Train(context.Background(), flats(), psi.Config{Target: "price", Effort: psi.Fast})
	if err != nil {
		panic(err)
	}
	return model
}

// Train needs rows and the column to predict; other settings have measured defaults.
func ExampleTrain() {
	model, err := psi.Train(context.Background(), flats(), psi.Config{Target: "price", Effort: psi.Fast})
	if err != nil {
		panic(err)
	}
	defer model.Close()
	fmt.Println(model.Columns(), model.Manifest().Task, model.Manifest().Metrics["r2"] > 0.9)
	// Output: [size garden] regression true
}

// The attributions of a row and the base add up to its prediction.
func ExampleModel_Explain() {
	model := modelOfFlats()
	defer model.Close()
	e, err := model.Explain(context.Background(), flats(), psi.ExplainOptions{To: 1})
	if err != nil {
		panic(err)
	}
	sum := e.Base[0]
	for _, a := range e.Attributions(0, 0) {
		sum += a.Mean
	}
	size, _ := e.At(0, "price", "size")
	garden, _ := e.At(0, "price", "garden")
	fmt.Println(math.Abs(sum-e.Prediction[0]) < 1e-3*e.Prediction[0], math.Abs(size.Mean) > math.Abs(garden.Mean))
	// Output: true true
}

// Explanations explains a source of any length, a chunk at a time.
func ExampleModel_Explanations() {
	model := modelOfFlats()
	defer model.Close()
	rows := 0
	for e, err := range model.Explanations(context.Background(), flats(), psi.ExplainOptions{}) {
		if err != nil {
			panic(err)
		}
		rows += e.Rows
	}
	fmt.Println(rows, "rows explained")
	// Output: 300 rows explained
}
