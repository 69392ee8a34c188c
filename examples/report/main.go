// Report writes an HTML page about a model and a table: go run ./examples/report model.psi rows.csv report.html
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/report"
	"github.com/psi-shapley/psi/table"
)

func main() {
	if err := write(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func write(ctx context.Context, file, data, page string) error {
	model, err := psi.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	rows, err := table.Open(data, model.ReadOptions())
	if err != nil {
		return err
	}
	r, err := report.Gather(ctx, model, rows, report.Options{Name: data, Model: file})
	if err != nil {
		return err
	}
	out, err := os.Create(page)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(out, r), out.Close())
}
