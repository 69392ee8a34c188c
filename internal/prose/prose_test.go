package prose

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 999: "999 rows", 1000: "1,000 rows", 1234567: "1,234,567 rows"} {
		if got := Count(n, "row"); got != want {
			t.Errorf("%d is written %q, not %q", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.123456: "0.1235", 1234.5: "1234", 123456.7: "123,457", -20_000: "-20,000", 2e9: "2e+09", 0: "0"} {
		if got := Number(v); got != want {
			t.Errorf("%g is written %q, not %q", v, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := Printable("a\x1b[31mé\n"); got != "a?[31mé?" {
		t.Errorf("written %q", got)
	}
}
