package onnx

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
)

// cycles returns the cyclic parts [n, times, encode.CyclicParts] of instants x, in Unix seconds. All values are
// integers in float64, which are exact. Years are counted from March, so that a leap day is the last of its year.
func cycles(players []encode.Player, x, gone *Node) *Node {
	const secondsOfDay, daysOf400Years, from0ToUnix = 24 * 60 * 60, 146_097, 719_468
	scalar := func(v float64) *Node { return Const(x.Graph(), v) }
	whole := func(a *Node, by float64) *Node { return Floor(Div(a, scalar(by))) }

	day := whole(x, secondsOfDay)
	rest := MaxScalar(Sub(x, MulScalar(day, secondsOfDay)), 0)
	monday := AddScalar(day, 3) // 1970 began on a Thursday
	weekday := Sub(monday, MulScalar(whole(monday, 7), 7))

	since := AddScalar(day, from0ToUnix)
	era := whole(since, daysOf400Years)
	inEra := Sub(since, MulScalar(era, daysOf400Years))
	leapDays := Add(Sub(whole(inEra, 1460), whole(inEra, 36_524)), whole(inEra, 146_096))
	yearOfEra := whole(Sub(inEra, leapDays), 365)
	inYear := Sub(inEra, Sub(Add(MulScalar(yearOfEra, 365), whole(yearOfEra, 4)), whole(yearOfEra, 100)))
	month := whole(AddScalar(MulScalar(inYear, 5), 2), 153) // March is 0
	begin := func(month *Node) *Node { return whole(AddScalar(MulScalar(month, 153), 2), 5) }
	january := double(GreaterThan(month, scalar(9.5))) // or February: they belong to the next year
	year := Add(Add(yearOfEra, MulScalar(era, 400)), january)
	divides := func(by float64) *Node { return double(Equal(MulScalar(whole(year, by), by), year)) }
	leap := Add(Sub(divides(4), divides(100)), divides(400))

	dayOfMonth := Sub(inYear, begin(month)) // from 0
	february := double(GreaterThan(month, scalar(10.5)))
	other := Sub(begin(AddScalar(month, 1)), begin(month))
	daysOfMonth := Add(Mul(OneMinus(february), other), Mul(february, AddScalar(leap, 28)))
	dayOfYear := Add(inYear, Sub(Mul(OneMinus(january), AddScalar(leap, 59)), MulScalar(january, 306)))
	daysOfYear := AddScalar(leap, 365)

	known := Mul(OneMinus(double(gone)), double(LessOrEqual(Abs(x), scalar(encode.LastSecond))))
	var parts []*Node
	for period, phase := range []*Node{DivScalar(rest, secondsOfDay), DivScalar(weekday, 7), Div(dayOfMonth, daysOfMonth), Div(dayOfYear, daysOfYear)} {
		angle := MulScalar(phase, 2*math.Pi)
		used := perPlayer(x, players, func(_ int, p *encode.Player) float64 {
			return float64(one[float32](len(p.Cycles) > period && p.Cycles[period]))
		})
		for _, wave := range []*Node{Sin(angle), Cos(angle)} {
			parts = append(parts, InsertAxes(float(Mul(Mul(wave, used), known)), -1))
		}
	}
	return Concatenate(parts, -1)
}
