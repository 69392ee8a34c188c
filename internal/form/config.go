// Package form defines networks and their answers, independently of what computes them: the sizes and weights of the
// heads, the quadrature rules, and ensembles of evaluators. Package kernel evaluates the product form; package network
// evaluates all forms through a tensor engine.
//
// Axes in comments: B rows, P coalitions of each row, D columns (which are the players, unless some are grouped), C
// outputs, Z the width of an embedding, K channels, M trains of rank r, H the width of a hidden layer.
package form

import (
	"errors"
	"fmt"
	"slices"
)

// Head is the method that computes attributions.
type Head string

// Form is the shape of the exact head's multilinear game.
type Form string

// Net is the network that embeds the columns for the learned head.
type Net string

// Activation is the non-linear function of the learned head's layers.
type Activation string

// Norm normalises the layers of the learned head's trunk.
type Norm string

const (
	// Exact makes the game multilinear in the mask, so that its Shapley values are an integral with an exact
	// quadrature.
	Exact Head = "exact"
	// Learned is the paper's head: a trunk outputs f_d, trained to f_d ≈ φ_d.
	Learned Head = "learned"
	// Trees is an ensemble of trees that another program trained. It has no weights; package trees evaluates it.
	Trees Head = "trees"
	// Mixture is a sum of other models' values. It has no weights of its own.
	Mixture Head = "mixture"

	// Product is a sum of K products of one factor per player.
	Product Form = "product"
	// TensorTrain is a sum of products of one matrix per player.
	TensorTrain Form = "tensor-train"

	// MENN is a network for each column.
	MENN Net = "menn"
	// FFNN has no networks of columns: the trunk reads [x·R, R], the numbers and their mask. The paper compares with
	// it.
	FFNN Net = "ffnn"

	// Relu is max(x, 0). It, Snake and Elu are the activations of the paper's search. Without one of them the columns'
	// networks have relu and the trunk x·sigmoid(x).
	Relu Activation = "relu"
	// Snake is x + sin²x.
	Snake Activation = "snake"
	// Elu is x where x > 0, else eˣ − 1.
	Elu Activation = "elu"

	// LayerNorm subtracts the mean over a layer's units, divides by their standard deviation, and applies a learned
	// gain and shift.
	LayerNorm Norm = "layer"
)

// Inputs holds the sizes that the table determines. Numeric columns come first, times last among them, then categorical
// ones.
type Inputs struct {
	Numeric int   // numeric columns, including times
	Times   int   // of these, the last ones, which also have cyclic parts
	Bins    int   // piecewise-linear bins of each number
	Gaps    bool  // whether a missing number may be a level of its own
	Levels  []int // embedding rows of each categorical column

	Groups [][]int // columns of each player; nil if every column is a player
}

// Columns returns the number of columns.
func (in Inputs) Columns() int { return in.Numeric + len(in.Levels) }

// Players returns D, the number of players.
func (in Inputs) Players() int {
	if in.Groups != nil {
		return len(in.Groups)
	}
	return in.Columns()
}

// PlayerOf returns the player of each column.
func (in Inputs) PlayerOf() []int {
	of := make([]int, in.Columns())
	for d := range of {
		of[d] = d
	}
	for p, columns := range in.Groups {
		for _, d := range columns {
			of[d] = p
		}
	}
	return of
}

// Config determines a network, except for its weights.
type Config struct {
	Inputs  Inputs
	Outputs int  // C: 1, or the number of classes if there are more than two
	Classes bool // outputs are scores of classes: one log odds, or C scores that add up to 0

	Head Head
	Form Form // exact head

	Frequencies int // learned periodic features per numeric player, besides the bins
	Embedding   int // Dz, the width of a player's embedding
	Hidden      int // hidden layers of a player's network, beyond the first

	Channels int // exact head: number of products, or trains
	// Pairs lists, for the product form, orders of the columns, pair by pair; D replaces a missing partner. Each order
	// has the same number of channels. nil means no pairs.
	Pairs    [][]int
	PairRank int // product form with pairs: rank of the interaction of two columns
	// Learners is, for the product form, the number of parts of the channels that each learn the target independently.
	// The value is their mean. 0 means one.
	Learners int
	Rank     int   // tensor-train: rows of a player's matrix
	Order    []int // tensor-train: order of the players' matrices; nil means 0..D-1

	Net    Net // learned head
	Width  int // learned head: width of the trunk
	Layers int // learned head: layers of the trunk

	Activation Activation // learned head; "" is the default
	Norm       Norm       // learned head: of the trunk's layers, before the activation; "" is none
	TrainsBase bool       // learned head, number: φ_0 is a weight, and not the mean of the target

	SigmaWidth  int  // hidden units of a player's σ network
	SharedSigma bool // more than two classes: σ_d is the same for all; false in older files
	HiddenWidth int  // hidden units of the h network
}

