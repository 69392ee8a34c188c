package trees

import "testing"

// A value that equals a threshold goes left by ≤ and right by <.
func TestCodes(t *testing.T) {
	less := Column{Edges: []float64{0.5, 2}, Zero: Missing}
	lessEqual := less
	lessEqual.Inclusive = true
	single := Column{Edges: []float64{float64(float32(0.1))}, Single: true, Zero: Missing}
	for _, c := range []struct {
		column *Column
		x      float64
		want   Code
	}{
		{&less, 0.4, 0},
		{&less, 0.5, 1},
		{&less, 2, 2},
		{&less, 3, 2},
		{&lessEqual, 0.4, 0},
		{&lessEqual, 0.5, 0},
		{&lessEqual, 0.6, 1},
		{&lessEqual, 2, 1},
		{&lessEqual, 3, 2},
		{&single, 0.1, 1}, // rounded to 32 bits it is the threshold
	} {
		if got := c.column.Number(c.x); got != c.want {
			t.Errorf("%v has the code %d among %v, not %d", c.x, got, c.column.Edges, c.want)
		}
	}
}

// Each kind of number and each form of a list becomes JSON.
func TestUBJSONKinds(t *testing.T) {
	for content, want := range map[string]string{
		"[i\xffU\xffI\xff\xfel\xff\xff\xff\xfdL\xff\xff\xff\xff\xff\xff\xff\xfc]": "[-1,255,-2,-3,-4]",
		"[d\x3e\x00\x00\x00D\x3f\xd0\x00\x00\x00\x00\x00\x00ZTFN]":                "[0.125,0.25,null,true,false]",
		"[$I#i\x02\x01\x00\x00\x01":                                               "[256,1]",
		"{i\x01aSi\x02\"b}":                                                       `{"a":"\"b"}`,
		"{#i\x01i\x01a[]":                                                         `{"a":[]}`,
	} {
		got, err := jsonOf([]byte(content))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, not %s", content, got, err, want)
		}
	}
	for _, content := range []string{"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff", "[#i\x05", "[$i", "?", "", "d\x7f\x80\x00\x00"} {
		if got, err := jsonOf([]byte(content)); err == nil {
			t.Errorf("%q is %s", content, got)
		}
	}
}
