package network_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
)

// A network of two numbers and a category explains two rows; the second has no
// category. Attributions add up to the value, and an absent player has none.
func Example() {
	net, err := network.New(form.Config{
		Inputs:  form.Inputs{Numeric: 2, Bins: 4, Levels: []int{3}},
		Outputs: 1, Head: form.Exact, Form: form.Product,
		Embedding: 4, Channels: 8, SigmaWidth: 2, HiddenWidth: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	weights := map[string][]float32{} // any will do here; training starts from net.Start
	for _, w := range net.Weights() {
		for i := range w.Size() {
			weights[w.Name] = append(weights[w.Name], float32(math.Sin(float64(i+1))))
		}
	}
	params := net.NewParams()
	if err := params.Put("model", weights); err != nil {
		log.Fatal(err)
	}
	backend, _, err := engine.Open("go")
	if err != nil {
		log.Fatal(err)
	}
	rows := encode.NewBatch(2, 2, 1)
	copy(rows.Numbers, []float32{0.5, -1.2, 3.25, 0.9, 2, 0.1, 1.75, -0.4}) // position, value
	copy(rows.Codes, []int32{2, 0})
	copy(rows.Observed, []float32{1, 1, 1, 1, 1, 0})

	e := net.NewEvaluator(backend, params, "model", engine.Final, form.ExactNodes(3))
	x, err := e.Pass(context.Background(), rows, form.Everything)
	e.Close()
	if err != nil {
		log.Fatal(err)
	}
	for i := range rows.Rows {
		fmt.Printf("f = %6.3f, h² = %.3f\n", x.Value[i], x.HiddenVariance[i])
		for d := range rows.Players() {
			fmt.Printf("  φ = %6.3f\n", x.Attributions[i*rows.Players()+d])
		}
	}
	// Output:
	// f =  2.606, h² = 0.000
	//   φ =  0.232
	//   φ =  1.671
	//   φ =  0.704
	// f =  0.292, h² = 2.457
	//   φ = -1.350
	//   φ =  1.642
	//   φ =  0.000
}
