package table

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// realData opens a file of the benchmark data, which is not part of the module.
func realData(t *testing.T, name string) *os.File {
	t.Helper()
	directory := os.Getenv("PSI_DATA")
	if directory == "" {
		directory = filepath.Join("..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(directory, filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("%s is not here; set PSI_DATA to the directory that holds it (%v)", name, err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

func readReal(t *testing.T, name string, options Options) *Table {
	t.Helper()
	table, err := readWhole(realData(t, name), CSV, options)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func countMissing(c *Column) int {
	missing := 0
	for _, observed := range c.Observed {
		if !observed {
			missing++
		}
	}
	return missing
}

func countKinds(t *Table) map[Kind]int {
	kinds := make(map[Kind]int)
	for _, c := range t.Columns {
		kinds[c.Kind]++
	}
	return kinds
}

func wantShape(t *testing.T, table *Table, rows, numbers, categories int) {
	t.Helper()
	kinds := countKinds(table)
	if table.Rows() != rows || kinds[Number] != numbers || kinds[Category] != categories || len(table.Columns) != numbers+categories {
		t.Errorf("%d rows, kinds %v; want %d rows, %d numbers, %d categories", table.Rows(), kinds, rows, numbers, categories)
	}
}

func TestAdult(t *testing.T) {
	table := readReal(t, "adult/adult.data.gz", Options{NoHeader: true})
	wantShape(t, table, 32561, 6, 9)
	label := table.Column("x14")
	if len(label.Levels) != 2 || label.Levels[0] != "<=50K" {
		t.Errorf("labels %q", label.Levels)
	}
	for name, want := range map[string]int{"x1": 1836, "x6": 1843, "x13": 583, "x0": 0} {
		if got := countMissing(table.Column(name)); got != want {
			t.Errorf("%s has %d missing cells, want %d", name, got, want)
		}
	}
}

func TestBike(t *testing.T) {
	table := readReal(t, "bike/hour.csv.gz", Options{})
	wantShape(t, table, 17379, 16, 1)
	casual, registered, count := table.Column("casual"), table.Column("registered"), table.Column("cnt")
	for row := range table.Rows() {
		if casual.Numbers[row]+registered.Numbers[row] != count.Numbers[row] {
			t.Fatalf("row %d does not add up", row)
		}
	}
	schema := table.Schema()
	if got, want := schema.Field("yr").Reason, "all 17,379 observed cells parse as numbers; 2 distinct values"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"instant", "dteday"} { // a row number, and dates of unclear order
		if len(schema.Field(name).Notes) != 1 {
			t.Errorf("%s has notes %q", name, schema.Field(name).Notes)
		}
	}
}

func TestCalifornia(t *testing.T) {
	table := readReal(t, "california_housing/cal_housing.csv.gz", Options{})
	wantShape(t, table, 20640, 9, 0)
	capped := 0
	for _, value := range table.Column("median_house_value").Numbers {
		if value == 500001 {
			capped++
		}
	}
	if capped != 965 {
		t.Errorf("%d capped values, want 965", capped)
	}
}

func TestSupport2(t *testing.T) {
	table := readReal(t, "support2/support2.csv.gz", Options{})
	wantShape(t, table, 9105, 40, 8)
	columns := 0
	for _, c := range table.Columns {
		if countMissing(c) > 0 {
			columns++
		}
	}
	if columns != 33 {
		t.Errorf("%d columns have missing cells, want 33", columns)
	}
	for name, want := range map[string]int{"adlp": 5641, "urine": 4862, "glucose": 4500, "bun": 4352} {
		if got := countMissing(table.Column(name)); got != want {
			t.Errorf("%s has %d missing cells, want %d", name, got, want)
		}
	}
}

// A stream of real data gives the same table as a whole read, and so does Parquet.
func TestRealDataStreamsAndConverts(t *testing.T) {
	ctx := context.Background()
	whole := readReal(t, "support2/support2.csv.gz", Options{})
	source, err := OpenReader(realData(t, "support2/support2.csv.gz"), CSV, Options{ChunkRows: 1000, SampleRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "support2.parquet")
	sink, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Abort()
	for _, chunk := range drain(t, source) {
		if err := sink.Write(ctx, chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, whole, got)
}
