package encode

import (
	"math"
	"time"

	"github.com/psi-shapley/psi/table"
)

// Periods of a time.
const (
	ofDay = iota
	ofWeek
	ofMonth
	ofYear
	periods
)

// CyclicParts is the number of cyclic features of a time: sine and cosine of its position in the day, week, month and
// year, in that order.
const CyclicParts = 2 * periods

const daySeconds = 24 * 60 * 60

// LastSecond is the limit of calendars: no date in use lies beyond it.
const LastSecond = 1e12

// place is the position of an instant in each period: as a number that identifies it (9 o'clock, a Monday, the 31st,
// the 1st of July), and as the elapsed share of the period. Weeks, months and years are counted in whole days, so that
// they do not repeat the time of day.
type place struct {
	day    int64 // days since 1970
	number [periods]int64
	phase  [periods]float64
}

// placeOf returns the position of an instant, in Unix seconds, in the calendar.
func placeOf(seconds float64) (at place, ok bool) {
	if !(math.Abs(seconds) <= LastSecond) {
		return place{}, false
	}
	day := math.Floor(seconds / daySeconds)
	rest := max(0, seconds-day*daySeconds)
	date := dateOf(int64(day))
	year, month, dayOfMonth := date.Date()
	weekday := (int64(date.Weekday()) + 6) % 7 // Monday is 0

	at.day = int64(day)
	at.number = [periods]int64{
		ofDay: int64(math.Round(rest * 1e6)), ofWeek: weekday, ofMonth: int64(dayOfMonth),
		ofYear: int64(month)*32 + int64(dayOfMonth), // instead of the day of the year, which shifts in leap years
	}
	daysOfMonth := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	daysOfYear := time.Date(year, time.December, 31, 0, 0, 0, 0, time.UTC).YearDay()
	at.phase = [periods]float64{
		ofDay: rest / daySeconds, ofWeek: float64(weekday) / 7,
		ofMonth: float64(dayOfMonth-1) / float64(daysOfMonth),
		ofYear:  float64(date.YearDay()-1) / float64(daysOfYear),
	}
	return at, true
}

func dateOf(day int64) time.Time { return time.Unix(day*daySeconds, 0).UTC() }

// seenTimes accumulates the instants of a column.
type seenTimes struct {
	seenNumbers
	any         bool
	first, last int64 // day
	number      [periods]int64
	varies      [periods]bool
}

func (s *seenTimes) add(c *table.Column, keep func(row int) bool) error {
	if err := s.seenNumbers.add(c, keep); err != nil {
		return err
	}
	for _, seconds := range observedNumbers(c, keep) {
		at, ok := placeOf(seconds)
		if !ok {
			continue
		}
		if !s.any {
			s.any, s.first, s.last, s.number = true, at.day, at.day, at.number
		}
		s.first, s.last = min(s.first, at.day), max(s.last, at.day)
		for k, number := range at.number {
			s.varies[k] = s.varies[k] || number != s.number[k]
		}
	}
	return nil
}

// finish keeps the informative periods: those whose position varies and that recur in the training rows. Within a
// single year, the day of the year carries the same information as the instant, and would suggest a seasonality that
// was not observed.
func (s *seenTimes) finish(p *Player) {
	s.seenNumbers.finish(p)
	first, after := dateOf(s.first), dateOf(s.last+1)
	twice := [periods]time.Time{
		ofDay: first.AddDate(0, 0, 2), ofWeek: first.AddDate(0, 0, 14),
		ofMonth: first.AddDate(0, 2, 0), ofYear: first.AddDate(2, 0, 0),
	}
	p.Cycles = make([]bool, periods)
	for k, end := range twice {
		p.Cycles[k] = s.varies[k] && !end.After(after)
	}
}

// encodeCycles writes the cyclic features of time k of a batch. Those of missing cells, and of periods that the player
// does not use, stay 0.
func (p *Player) encodeCycles(c *table.Column, b *Batch, k int) {
	for i, seconds := range c.Numbers {
		if !c.Observed[i] {
			continue
		}
		at, ok := placeOf(seconds)
		if !ok {
			continue
		}
		parts := b.Cycles[(i*b.Times+k)*CyclicParts:][:CyclicParts]
		for period, used := range p.Cycles {
			if used {
				sin, cos := math.Sincos(2 * math.Pi * at.phase[period])
				parts[2*period], parts[2*period+1] = float32(sin), float32(cos)
			}
		}
	}
}
