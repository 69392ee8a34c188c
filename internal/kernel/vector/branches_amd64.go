package vector

// branchArgs are the arguments of the loops over branches, whose fields asm knows by their places.
type branchArgs struct {
	phi, to, from  *Rows
	before, passed *Rows
	terms          *float64
	share, value   float64
	nodes          int
}

func (s Set) split(left, right, before, codes *Rows, below float64) {
	s.branchSplitLoop(&branchArgs{phi: codes, to: left, from: right, before: before, value: below})
}

func (s Set) grow(to, from []Rows, b *Branch) {
	s.branchGrowLoop(&branchArgs{
		to: &to[:len(from)][0], from: &from[0], before: b.Before, passed: b.Passed,
		terms: &b.Terms[:BranchTerms*len(from)][0], share: b.Share, nodes: len(from),
	})
}

func (s Set) credit(phi *Rows, up, sum []Rows, b *Branch) {
	s.branchCreditLoop(&branchArgs{
		phi: phi, to: &up[:len(sum)][0], from: &sum[0], before: b.Before, passed: b.Passed,
		terms: &b.Terms[:BranchTerms*len(sum)][0], nodes: len(sum),
	})
}

func (s Set) leaf(phi *Rows, up, from []Rows, value float64, b *Branch) {
	s.branchLeafLoop(&branchArgs{
		phi: phi, to: &up[:len(from)][0], from: &from[0], before: b.Before, passed: b.Passed,
		terms: &b.Terms[:BranchTerms*len(from)][0], share: b.Share, value: value, nodes: len(from),
	})
}

func (s Set) slope(to, from []Rows, b *Branch) {
	s.branchSlopeLoop(&branchArgs{
		to: &to[:len(from)][0], from: &from[0], before: b.Before, passed: b.Passed,
		terms: &b.Terms[:BranchTerms*len(from)][0], nodes: len(from),
	})
}

func (s Set) dot(y *Rows, a, b []Rows) {
	s.branchDotLoop(&branchArgs{phi: y, to: &a[0], from: &b[:len(a)][0], nodes: len(a)})
}
