package encode

import (
	"math"
	"time"

	"github.com/psi-shapley/psi/table"
)

// The periods in which a time comes round again.
const (
	ofDay = iota
	ofWeek
	ofMonth
	ofYear
	periods
)

// CyclicParts is how many numbers say where a time lies in its day, week, month and year:
// the sine and the cosine of each angle, in that order.
const CyclicParts = 2 * periods

const daySeconds = 24 * 60 * 60

// LastSecond is where calendars end: beyond it, none that people write has a date.
const LastSecond = 1e12

// place is where an instant lies in each period: as a number that is the same wherever
// people would say so (9 o'clock, a Monday, the 31st, the 1st of July), and as the part of
// the period that is over. Weeks, months and years are counted in whole days, so that they
// say nothing that the time of day says already.
type place struct {
	day    int64 // since 1970
	number [periods]int64
	phase  [periods]float64
}

// placeOf finds an instant, given in Unix seconds, in the calendar.
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
		ofYear: int64(month)*32 + int64(dayOfMonth), // not the day's number, which shifts in leap years
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

// seenTimes gathers the instants of a column.
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

// finish keeps the periods that the training rows tell something about: those whose part
// varies, and that come round. Within a single year, its day says what the instant itself
// says, and would make up a return that nobody has seen.
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

// encodeCycles writes the cyclic parts of time k of a batch. Those of missing cells, and of
// periods that the player does not use, stay 0.
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
