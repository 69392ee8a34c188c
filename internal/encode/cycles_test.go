package encode_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

const day = 86400

func timesTable(t *testing.T, seconds []float64) *table.Table {
	t.Helper()
	return tableOf(t, &table.Column{Name: "t", Kind: table.Time, Numbers: seconds, Observed: slices.Repeat([]bool{true}, len(seconds))})
}

// allCycles is an encoder of one time that uses all periods.
func allCycles() *encode.Encoder {
	return &encode.Encoder{Bins: 1, Players: []encode.Player{{Name: "t", Kind: table.Time, Scale: 1, Cycles: []bool{true, true, true, true}}}}
}

// wantAngles compares cyclic parts with parts of the periods: day, week, month, year.
func wantAngles(t *testing.T, what string, parts []float32, phases [4]float64) {
	t.Helper()
	for k, phase := range phases {
		sin, cos := math.Sin(2*math.Pi*phase), math.Cos(2*math.Pi*phase)
		if math.Abs(float64(parts[2*k])-sin) > 1e-6 || math.Abs(float64(parts[2*k+1])-cos) > 1e-6 {
			t.Fatalf("%s, period %d: parts %g and %g, want %g and %g", what, k, parts[2*k], parts[2*k+1], sin, cos)
		}
	}
}

// Days counted off by hand, from Thursday, 1 January 1970, with the leap years of the
// calendar.
func TestCyclesOfTheCalendar(t *testing.T) {
	rng := newRand(t)
	e := allCycles()
	weekday := 3 // Monday is 0
	number := 0
	for year := 1970; year < 2105; year++ {
		months := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
		daysOfYear := 365
		if year%4 == 0 && year%100 != 0 || year%400 == 0 {
			months[1], daysOfYear = 29, 366
		}
		var seconds []float64
		var phases [][4]float64
		var dates []string
		for month, days := range months {
			for dayOfMonth := range days {
				ofDay := float64(rng.IntN(day))
				phases = append(phases, [4]float64{
					ofDay / day, float64(weekday) / 7, float64(dayOfMonth) / float64(days), float64(len(phases)) / float64(daysOfYear),
				})
				seconds, dates = append(seconds, float64(number)*day+ofDay), append(dates, fmt.Sprintf("%d-%02d-%02d", year, month+1, dayOfMonth+1))
				weekday, number = (weekday+1)%7, number+1
			}
		}
		b := encoded(t, e, timesTable(t, seconds))
		for i, date := range dates {
			wantAngles(t, date, b.Slice(i, i+1).Cycles, phases[i])
		}
	}
}

// Dates that people know the weekday of, before 1970 too.
func TestCyclesOfKnownDates(t *testing.T) {
	for _, c := range []struct {
		moment time.Time
		phases [4]float64
	}{
		{time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC), [4]float64{73060. / day, 6. / 7, 19. / 31, 200. / 365}}, // a Sunday
		{time.Date(1789, 7, 14, 12, 0, 0, 0, time.UTC), [4]float64{0.5, 1. / 7, 13. / 31, 194. / 365}},            // a Tuesday
		{time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC), [4]float64{0, 1. / 7, 28. / 29, 59. / 366}},                // a Tuesday
		{time.Date(2024, 12, 31, 23, 59, 59, 999999000, time.UTC), [4]float64{1, 1. / 7, 30. / 31, 365. / 366}},   // a Tuesday
	} {
		b := encoded(t, allCycles(), tableOf(t, table.TimeColumn("t", []time.Time{c.moment}, nil)))
		wantAngles(t, c.moment.String(), b.Cycles, c.phases)
	}
}

func TestMissingTimesHaveNoCycles(t *testing.T) {
	rows := tableOf(t, table.TimeColumn("t", []time.Time{{}, time.Unix(1e9, 0)}, nil))
	b := encoded(t, allCycles(), rows)
	if got := b.Cycles[:encode.CyclicParts]; !slices.Equal(got, nothing(1)) {
		t.Errorf("a missing time has the cyclic parts %v", got)
	}
	if got := b.Cycles[encode.CyclicParts:]; slices.Contains(got, 0) {
		t.Errorf("a time has the cyclic parts %v", got)
	}
}

