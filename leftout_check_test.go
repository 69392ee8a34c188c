package psi

import (
	"testing"

	"github.com/psi-shapley/psi/table"
)

func TestCheckLeftOut(t *testing.T) {
	for _, test := range []struct {
		left  []LeftOut
		right bool
	}{
		{nil, true},
		{[]LeftOut{{Name: "c", Place: 0}, {Name: "d", Place: 3}}, true},
		{[]LeftOut{{Name: "", Place: 0}}, false},
		{[]LeftOut{{Name: "a", Place: 0}}, false},
		{[]LeftOut{{Name: "y", Place: 0}}, false},
		{[]LeftOut{{Name: "c", Place: 0}, {Name: "c", Place: 1}}, false},
		{[]LeftOut{{Name: "c", Place: 1}, {Name: "d", Place: 1}}, false},
		{[]LeftOut{{Name: "c", Place: -1}}, false},
		{[]LeftOut{{Name: "c", Place: 3}}, false},
	} {
		m := Manifest{Target: "y", Columns: []table.Field{{Name: "a"}, {Name: "b"}}, LeftOut: test.left}
		if err := m.checkLeftOut(); (err == nil) != test.right {
			t.Errorf("%v: %v", test.left, err)
		}
	}
}
