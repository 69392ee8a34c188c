package synth

import "slices"

// set is a data set that can be drawn.
type set struct {
	name   string
	sample func(rows int, seed uint64, rho float64) *Sample // rho is ignored without correlated columns
}

// sets returns all data sets, in the order they are listed in.
func sets() []set {
	independent := func(name string, sample func(rows int, seed uint64) *Sample) set {
		return set{name, func(rows int, seed uint64, _ float64) *Sample { return sample(rows, seed) }}
	}
	known := processes()
	paper := make([]set, len(known))
	for i, p := range known {
		paper[i] = independent(p.name, p.sample)
	}
	return slices.Concat(paper, correlatedSets(), []set{independent("gaps", gaps)})
}

func correlatedSets() []set {
	known := normals()
	all := make([]set, len(known))
	for i, n := range known {
		all[i] = set{n.name, n.sample}
	}
	return all
}

// Names returns the names that Generate accepts.
func Names() []string { return namesOf(sets()) }

// CorrelatedNames returns the names that GenerateCorrelated accepts.
func CorrelatedNames() []string { return namesOf(correlatedSets()) }

func namesOf(sets []set) []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names
}
