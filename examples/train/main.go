// Train learns a column of a CSV, Parquet or Arrow file: go run ./examples/train rows.csv price model.psi
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
	if err := train(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func train(ctx context.Context, data, target, file string) error {
	rows, err := table.Open(data, table.Options{Guess: &table.Guess{}}) // reads $1,234.50 and 31.12.2024 too
	if err != nil {
		return err
	}
	model, err := psi.Train(ctx, rows, psi.Config{Target: target, Effort: psi.Fast})
	if err != nil {
		return err
	}
	defer model.Close()
	fmt.Println(model.Manifest().Metrics, model.Warnings()) // of the rows kept aside for validation
	return model.Save(file)
}
