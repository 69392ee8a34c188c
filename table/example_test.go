package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// Reading CSV tells why each column got its kind.
func Example() {
	const text = `age;smoker;region;charges
19;yes;southwest;16884.924
18;no;southeast;1725.5523
NA;no;southeast;4449.462
`
	source, err := table.OpenReader(strings.NewReader(text), table.CSV, table.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer source.Close()
	rows, err := table.ReadAll(context.Background(), source)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, field := range rows.Schema().Fields {
		fmt.Printf("%-8s %-9s %s\n", field.Name, field.Kind, field.Reason)
	}
	fmt.Println(rows.Column("age").Observed)
	// Output:
	// age      number    all 2 observed cells parse as numbers; 2 distinct values
	// smoker   boolean   all 3 observed cells are no or yes; 2 distinct values
	// region   category  "southwest" in row 0 is neither a number, a date nor true or false; 2 distinct labels
	// charges  number    all 3 observed cells parse as numbers; 3 distinct values
	// [true true false]
}

// A file of any size is converted in constant memory.
func ExampleCreate() {
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "people.parquet")

	convert := func() error {
		source, err := table.OpenReader(strings.NewReader("name,age\nAda,36\nEmmy,\n"), table.CSV, table.Options{})
		if err != nil {
			return err
		}
		defer source.Close()
		sink, err := table.Create(path)
		if err != nil {
			return err
		}
		defer sink.Abort() // leaves nothing behind unless Close succeeds
		for {
			chunk, err := source.Next(ctx)
			if errors.Is(err, io.EOF) {
				return sink.Close()
			}
			if err != nil {
				return err
			}
			if err := sink.Write(ctx, chunk); err != nil {
				return err
			}
		}
	}
	if err := convert(); err != nil {
		fmt.Println(err)
		return
	}

	people, err := table.Read(ctx, path, table.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range people.Rows() {
		fmt.Printf("%s %q\n", people.Column("name").Text(row), people.Column("age").Text(row))
	}
	// Output:
	// Ada "36"
	// Emmy ""
}

// Errors name the row, the column and what to do.
func ExampleError() {
	_, err := table.OpenReader(strings.NewReader("age,city\n31,Rome\n44\n"), table.CSV, table.Options{Name: "people.csv"})
	fmt.Println(err)
	// Output:
	// people.csv, row 1: the row has 1 cell where the first line has 2, cut at each comma (line 3 of the file); complete the row, or quote cells that contain the delimiter
}

// Tables can be made from slices; NaN is a missing number.
func ExampleNew() {
	rows, err := table.New(
		table.NumberColumn("age", []float64{31, 44, 28}, []bool{true, true, false}),
		table.CategoryColumn("city", []string{"Rome", "Oslo", "Rome"}, nil),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	last := rows.Select([]int{2})
	fmt.Println(last.Column("age").Observed[0], last.Column("city").Text(0))
	// Output:
	// false Rome
}
