package prose

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 999: "999 rows", 1000: "1,000 rows", 1234567: "1,234,567 rows"} {
		if got := Count(n, "row"); got != want {
			t.Errorf("%d is written %q, not %q", n, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := Printable("a\x1b[31mé\n"); got != "a?[31mé?" {
		t.Errorf("written %q", got)
	}
}