// A period is used if its part varies and the training rows cover it twice.
func TestWhichCyclesAreUsed(t *testing.T) {
	at := func(year int, month time.Month, dayOfMonth, hour int) time.Time {
		return time.Date(year, month, dayOfMonth, hour, 0, 0, 0, time.UTC)
	}
	every := func(from, to time.Time, step func(time.Time) time.Time) []time.Time {
		var all []time.Time
		for ; !from.After(to); from = step(from) {
			all = append(all, from)
		}
		return all
	}
	hour := func(t time.Time) time.Time { return t.Add(time.Hour) }
	daily := func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	weekly := func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }
	monthly := func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
	yearly := func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }
	for _, c := range []struct {
		name  string
		times []time.Time
		want  [4]bool // day, week, month, year
	}{
		{"hours of two years", every(at(2011, 1, 1, 0), at(2012, 12, 31, 23), hour), [4]bool{true, true, true, true}},
		{"days of two years without a leap day", every(at(2013, 1, 1, 0), at(2014, 12, 31, 0), daily), [4]bool{false, true, true, true}},
		{"a day less than two years", every(at(2013, 1, 1, 0), at(2014, 12, 30, 0), daily), [4]bool{false, true, true, false}},
		{"days at nine", every(at(2013, 1, 1, 9), at(2016, 1, 1, 9), daily), [4]bool{false, true, true, true}},
		{"hours of three months", every(at(2020, 1, 1, 0), at(2020, 3, 31, 23), hour), [4]bool{true, true, true, false}},
		{"January and February", every(at(2021, 1, 1, 0), at(2021, 2, 28, 0), daily), [4]bool{false, true, true, false}},
		{"not all of February", every(at(2021, 1, 1, 0), at(2021, 2, 27, 0), daily), [4]bool{false, true, false, false}},
		{"hours of two weeks", every(at(2021, 3, 3, 0), at(2021, 3, 16, 23), hour), [4]bool{true, true, false, false}},
		{"hours of 13 days", every(at(2021, 3, 3, 0), at(2021, 3, 15, 23), hour), [4]bool{true, false, false, false}},
		{"hours of two days", every(at(2021, 3, 3, 0), at(2021, 3, 4, 23), hour), [4]bool{true, false, false, false}},
		{"hours of a day", every(at(2021, 3, 3, 0), at(2021, 3, 3, 23), hour), [4]bool{}},
		{"Mondays", every(at(2021, 3, 1, 0), at(2024, 3, 4, 0), weekly), [4]bool{false, false, true, true}},
		{"the 15th of each month", every(at(2021, 3, 15, 0), at(2024, 3, 15, 0), monthly), [4]bool{false, true, false, true}},
		{"the 1st of July", every(at(1990, 7, 1, 0), at(2024, 7, 1, 0), yearly), [4]bool{false, true, false, false}},
		{"one instant", []time.Time{at(2021, 3, 3, 4)}, [4]bool{}},
		{"none", []time.Time{{}}, [4]bool{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := tableOf(t, table.TimeColumn("t", c.times, nil))
			e := fit(t, rows, 4)
			if got := e.Players[0].Cycles; !slices.Equal(got, c.want[:]) {
				t.Errorf("cycles %v, want %v", got, c.want)
			}
			for i, v := range encoded(t, e, rows).Cycles {
				if period := i % encode.CyclicParts / 2; !c.want[period] && v != 0 {
					t.Fatalf("part %d of a period that is not used is %g", i, v)
				}
			}
		})
	}
}

// Rows that are not kept cover no period, and chunks may come in any order.
func TestCyclesInChunks(t *testing.T) {
	var times []time.Time
	for i := range 800 {
		times = append(times, time.Date(2013, 1, 1+i, i%24, 0, 0, 0, time.UTC))
	}
	rows := tableOf(t, table.TimeColumn("t", times, nil))
	for to, want := range map[int][]bool{800: {true, true, true, true}, 100: {true, true, true, false}} {
		f := newFitter(t, rows, 4)
		for _, from := range []int{400, 0} {
			keep := func(row int) bool { return from+row < to }
			if err := f.Add(rows.Select(rowsFrom(from, from+400)), keep); err != nil {
				t.Fatal(err)
			}
		}
		if got := finish(t, f).Players[0].Cycles; !slices.Equal(got, want) {
			t.Errorf("%d days: cycles %v, want %v", to, got, want)
		}
	}
}

func TestTimeOfTwoColumns(t *testing.T) {
	one, two := time.Date(2020, 1, 1, 6, 0, 0, 0, time.UTC), time.Date(2020, 1, 1, 18, 0, 0, 0, time.UTC)
	e := &encode.Encoder{Bins: 1, Players: []encode.Player{
		{Name: "x", Scale: 1},
		{Name: "a", Kind: table.Time, Scale: 1, Cycles: []bool{true, false, false, false}},
		{Name: "b", Kind: table.Time, Scale: 1, Cycles: []bool{true, false, false, false}},
	}}
	b := encoded(t, e, tableOf(t,
		table.NumberColumn("x", []float64{1, 2}, nil),
		table.TimeColumn("b", []time.Time{two, one}, nil),
		table.TimeColumn("a", []time.Time{one, two}, nil)))
	for i, want := range []float32{1, -1, -1, 1} {
		if got := b.Cycles[i*encode.CyclicParts]; got != want {
			t.Errorf("sine %d of the time of day is %g, want %g", i, got, want)
		}
	}
}
