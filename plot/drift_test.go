package plot

import (
	"fmt"
	"strings"
	"testing"
)

// The title counts the columns whose p, adjusted for their number, is an alarm.
func TestDriftCountsAlarms(t *testing.T) {
	for _, rows := range []int{20, 60, 400} {
		e := house(t, rows)
		p, err := Drift(e, later(e), Options{})
		if err != nil {
			t.Fatal(err)
		}
		alarms := 0
		for i, x := range p.Data.Column("p").Numbers {
			if x <= .05 {
				alarms++
			}
			if crosses := p.Data.Column("distance").Numbers[i] > p.Data.Column("chance").Numbers[i]; crosses != (x <= .05) {
				t.Errorf("%d rows: %s crosses its line: %v, but p = %v", rows, p.Data.Column("player").Text(i), crosses, x)
			}
		}
		if want := fmt.Sprintf("%d of 6 columns", alarms); alarms == 0 || !strings.HasPrefix(p.Title, want) {
			t.Errorf("%d rows: %q, want %s", rows, p.Title, want)
		}
	}
}
