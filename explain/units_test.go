package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// clustered are attributions of one column in units of some rows: half of their variance is the unit's own. Units are numbered from first on.
func clustered(rng *rand.Rand, first, units, rows int, shift float64) (x [][]float64, of []string) {
	for g := range units {
		common := rng.NormFloat64()
		for range rows {
			x, of = append(x, []float64{shift + common + rng.NormFloat64()}), append(of, fmt.Sprint(first+g))
		}
	}
	return x, of
}

// Tables of other units than before, from one distribution, differ by more than rows would: relabelling rows alarms far too often,
// relabelling units in one of twenty pairs. The standard error of the change is that of many such pairs.
func TestDriftByUnitsHoldsItsRate(t *testing.T) {
	const trials, groups, size = 400, 24, 10
	rng := fixedRand(t, 31)
	byRows, byUnits, found := 0, 0, 0
	var change, estimated float64
	for range trials {
		before, first := clustered(rng, 0, groups, size, 0)
		after, second := clustered(rng, groups, groups, size, 0)
		moved, _ := clustered(rng, groups, groups, size, 1.5)
		units := Units{first, second}
		drift := func(after [][]float64, units Units) Drift {
			list, err := DriftsBy(explained(before), explained(after), 0, units)
			if err != nil {
				t.Fatal(err)
			}
			return list[0]
		}
		if drift(after, Units{}).Drifted() {
			byRows++
		}
		same := drift(after, units)
		if same.Drifted() {
			byUnits++
		}
		if drift(moved, units).Drifted() {
			found++
		}
		change += math.Pow(same.After-same.Before, 2) / trials
		estimated += same.ChangeError * same.ChangeError / trials
	}
	t.Logf("alarms by rows in %d, by units in %d of %d; a shift was found in %d", byRows, byUnits, trials, found)
	if byRows < trials/4 || byUnits < trials/50 || byUnits > trials/11 || found < 9*trials/10 {
		t.Errorf("by rows %d, by units %d, found %d of %d", byRows, byUnits, found, trials)
	}
	if ratio := math.Sqrt(estimated / change); ratio < .85 || ratio > 1.15 {
		t.Errorf("standard errors of the change are %.2f of its deviation", ratio)
	}
}

// The same units at two times: what is their own is in both tables, and a small change of all shows.
func TestDriftOfTheSameUnits(t *testing.T) {
	const trials, groups, size = 300, 24, 10
	rng := fixedRand(t, 32)
	alarms, found := 0, 0
	for range trials {
		own := make([]float64, groups)
		for g := range own {
			own[g] = 3 * rng.NormFloat64()
		}
		visit := func(shift float64) (x [][]float64, of []string) {
			for g := range own {
				for range size {
					x, of = append(x, []float64{shift + own[g] + rng.NormFloat64()}), append(of, fmt.Sprint(g))
				}
			}
			return x, of
		}
		before, first := visit(0)
		for _, shift := range []float64{0, .5} {
			after, second := visit(shift)
			list, err := DriftsBy(explained(before), explained(after), 0, Units{first, second})
			switch {
			case err != nil:
				t.Fatal(err)
			case list[0].Drifted() && shift == 0:
				alarms++
			case list[0].Drifted():
				found++
			}
		}
	}
	t.Logf("alarms in %d of %d; a shift of a sixth of the units' deviation was found in %d", alarms, trials, found)
	if alarms < trials/60 || alarms > trials/11 || found < 95*trials/100 {
		t.Errorf("alarms %d, found %d of %d", alarms, found, trials)
	}
}

// A division keeps the rows of a unit in a table together, and as many units of one table alone in each.
func TestUnitsAreDividedAsWholes(t *testing.T) {
	u := Units{[]string{"a", "b", "a", "", "c"}, []string{"b", "d", "d", ""}}
	b := u.blocks()
	if u.Count() != 6 || len(b.both) != 1 || !slices.Equal(b.former, []bool{true, true, true, false, false}) {
		t.Fatalf("%d units, %+v", u.Count(), b)
	}
	divide, former, met := b.divider(fixedRand(t, 3)), make([]bool, 9), map[string]int{}
	for range 4000 {
		divide(former)
		alone := 0
		for _, row := range []int{0, 3, 4, 6, 8} {
			if former[row] {
				alone++
			}
		}
		if former[0] != former[2] || former[6] != former[7] || former[1] == former[5] || alone != 3 {
			t.Fatalf("%v", former)
		}
		met[fmt.Sprint(former)]++
	}
	for division, n := range met { // 2 · C(5, 3), equally likely
		if math.Abs(float64(n)-200) > 5*math.Sqrt(200) {
			t.Errorf("%s in %d of 4000", division, n)
		}
	}
	if len(met) != 20 {
		t.Errorf("%d divisions", len(met))
	}
}

// Few units cannot be divided in enough ways for an alarm.
func TestUnitsThatAreEnough(t *testing.T) {
	name := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprint(i))
		}
		return list
	}
	for _, c := range []struct {
		units Units
		want  bool
	}{
		{Units{name(0, 3), name(3, 6)}, false}, // 20 divisions, 10 distances
		{Units{name(0, 4), name(4, 8)}, true},  // 70, 35
		{Units{name(0, 1), name(1, 20)}, false},
		{Units{name(0, 1), name(1, 40)}, true},
		{Units{name(0, 5), name(0, 5)}, false}, // 2⁵, 16
		{Units{name(0, 6), name(0, 6)}, true},
	} {
		if got := c.units.Enough(); got != c.want {
			t.Errorf("%v: %v", c.units, got)
		}
		before, after := make([][]float64, len(c.units.Before)), make([][]float64, len(c.units.After))
		for i := range before {
			before[i] = []float64{float64(i) / 1000}
		}
		for i := range after {
			after[i] = []float64{1000 + float64(i)/1000}
		}
		list, err := DriftsBy(explained(before), explained(after), 0, c.units)
		if err != nil || list[0].Drifted() != c.want {
			t.Errorf("%v: %+v, %v", c.units, list, err)
		}
	}
	if _, err := DriftsBy(explained([][]float64{{1}}), explained([][]float64{{1}}), 0, Units{Before: []string{"a"}}); err == nil {
		t.Error("units of one table alone are taken")
	}
}
