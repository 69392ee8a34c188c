package jsonrows_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/table"
)

func shape() jsonrows.Shape {
	return jsonrows.Shape{MaxRows: 10, Unknown: []string{"day"}, Columns: []jsonrows.Column{
		{Name: "age", Kind: table.Number, Missing: []string{"none"}},
		{Name: "town", Kind: table.Category, Labels: []string{"Ayr", "NA"}},
		{Name: "member", Kind: table.Boolean},
		{Name: "day", Kind: table.Time},
	}}
}

// texts are the cells of a table, row by row; what is missing is "-".
func texts(t *table.Table) string {
	var rows []string
	for i := range t.Rows() {
		var cells []string
		for _, c := range t.Columns {
			cell := "-"
			if c.Observed[i] {
				cell = c.Text(i)
			}
			cells = append(cells, cell)
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return strings.Join(rows, "; ")
}

func TestRows(t *testing.T) {
	for body, want := range map[string]string{
		`[[39, "Ayr", true, "2026-01-02"]]`: "39 Ayr true 2026-01-02",
		`[["39", "", "no", 0]]`:             "39 - false 1970-01-01",
		`[[null, "NA", 1, null]]`:           "- NA true -", // a label that the model knows
		`[["none", 7, 0, "?"]]`:             "- 7 false -", // a text of the model's own for missing; a number as a label
		`[{"member": true, "age": 1e2, "town": "?", "other": {"a": [1]}}]`:      "100 - true -", // day may be lacking
		`[{"age": 1, "town": "Ayr", "member": false}, [2, "Bath", true, null]]`: "1 Ayr false -; 2 Bath true -",
	} {
		got, err := shape().Rows(json.RawMessage(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if texts(got) != want {
			t.Errorf("%s: %s, want %s", body, texts(got), want)
		}
	}
	got, err := shape().Split([]string{"town", "x", "age", "member"}, json.RawMessage(`[["Ayr", {}, 3, true]]`))
	if err != nil || texts(got) != "3 Ayr true -" {
		t.Errorf("split: %v", err)
	}
	got, err = shape().ByColumn(json.RawMessage(`{"age": [1, 2], "town": ["Ayr", null], "member": [[true], [false]], "more": 1}`))
	if err != nil || texts(got) != "1 Ayr true -; 2 - false -" {
		t.Errorf("by column: %v", err)
	}
}

// Text is read as in training, numbers are taken as they are, and text that does not fit is missing.
func TestReadings(t *testing.T) {
	shape := jsonrows.Shape{MaxRows: 10, Columns: []jsonrows.Column{
		{Name: "price", Kind: table.Number, Reading: &table.Reading{Decimal: ",", Unit: "€"}},
		{Name: "day", Kind: table.Time, Reading: &table.Reading{Dates: map[string]table.DateOrder{"/": table.DayFirst}}},
	}}
	got, err := shape.Rows(json.RawMessage(`[["€1.234,5", "3/4/2026"], [1234.5, 0], ["1.234", "2026-04-03"], ["$5", "4/13/2026"], ["", null]]`))
	if want := "1234.5 2026-04-03; 1234.5 1970-01-01; 1234 2026-04-03; - -; - -"; err != nil || texts(got) != want {
		t.Errorf("%s (%v), want %s", texts(got), err, want)
	}
}

// What is wrong is told with its row and column.
func TestWrongRows(t *testing.T) {
	for body, want := range map[string]struct {
		row    int
		column string
	}{
		`[[1, "Ayr", true]]`:                                  {0, ""},
		`[[1, "Ayr", true, null, 5]]`:                         {0, ""},
		`[[1, "Ayr", true, null], ["x", "Ayr", true, null]]`:  {1, "age"},
		`[["inf", "Ayr", true, null]]`:                        {0, "age"},
		`[[1e999, "Ayr", true, null]]`:                        {0, "age"},
		`[[true, "Ayr", true, null]]`:                         {0, "age"},
		`[[1, "Ayr", 2, null]]`:                               {0, "member"},
		`[[1, "Ayr", true, "soon"]]`:                          {0, "day"},
		`[[1, ["Ayr"], true, null]]`:                          {0, "town"},
		`[{"age": 1, "member": true}]`:                        {0, "town"},
		`[{"age": 1, "age": 2, "town": "a", "member": true}]`: {0, "age"},
		`[1]`:   {0, ""},
		`[]`:    {-1, ""},
		`{}`:    {-1, ""},
		`[[1, `: {-1, ""},
	} {
		_, err := shape().Rows(json.RawMessage(body))
		e, is := errors.AsType[*table.Error](err)
		if !is || e.Row != want.row || e.Column != want.column || e.Remedy == "" {
			t.Errorf("%s: %v, want row %d and column %q", body, err, want.row, want.column)
		}
	}
	if _, err := shape().Rows(json.RawMessage("[" + strings.Repeat("[1,null,null,null],", 10) + "[1,null,null,null]]")); err == nil {
		t.Error("eleven rows are taken")
	} else if _, is := errors.AsType[*jsonrows.TooManyError](err); !is {
		t.Errorf("%v", err)
	}
}

// By column too, what is wrong is told with its column: a doubled one above all, of which either would be a guess.
func TestWrongColumns(t *testing.T) {
	for body, column := range map[string]string{
		`{"age":[1],"age":[2],"town":["a"],"member":[true]}`:   "age",
		`{"age":1,"age":1,"town":"a","member":true}`:           "age",
		`{"age":[1],"town":["a","b"],"member":[true]}`:         "age",
		`{"age":[],"town":["a"],"member":[true]}`:              "age",
		`{"age":[[1,2]],"town":["a"],"member":[true]}`:         "age",
		`{"age":[1],"town":["a"]}`:                             "member",
		`{"\u0061ge":[1],"age":[2],"town":["a"],"member":[1]}`: "age",
	} {
		_, err := shape().ByColumn(json.RawMessage(body))
		if e, is := errors.AsType[*table.Error](err); !is || e.Column != column || e.Remedy == "" {
			t.Errorf("%s: %v, want column %q", body, err, column)
		}
	}
}

// The memory of rows is asked for before it is taken, by what they will hold.
func TestReservedRows(t *testing.T) {
	full := errors.New("full")
	s := shape()
	asked := int64(0)
	s.Reserve = func(n int64) error {
		asked += n
		return full
	}
	row := `[1,"Ayr",true,null]`
	list := "[" + strings.Repeat(row+",", 9) + row + "]"
	if _, err := s.Rows(json.RawMessage(list)); !errors.Is(err, full) || asked < 10*(3*9+100) {
		t.Errorf("%d bytes, %v", asked, err)
	}
}

// FuzzRows: whatever comes, the answer is a table of the columns or an error, never a panic.
func FuzzRows(f *testing.F) {
	for _, body := range []string{`[[1,"Ayr",true,null]]`, `[{"age":1,"town":"a","member":0}]`, `{"age":[1]}`, `[[[[`, `[{"age":`, `[["\ud800"]]`, `[1}`, `{"age" [1]}`, `[[1,]]`, `["`, `["\`, `{"a":}`, `[][`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := jsonrows.Check(body) == nil
		for _, read := range []func() (*table.Table, error){
			func() (*table.Table, error) { return shape().Rows(body) },
			func() (*table.Table, error) { return shape().ByColumn(body) },
			func() (*table.Table, error) { return shape().Split([]string{"age", "town", "member"}, body) },
		} {
			got, err := read()
			if err == nil && !valid {
				continue // of what is not JSON, it is enough that nothing breaks
			}
			if err == nil && (len(got.Columns) != 4 || got.Rows() < 1 || got.Rows() > 10) {
				t.Errorf("%d columns, %d rows", len(got.Columns), got.Rows())
			}
		}
	})
}
