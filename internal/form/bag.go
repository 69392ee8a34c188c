package form

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
