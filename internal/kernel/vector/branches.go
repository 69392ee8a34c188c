package vector

// TreeRows is the number of rows that loops over the branches of trees take together.
const TreeRows = 32

// Rows is a number for each of some rows.
type Rows [TreeRows]float64

// Branch is an edge of a tree in a pass of rows: what package trees knows of it, by quadrature node.
type Branch struct {
	Before, Passed *Rows   // o′ and o: 1 for the rows that passed the splits of its column, without this branch and with it
	Share          float64 // of the factor's growth where both are 0
	Terms          []float64
}

// BranchTerms is how many terms a branch has for each quadrature node: what o′ and o add to the factor's growth, and to the slope.
const BranchTerms = 4

func (b *Branch) growth(i, r int) float64 {
	t := b.Terms[BranchTerms*i:][:BranchTerms]
	return b.Share + b.Before[r]*t[0] + b.Passed[r]*t[1]
}

func (b *Branch) slope(i, r int) float64 {
	t := b.Terms[BranchTerms*i:][:BranchTerms]
	return b.Before[r]*t[2] + b.Passed[r]*t[3]
}

// Split divides the rows that passed before: those with codes below a number go left.
func (s Set) Split(left, right, before, codes *Rows, below float64) {
	if s != Portable {
		s.split(left, right, before, codes, below)
		return
	}
	for r, code := range codes {
		left[r], right[r] = 0, before[r]
		if code < below {
			left[r], right[r] = before[r], 0
		}
	}
}

// Grow is to[i] = from[i] × the growth at quadrature node i.
func (s Set) Grow(to, from []Rows, b *Branch) {
	if s != Portable {
		s.grow(to, from, b)
		return
	}
	for i := range from {
		for r, f := range &from[i] {
			to[i][r] = f * b.growth(i, r)
		}
	}
}

// Credit is φ += Σ_i slope at i × sum[i], and up += sum.
func (s Set) Credit(phi *Rows, up, sum []Rows, b *Branch) {
	if s != Portable {
		s.credit(phi, up, sum, b)
		return
	}
	for i := range sum {
		for r, x := range &sum[i] {
			up[i][r] += x
			phi[r] += b.slope(i, r) * x
		}
	}
}

// Leaf is Grow to a leaf of a value, and Credit.
func (s Set) Leaf(phi *Rows, up, from []Rows, value float64, b *Branch) {
	if s != Portable {
		s.leaf(phi, up, from, value, b)
		return
	}
	for i := range from {
		for r, f := range &from[i] {
			x := value * (f * b.growth(i, r))
			up[i][r] += x
			phi[r] += b.slope(i, r) * x
		}
	}
}

// Slope is to[i] = from[i] × the slope at quadrature node i.
func (s Set) Slope(to, from []Rows, b *Branch) {
	if s != Portable {
		s.slope(to, from, b)
		return
	}
	for i := range from {
		for r, f := range &from[i] {
			to[i][r] = f * b.slope(i, r)
		}
	}
}

// Dot is y += Σ_i a[i] × b[i].
func (s Set) Dot(y *Rows, a, b []Rows) {
	if s != Portable {
		s.dot(y, a, b)
		return
	}
	for i := range a {
		for r, x := range &a[i] {
			y[r] += x * b[i][r]
		}
	}
}
