package onnx

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/table"
)

// Codes of a category's cell in the graph: 0 for a label without its own row, 1 and up for the others in order, and
// gapCode for a missing cell.
const gapCode = -1

// cells holds the columns in the encoder's order, each [n]: numbers as float64 with NaN for a missing one, categories
// as int64 codes.
type cells []*Node

// encoded returns what Encoder.Encode computes for cells: rows, and the observed mask [n, D].
func encoded(e *encode.Encoder, missing []float64, c cells) (rows network.Rows, observed *Node) {
	var seen []*Node
	if n := e.Numeric(); n > 0 {
		players, x := e.Players[:n], beside(c[:n])
		gone := NotEqual(x, x) // NaN: the engine has no operator for it
		for _, v := range missing {
			gone = LogicalOr(gone, LogicalAnd(Equal(x, Const(x.Graph(), v)), ofKindNumber(players, x)))
		}
		x = Where(gone, ScalarZero(x.Graph(), x.DType()), MinScalar(MaxScalar(x, -math.MaxFloat64), math.MaxFloat64))
		rows.Numbers = numbers(players, x, gone)
		seen = append(seen, orGap(players, gone))
		if t := e.Times(); t > 0 {
			rows.Cycles = cycles(players[n-t:], columns(x, n-t, n), columns(gone, n-t, n))
		}
	}
	if players := e.Players[e.Numeric():]; len(players) > 0 {
		codes := ConvertDType(beside(c[e.Numeric():]), dtypes.Int32)
		gone := LessThan(codes, ScalarZero(codes.Graph(), codes.DType()))
		rows.Codes = embeddingRows(e, codes, gone)
		seen = append(seen, orGap(players, gone))
	}
	return rows, Concatenate(seen, 1)
}

// beside joins columns [n] to [n, columns].
func beside(columns []*Node) *Node {
	each := make([]*Node, len(columns))
	for i, c := range columns {
		each[i] = InsertAxes(c, -1)
	}
	return Concatenate(each, 1)
}

func columns(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(from, to)) }

// perPlayer returns a constant [1, players].
func perPlayer[T float32 | float64 | int32 | bool](like *Node, players []encode.Player, of func(k int, p *encode.Player) T) *Node {
	row := make([]T, len(players))
	for k := range players {
		row[k] = of(k, &players[k])
	}
	return Const(like.Graph(), [][]T{row})
}

func as(dtype dtypes.DType, x *Node) *Node { return ConvertDType(x, dtype) }

func float(x *Node) *Node  { return as(dtypes.Float32, x) }
func double(x *Node) *Node { return as(dtypes.Float64, x) }

// one returns 1 if yes, else 0.
func one[T float32 | int32](yes bool) T {
	if yes {
		return 1
	}
	return 0
}

// orGap returns 1 where a cell is observed, or its gap is a level of its own.
func orGap(players []encode.Player, gone *Node) *Node {
	levels := perPlayer(gone, players, func(_ int, p *encode.Player) float32 { return one[float32](p.Gap) })
	return Max(OneMinus(float(gone)), levels)
}

// numbers returns positions among the bins and standardised values [n, numeric, 2] of cells x, which are 0 where they
// are missing.
func numbers(players []encode.Player, x, gone *Node) *Node {
	centre := perPlayer(x, players, func(_ int, p *encode.Player) float64 { return p.Centre })
	scale := perPlayer(x, players, func(_ int, p *encode.Player) float64 { return p.Scale })
	value := ClipScalar(Div(Sub(x, centre), scale), -encode.MaxStandardised, encode.MaxStandardised)
	gap := perPlayer(x, players, func(_ int, p *encode.Player) float32 { return encode.GapPosition * one[float32](p.Gap) })
	none := float(gone)
	position := Add(Mul(float(positions(players, x)), OneMinus(none)), Mul(gap, none))
	return Concatenate([]*Node{InsertAxes(position, -1), InsertAxes(Mul(float(value), OneMinus(none)), -1)}, -1)
}

// positions returns the positions of package encode, in float64. If k edges lie below x, it is in bin k, at
//
//	offset_k + (share_k·x − from_k) / width_k.
//
// Below the first edge and above the last, share is 0.
func positions(players []encode.Player, x *Node) *Node {
	largest := 0
	for _, p := range players {
		largest = max(largest, len(p.Edges))
	}
	edges := make([][]float64, len(players))
	var bins [][]float64
	first := make([]int32, len(players)) // bin of each player
	for d, p := range players {
		edges[d] = make([]float64, largest)
		for k := range edges[d] {
			edges[d][k] = math.Inf(1)
		}
		copy(edges[d], p.Edges)
		first[d] = int32(len(bins))
		for k := range len(p.Edges) + 1 {
			bins = append(bins, bin(p.Edges, k))
		}
	}
	if largest == 0 {
		return ZerosLike(x)
	}
	below := ReduceSum(float(LessThan(Const(x.Graph(), [][][]float64{edges}), InsertAxes(x, -1))), -1)
	index := Add(as(dtypes.Int32, below), Const(x.Graph(), [][]int32{first}))
	row := Gather(Const(x.Graph(), bins), InsertAxes(index, -1)) // [n, numeric, 4]
	of := func(k int) *Node { return Squeeze(Slice(row, AxisRange(), AxisRange(), AxisElem(k)), -1) }
	return Add(of(0), Div(Sub(Mul(of(1), x), of(2)), of(3)))
}

// bin returns offset, share, from and width of values with k edges below them.
func bin(edges []float64, k int) []float64 {
	switch k {
	case 0:
		return []float64{0, 0, 0, 1}
	case len(edges):
		return []float64{float64(len(edges) - 1), 0, 0, 1}
	}
	share, from, to := 1., edges[k-1], edges[k]
	if math.IsInf(to-from, 0) {
		share, from, to = .5, from/2, to/2
	}
	return []float64{float64(k - 1), share, from, to - from}
}

// embeddingRows returns rows [n, categorical] of the embedding table.
func embeddingRows(e *encode.Encoder, codes, gone *Node) *Node {
	players, rows := e.Players[e.Numeric():], e.EmbeddingRows()
	first := make([]int32, len(rows))
	for k := 1; k < len(rows); k++ {
		first[k] = first[k-1] + int32(rows[k-1])
	}
	offset := perPlayer(codes, players, func(k int, _ *encode.Player) int32 { return first[k] })
	gap := perPlayer(codes, players, func(k int, p *encode.Player) int32 { return one[int32](p.Gap) * (int32(rows[k]) - 1) })
	none := as(dtypes.Int32, gone)
	return Add(Add(Mul(codes, OneMinus(none)), Mul(gap, none)), offset)
}

// ofKindNumber marks the columns to which numeric missing tokens apply.
func ofKindNumber(players []encode.Player, x *Node) *Node {
	return BroadcastLike(perPlayer(x, players, func(_ int, p *encode.Player) bool { return p.Kind == table.Number }), x)
}

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
