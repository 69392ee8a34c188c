// Stream explains a table of any size in constant memory: go run ./examples/stream model.psi rows.parquet explained.parquet
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

func main() {
	if err := stream(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func stream(ctx context.Context, file, data, out string) (err error) {
	model, err := psi.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	rows, err := table.Open(data, model.ReadOptions())
	if err != nil {
		return err
	}
	sink, err := table.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	for e, err := range model.Explanations(ctx, rows, psi.ExplainOptions{}) {
		if err != nil {
			return err
		}
		wide, err := e.Wide()
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, wide); err != nil {
			return err
		}
	}
	return nil
}