// HasWeights reports whether the head is a network's.
func (c Config) HasWeights() bool { return c.Head != Trees && c.Head != Mixture }

// Sigmas returns the number of σ_d that a column has in a row: one, or one per output.
func (c Config) Sigmas() int {
	if c.SharedSigma {
		return 1
	}
	return c.Outputs
}

// Size is the size of a table, on which defaults depend.
type Size struct {
	Rows    int // training rows
	Columns int
	Classes bool // whether the target is categorical
}

// Small tables cannot fill fine bins; large ones benefit from more channels.
const (
	tinyTable  = 1000
	smallTable = 3000
	largeTable = 10_000
	wideTable  = 64
)

// Tiny reports whether the table has so few rows that little more than a line per column can be learned.
func (s Size) Tiny() bool { return s.Rows < tinyTable }

// Small reports whether the table has few rows.
func (s Size) Small() bool { return s.Rows < smallTable }

// Large reports whether the table has many rows.
func (s Size) Large() bool { return s.Rows >= largeTable }

// Wide reports whether the table has many columns.
func (s Size) Wide() bool { return s.Columns >= wideTable }

// Default returns the network of a head for a table of the given size, including the number of bins. The measurements
// behind it are in docs/adr: 0002 heads and their sizes, 0004 encoding, 0010 what depends on the table, 0011 classes,
// 0023 pairs and learners.
func Default(in Inputs, head Head, size Size) Config {
	c := Config{
		Inputs: in, Outputs: 1, Head: head, Form: Product,
		Frequencies: 16, Embedding: 32, Hidden: 1,
		Channels: 64, Rank: 4,
		Net: MENN, Width: 256, Layers: 2,
		SigmaWidth: 16, HiddenWidth: 32,
	}
	c.Inputs.Bins = 128
	switch {
	case size.Large():
		c.Channels = 256
	case size.Classes && size.Tiny() && head == Exact:
		c.Frequencies, c.Embedding, c.Hidden, c.Inputs.Bins = 0, 8, 0, 4
	case size.Classes:
		c.Frequencies, c.Embedding, c.Hidden, c.Inputs.Bins = 0, 16, 0, 48
	case size.Small():
		c.Frequencies, c.Inputs.Bins = 0, 16
	}
	if size.Wide() {
		c.Frequencies, c.Embedding, c.Hidden = 0, 16, 0
	}
	// The cost of a step grows with columns × channels and with columns × bins.
	for c.Channels > 16 && c.Channels*size.Columns > maxFactors {
		c.Channels /= 2
	}
	for c.Inputs.Bins > 16 && c.Inputs.Bins*size.Columns > maxFactors {
		c.Inputs.Bins /= 2
	}
	switch {
	case head == Learned:
		c.Embedding, c.Hidden = 16, 0 // the trunk does the rest
	case size.Large() && !size.Wide():
		c.PairUp(16, 1, 4)
	}
	return c
}

// maxFactors is the number of factors, or bins, of a row beyond which wide tables get fewer of each.
const maxFactors = 8192

