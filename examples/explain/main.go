// Explain prints the reasons for one prediction: go run ./examples/explain model.psi rows.csv
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

func main() {
	if err := explain(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func explain(ctx context.Context, file, data string) error {
	model, err := psi.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	rows, err := table.Open(data, model.ReadOptions()) // reads columns as they were read in training
	if err != nil {
		return err
	}
	e, err := model.Explain(ctx, rows, psi.ExplainOptions{To: 1})
	if err != nil {
		return err
	}
	fmt.Printf("prediction %.4g = base %.4g + attributions\n", e.Prediction[0], e.Base[0])
	for _, a := range e.Attributions(0, 0) {
		fmt.Printf("%12s = %-10s %+.4g, 95 %% interval %.4g to %.4g\n", a.Player, a.Value, a.Mean, a.Lower, a.Upper)
	}
	return nil
}
