package vector

// Arguments of the vector loops of training; asm accesses the fields by offset. Strides and lengths are in bytes.
type (
	placedArgs struct {
		y                 *float32
		yStride           int
		records, gradient *float32
		at, order         *int32
		rest, scratch     *float32
		rows, atStride    int
		pairs             int
		parts, part       int
		bytes, channel    int
	}
	movedArgs struct {
		y, x             *float32
		at               *int32
		scale            *float32
		rows, per, bytes int
	}
	// wide is a float that takes the space of a word.
	wide struct{ value, _ float32 }

	adamArgs struct {
		weights, gradient, first, second, average  *float32
		bytes                                      int
		scale, rate, decay, debias1, debias2, keep wide
		beta1, rest1, beta2, rest2                 wide
	}
	transposeArgs struct {
		y, x             *float32
		yStride, xStride int
		blocks           int
	}
)

func (s Set) products(p *Products) {
	_ = p.Y[(p.Rows-1)*p.YStride+p.Channels-1]
	a := placedArgs{
		y: &p.Y[0], yStride: 4 * p.YStride, records: &p.Records[0], at: &p.At[:p.Rows*p.Columns][0], order: &p.Order[0], rest: &p.Rest[:p.Channels][0],
		rows: p.Rows, atStride: 4 * p.Columns, pairs: len(p.Order) / 2, parts: p.Parts, part: 4 * p.Part, bytes: 4 * p.Channels,
	}
	s.products4Loop(&a) // each loop processes as many as it can
	if a.channel < a.bytes {
		s.products2Loop(&a)
		s.products1Loop(&a)
	}
}

func (s Set) productsGradient(p *ProductsGradient) {
	_ = p.Up[(p.Rows-1)*p.UpStride+p.Channels-1]
	a := placedArgs{
		y: &p.Up[0], yStride: 4 * p.UpStride, records: &p.Records[0], gradient: &p.Gradient[0], at: &p.At[:p.Rows*p.Columns][0], order: &p.Order[0],
		scratch: &p.Scratch[:ScratchFloats(len(p.Order))][0],
		rows:    p.Rows, atStride: 4 * p.Columns, pairs: len(p.Order) / 2, parts: p.Parts, part: 4 * p.Part, bytes: 4 * p.Channels,
	}
	s.productsGradient4Loop(&a) // each loop processes as many as it can
	if a.channel < a.bytes {
		s.productsGradient2Loop(&a)
		s.productsGradient1Loop(&a)
	}
}

func (s Set) gather(g *Gather) {
	n := g.Rows * g.Per
	s.gatherLoop(&movedArgs{y: &g.Y[:g.Rows*g.Width][0], x: &g.X[0], at: &g.At[:n][0], scale: &g.Scale[:n][0], rows: g.Rows, per: g.Per, bytes: 4 * g.Width})
}

func (s Set) scatter(y []float32, at []int32, scale, x []float32, width int) {
	n := len(at)
	s.scatterLoop(&movedArgs{y: &y[0], x: &x[:n*width][0], at: &at[0], scale: &scale[:n][0], rows: n, bytes: 4 * width})
}

func (s Set) tanhGradient(dy, y []float32, stride, rows, width int, start float32) {
	_, _ = dy[(rows-1)*stride+width-1], y[(rows-1)*stride+width-1]
	s.tanhGradientLoop(&vectorArgs{y: &dy[0], x: &y[0], bytes: 4 * width, scale: start, rows: rows, stride: 4 * stride})
}

func (s Set) positiveGradient(dy, y []float32) {
	s.positiveGradientLoop(&vectorArgs{y: &dy[0], x: &y[:len(dy)][0], bytes: 4 * len(dy)})
}

func (s Set) siluGradient(dy, x []float32) {
	s.siluGradientLoop(&vectorArgs{y: &dy[0], x: &x[:len(dy)][0], bytes: 4 * len(dy)})
}

func (s Set) squaredSum(x []float32) float32 {
	var sum float32
	s.squaredSumLoop(&vectorArgs{y: &sum, x: &x[0], bytes: 4 * len(x)})
	return sum
}

func (s Set) adam(a *Adam) {
	n := len(a.Weights)
	const beta1, beta2 float32 = Beta1, Beta2
	s.adamLoop(&adamArgs{
		weights: &a.Weights[0], gradient: &a.Gradient[:n][0], first: &a.First[:n][0], second: &a.Second[:n][0], average: &a.Average[:n][0],
		bytes: 4 * n, scale: wide{value: a.Scale}, rate: wide{value: a.Rate}, decay: wide{value: a.Decay},
		debias1: wide{value: a.Debias1}, debias2: wide{value: a.Debias2}, keep: wide{value: a.Keep},
		beta1: wide{value: beta1}, rest1: wide{value: 1 - Beta1}, beta2: wide{value: beta2}, rest2: wide{value: 1 - Beta2},
	})
}

func (s Set) transpose(y []float32, yStride int, x []float32, xStride, rows, columns int) {
	const n = 8
	blockRows, blockColumns := rows/n*n, columns/n*n
	if rows > 0 && columns > 0 {
		_, _ = y[(columns-1)*yStride+rows-1], x[(rows-1)*xStride+columns-1]
	}
	for r := 0; r < blockRows && blockColumns > 0; r += n {
		s.transposeLoop(&transposeArgs{y: &y[r], x: &x[r*xStride], yStride: 4 * yStride, xStride: 4 * xStride, blocks: blockColumns / n})
	}
	if blockColumns < columns {
		transpose(y[blockColumns*yStride:], yStride, x[blockColumns:], xStride, blockRows, columns-blockColumns)
	}
	if blockRows < rows {
		transpose(y[blockRows:], yStride, x[blockRows*xStride:], xStride, rows-blockRows, columns)
	}
}
