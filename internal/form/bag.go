package form

// Sizes of a bag's network, at most. With these the deviation of attributions over bags was that over trainings (docs/adr/0026).
const (
	bagChannels    = 32
	bagEmbedding   = 16
	bagHiddenWidth = 16
)

// HasBags reports whether doubt can be told of such networks.
func (c Config) HasBags() bool { return c.Head == Exact && c.Form == Product }

// Bag is the network of a bag: one that learns from another sample of rows, to tell how far that moves an attribution. Small networks
// tell it as large ones do. A bag is never asked for its σ; its h weighs masked copies.
func (c Config) Bag() Config {
	c.Channels, c.Embedding = min(c.Channels, bagChannels), min(c.Embedding, bagEmbedding)
	c.Pairs, c.PairRank, c.Learners = nil, 0, 0
	c.SigmaWidth, c.HiddenWidth = 1, min(c.HiddenWidth, bagHiddenWidth)
	return c
}