// Validate returns an error if the configuration is invalid.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	d := c.Inputs.Columns()
	need(d > 0, "no players: the table needs at least one input column")
	need(c.Inputs.Numeric == 0 || c.Inputs.Bins > 0, "bins must be positive, not %d", c.Inputs.Bins)
	need(c.Inputs.Times >= 0 && c.Inputs.Times <= c.Inputs.Numeric, "%d of %d numeric columns are times", c.Inputs.Times, c.Inputs.Numeric)
	need(c.Inputs.Groups == nil || isPartition(c.Inputs.Groups, d), "groups %v do not divide %d columns among them", c.Inputs.Groups, d)
	need(c.Inputs.Groups == nil || c.Form != TensorTrain || c.Head != Exact, "groups need the product form: in a tensor-train their members would have to be neighbours")
	need(c.Outputs > 0, "outputs must be positive, not %d", c.Outputs)
	if !c.HasWeights() {
		return errors.Join(errs...)
	}
	need(c.Embedding > 0, "embedding must be positive, not %d", c.Embedding)
	need(c.Hidden >= 0 && c.Frequencies >= 0, "hidden and frequencies must not be negative")
	need(c.Head == Learned || c.Activation == "" && c.Norm == "", "activation %q and norm %q need the %s head", c.Activation, c.Norm, Learned)
	need(!c.TrainsBase || c.Head == Learned && !c.Classes, "likelihood joint, which trains φ_0, needs the %s head and a number", Learned)
	need(c.LearnerCount() == 1 || c.Head == Exact && c.Form == Product, "%d learners need the product form", c.Learners)
	need(!c.SharedSigma || c.Classes && c.Outputs > 1, "only more than two classes can share σ")
	need(c.SigmaWidth > 0 && c.HiddenWidth > 0, "the widths of the σ and h networks must be positive")
	switch c.Head {
	case Exact:
		need(c.Channels > 0, "channels must be positive, not %d", c.Channels)
		switch c.Form {
		case Product:
			need(c.Pairs == nil || c.PairRank > 0, "the rank of pairs must be positive, not %d", c.PairRank)
			for _, order := range c.Pairs {
				need(arePairs(order, d), "the pairs %v are not those of %d columns", order, d)
			}
			need(c.Pairs == nil || c.Channels%(len(c.Pairs)*PairLanes) == 0, "%d channels cannot be divided among %d orders of pairs by multiples of %d", c.Channels, len(c.Pairs), PairLanes)
			need(c.LearnerCount() == 1 || c.Channels%(c.Learners*PairLanes) == 0 && len(c.Pairs)%c.Learners == 0,
				"%d channels, %d orders of pairs cannot be divided among %d learners, the channels by multiples of %d", c.Channels, len(c.Pairs), c.Learners, PairLanes)
			if len(errs) == 0 && c.Inputs.Groups != nil {
				n := c.Joined()
				need(n <= MaxJoined, "these groups are not those the model was trained with, and join %d players by pairs of their columns, more than %d: train with the groups, or with Settings.Pairs=0", n, MaxJoined)
			}
		case TensorTrain:
			need(c.Rank > 0, "rank must be positive, not %d", c.Rank)
			need(c.Order == nil || isPermutation(c.Order, d), "order %v is not a permutation of %d players", c.Order, d)
		default:
			need(false, "unknown form %q: choose %s or %s", c.Form, Product, TensorTrain)
		}
	case Learned:
		need(c.Width > 0 && c.Layers > 0, "width and layers must be positive")
		need(c.Net == MENN || c.Net == FFNN, "unknown net %q: choose %s or %s", c.Net, MENN, FFNN)
		need(slices.Contains([]Activation{"", Relu, Snake, Elu}, c.Activation), "unknown activation %q: choose %s, %s or %s", c.Activation, Relu, Snake, Elu)
		need(c.Norm == "" || c.Norm == LayerNorm, "unknown norm %q: choose %s", c.Norm, LayerNorm)
		need(c.Net != FFNN || c.Inputs.Bins <= 1 && c.Frequencies == 0 && c.Hidden == 0,
			"net %s reads numbers as they are: bins must be 1, frequencies and hidden 0", FFNN)
	default:
		need(false, "unknown head %q: choose %s or %s", c.Head, Exact, Learned)
	}
	return errors.Join(errs...)
}

// isPartition reports whether every column is in exactly one group.
func isPartition(groups [][]int, columns int) bool {
	var all []int
	for _, g := range groups {
		if len(g) == 0 {
			return false
		}
		all = append(all, g...)
	}
	return isPermutation(all, columns)
}

func isPermutation(order []int, n int) bool {
	seen := make([]bool, n)
	for _, d := range order {
		if d < 0 || d >= n || seen[d] {
			return false
		}
		seen[d] = true
	}
	return len(order) == n
}

// Maximum sizes of a bag's network. With these, the deviation of attributions over bags equalled that over trainings
// (docs/adr/0026).
const (
	bagChannels    = 32
	bagEmbedding   = 16
	bagHiddenWidth = 16
)

// HasBags reports whether such networks support bags.
func (c Config) HasBags() bool { return c.Head == Exact && c.Form == Product }

// Bag returns the network of a bag: one that trains on a bootstrap sample of the rows, to measure how far that moves an
// attribution. Small networks measure it as well as large ones. The σ of a bag is never used; its h weights masked
// copies.
func (c Config) Bag() Config {
	c.Channels, c.Embedding = min(c.Channels, bagChannels), min(c.Embedding, bagEmbedding)
	c.Pairs, c.PairRank, c.Learners = nil, 0, 0
	c.SigmaWidth, c.HiddenWidth = 1, min(c.HiddenWidth, bagHiddenWidth)
	return c
}
