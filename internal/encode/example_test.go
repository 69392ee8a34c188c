package encode_test

import (
	"fmt"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// The age of 25 is a quarter of the way from 20 to 40, the ends of the first bin; in
// the second row the age is missing, and training has seen no town named Bonn.
func ExampleFit() {
	training, err := table.New(
		table.NumberColumn("age", []float64{20, 40, 60, 20, 40, 60}, nil),
		table.CategoryColumn("town", []string{"Ulm", "Jena", "Ulm", "Jena", "Ulm", "Jena"}, nil))
	if err != nil {
		panic(err)
	}
	encoder, err := encode.Fit(training, []string{"age", "town"}, 48)
	if err != nil {
		panic(err)
	}
	fresh, err := table.New(
		table.NumberColumn("age", []float64{25, math.NaN()}, nil),
		table.CategoryColumn("town", []string{"Jena", "Bonn"}, nil))
	if err != nil {
		panic(err)
	}
	batch, err := encoder.Encode(fresh)
	if err != nil {
		panic(err)
	}
	fmt.Printf("numbers  %.2f\n", batch.Numbers)
	fmt.Println("codes   ", batch.Codes)
	fmt.Println("observed", batch.Observed)
	// Output:
	// numbers  [0.25 -0.92 0.00 0.00]
	// codes    [1 0]
	// observed [1 1 0 1]
}
