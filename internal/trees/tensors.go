package trees

import (
	"errors"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/internal/artifact"
)

// Names of the tensors of an ensemble. Lists of all columns, trees or nodes stand one after the other, without gaps.
const (
	baseTensor        = "base"         // [outputs]
	edgesTensor       = "edges"        // [thresholds of all columns]
	edgeCountsTensor  = "edge_counts"  // [columns]
	columnFlagsTensor = "column_flags" // [columns] 1: inclusive; 2: single precision
	zerosTensor       = "zeros"        // [columns] code of 0; −1 if no split takes it for missing
	outputsTensor     = "outputs"      // [trees]
	nodeCountsTensor  = "node_counts"  // [trees]
	splitsTensor      = "splits"       // [nodes, 6] column (−1 of a leaf), left, right, below, flags, size of the set
	coversTensor      = "covers"       // [nodes]
	valuesTensor      = "values"       // [nodes]
	setsTensor        = "sets"         // [codes of all sets]
)

const splitWidth = 6

const (
	inclusiveFlag = 1 << iota
	singleFlag
)

// Flags of nodes.
const (
	missingLeftFlag = 1 << iota
	zeroFlag
	setLeftFlag
	setFlag
)

func flags(of ...bool) (sum int64) {
	for bit, is := range of {
		if is {
			sum |= 1 << bit
		}
	}
	return sum
}

// Tensors are the numbers of an ensemble, as a model file holds them. Names and labels of columns are not among them.
func (e *Ensemble) Tensors() map[string]artifact.Tensor {
	doubles, ints := map[string][]float64{}, map[string][]int64{}
	for _, name := range []string{edgesTensor, coversTensor, valuesTensor} {
		doubles[name] = []float64{}
	}
	for _, name := range []string{edgeCountsTensor, columnFlagsTensor, zerosTensor, outputsTensor, nodeCountsTensor, splitsTensor, setsTensor} {
		ints[name] = []int64{}
	}
	doubles[baseTensor] = e.Base
	put := func(name string, values ...int64) { ints[name] = append(ints[name], values...) }
	for d := range e.Columns {
		c := &e.Columns[d]
		doubles[edgesTensor] = append(doubles[edgesTensor], c.Edges...)
		put(edgeCountsTensor, int64(len(c.Edges)))
		put(columnFlagsTensor, flags(c.Inclusive, c.Single))
		put(zerosTensor, int64(c.Zero))
	}
	for i := range e.Trees {
		t := &e.Trees[i]
		put(outputsTensor, int64(t.Output))
		put(nodeCountsTensor, int64(len(t.Nodes)))
		for k := range t.Nodes {
			n := &t.Nodes[k]
			put(splitsTensor, int64(n.Column), int64(n.Left), int64(n.Right), int64(n.Below),
				flags(n.MissingLeft, n.Zero, n.SetLeft, n.Set != nil), int64(len(n.Set)))
			doubles[coversTensor], doubles[valuesTensor] = append(doubles[coversTensor], n.Cover), append(doubles[valuesTensor], n.Value)
			for _, code := range n.Set {
				put(setsTensor, int64(code))
			}
		}
	}
	tensors := map[string]artifact.Tensor{}
	for name, list := range doubles {
		tensors[name] = artifact.Tensor{Dims: []int{len(list)}, Doubles: list}
	}
	for name, list := range ints {
		tensors[name] = artifact.Tensor{Dims: []int{len(list)}, Ints: list}
	}
	tensors[splitsTensor] = artifact.Tensor{Dims: []int{len(ints[splitsTensor]) / splitWidth, splitWidth}, Ints: ints[splitsTensor]}
	return tensors
}

var errTensors = errors.New("its tensors do not fit together")

// FromTensors reads what Tensors writes, and checks it. columns have names and labels.
func FromTensors(tensors map[string]artifact.Tensor, columns []Column) (*Ensemble, error) {
	r := tensorReader{tensors: tensors}
	e := &Ensemble{Columns: columns, Base: r.doubles(baseTensor)}
	edges, counts, columnFlags, zeros := r.doubles(edgesTensor), r.ints(edgeCountsTensor), r.ints(columnFlagsTensor), r.ints(zerosTensor)
	outputs, nodes := r.ints(outputsTensor), r.ints(nodeCountsTensor)
	splits, covers, values, sets := r.ints(splitsTensor), r.doubles(coversTensor), r.doubles(valuesTensor), r.ints(setsTensor)
	if r.err != nil {
		return nil, r.err
	}
	if len(counts) != len(columns) || len(columnFlags) != len(columns) || len(zeros) != len(columns) || len(nodes) != len(outputs) ||
		len(splits) != splitWidth*len(covers) || len(values) != len(covers) || len(outputs) > MaxTrees || len(covers) > MaxNodes {
		return nil, errTensors
	}
	for d := range columns {
		c := &columns[d]
		if c.Edges = take(&edges, counts[d]); c.Edges == nil && counts[d] != 0 {
			return nil, errTensors
		}
		c.Inclusive, c.Single = columnFlags[d]&inclusiveFlag != 0, columnFlags[d]&singleFlag != 0
		c.Zero = code(zeros[d])
	}
	for i, output := range outputs {
		ofTree := take(&covers, nodes[i])
		if ofTree == nil {
			return nil, errTensors
		}
		t := Tree{Output: int(output), Nodes: make([]Node, len(ofTree))}
		leaves := take(&values, nodes[i])
		numbers := take(&splits, splitWidth*nodes[i])
		for k := range t.Nodes {
			s := numbers[splitWidth*k:]
			set := take(&sets, s[5])
			if set == nil && s[5] != 0 {
				return nil, errTensors
			}
			n := &t.Nodes[k]
			*n = Node{
				Column: int(s[0]), Left: int(s[1]), Right: int(s[2]), Below: code(s[3]), Cover: ofTree[k], Value: leaves[k],
				MissingLeft: s[4]&missingLeftFlag != 0, Zero: s[4]&zeroFlag != 0, SetLeft: s[4]&setLeftFlag != 0,
			}
			if s[4]&setFlag != 0 {
				n.Set = make([]Code, len(set))
				for j, v := range set {
					n.Set[j] = code(v)
				}
			}
		}
		e.Trees = append(e.Trees, t)
	}
	if len(edges)+len(covers)+len(sets) > 0 {
		return nil, errTensors
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	return e, nil
}

// code is a stored code; Check refuses one beyond all columns.
func code(v int64) Code {
	if v < int64(Missing) || v > math.MaxInt32 {
		return math.MaxInt32
	}
	return Code(v)
}

// take returns the next numbers of a list; nil if it has not so many, or none are wanted.
func take[T any](list *[]T, n int64) []T {
	if n <= 0 || n > int64(len(*list)) {
		return nil
	}
	first := (*list)[:n:n]
	*list = (*list)[n:]
	return first
}

type tensorReader struct {
	tensors map[string]artifact.Tensor
	err     error
}

func (r *tensorReader) tensor(name string, has func(artifact.Tensor) bool) artifact.Tensor {
	t, ok := r.tensors[name]
	if (!ok || !has(t)) && r.err == nil {
		r.err = fmt.Errorf("the tensor %s is missing, or of another type", name)
	}
	return t
}

func (r *tensorReader) doubles(name string) []float64 {
	return r.tensor(name, func(t artifact.Tensor) bool { return t.Doubles != nil }).Doubles
}

func (r *tensorReader) ints(name string) []int64 {
	return r.tensor(name, func(t artifact.Tensor) bool { return t.Ints != nil }).Ints
}
