package form

import (
	"context"

	"github.com/psi-shapley/psi/internal/encode"
)

// Part is an ensemble as a member of a mixture. The value of a mixture is Σ Factor × the value of its parts, and its
// Shapley values are the same sum of theirs. σ², h² and σ_0² are Σ Spread × those of the parts.
type Part struct {
	*Ensemble
	Factor, Spread float64
}

// Mix combines parts; the k-th evaluates Batch.Part(k). The mixture has bags if every part has at least two.
func (c Config) Mix(parts []Part) *Ensemble {
	e := &Ensemble{config: c, mixed: true, noise: make([]float64, c.Outputs)}
	bags := len(parts[0].bags)
	for k, p := range parts {
		e.members = append(e.members, &mixed{p, k, float32(len(parts))})
		bags = min(bags, len(p.bags))
		for o, v := range p.noise {
			e.noise[o] += p.Spread * v
		}
	}
	for b := range bags {
		if bags < 2 {
			break
		}
		ofBag := make([]Part, len(parts))
		for k, p := range parts {
			ofBag[k] = Part{&Ensemble{config: p.config, members: p.bags[b : b+1], noise: p.noise}, p.Factor, p.Spread}
		}
		e.bags = append(e.bags, &mixedBag{c.Mix(ofBag)})
	}
	return e
}

// mixed is a part as a member of an ensemble, whose answers are the mean of its members': n times what it adds.
type mixed struct {
	Part
	index int
	n     float32
}

func (m *mixed) scale(list []float32, factor float64) []float32 {
	for i := range list {
		list[i] *= float32(factor) * m.n
	}
	return list
}

// Pass evaluates rows.
func (m *mixed) Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error) {
	a, err := m.Ensemble.Pass(ctx, b.Part(m.index), want&^Doubt)
	if err != nil {
		return nil, err
	}
	x := &a.Explained
	for i, s := range x.Std { // the ensemble squares it again
		x.Std[i] = s * root(m.Spread*float64(m.n))
	}
	m.scale(x.Value, m.Factor)
	m.scale(x.Empty, m.Factor)
	m.scale(x.Attributions, m.Factor)
	m.scale(x.HiddenVariance, m.Spread)
	return x, nil
}

// Coalitions returns what the part adds to f(x_S).
func (m *mixed) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	v, err := m.Ensemble.Coalitions(ctx, b.Part(m.index), masks, per)
	return m.scale(v, m.Factor), err
}

// Interactions returns what the part adds to interactions.
func (m *mixed) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	v, err := m.Ensemble.Interactions(ctx, b.Part(m.index))
	return m.scale(v, m.Factor), err
}

// Against returns the part in the interventional game.
func (m *mixed) Against(references *encode.Batch) (Evaluator, error) {
	e, err := m.Ensemble.Against(references.Part(m.index))
	return &mixed{Part{e, m.Factor, m.Spread}, m.index, m.n}, err
}

// mixedBag is a mixture of one bag of each part.
type mixedBag struct{ *Ensemble }

// Pass evaluates rows.
func (m *mixedBag) Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error) {
	a, err := m.Ensemble.Pass(ctx, b, want)
	if err != nil {
		return nil, err
	}
	return &a.Explained, nil
}

// Against returns the bag in the interventional game.
func (m *mixedBag) Against(references *encode.Batch) (Evaluator, error) {
	e, err := m.Ensemble.Against(references)
	return &mixedBag{e}, err
}
