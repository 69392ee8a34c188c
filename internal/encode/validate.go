package encode

import (
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/table"
)

// Limits of an encoder, fitted or read from a file.
const (
	maxBins    = 4096
	maxPlayers = 10_000
	maxLevels  = 1 << 24 // of all categories together
)

// Validate returns an error if an encoder read from a file is invalid. Encoders from Fit are always valid.
func (e *Encoder) Validate() error {
	if e.Bins < 1 || e.Bins > maxBins {
		return fmt.Errorf("encode: bins must be between 1 and %d, not %d", maxBins, e.Bins)
	}
	if len(e.Players) == 0 || len(e.Players) > maxPlayers {
		return fmt.Errorf("encode: a model has between 1 and %d players, not %d", maxPlayers, len(e.Players))
	}
	names := make(map[string]bool, len(e.Players))
	levels := 0
	for i := range e.Players {
		p := &e.Players[i]
		err := p.validate(e.Bins)
		switch {
		case err != nil:
		case names[p.Name]:
			err = errors.New("another player has this name")
		case i > 0 && p.rank() < e.Players[i-1].rank():
			err = fmt.Errorf("a %v comes after a %v", p.Kind, e.Players[i-1].Kind)
		case levels+len(p.Levels) > maxLevels:
			err = fmt.Errorf("the categories have more than %d levels together", maxLevels)
		}
		if err != nil {
			return fmt.Errorf("encode: player %d, %.40q: %w", i, p.Name, err)
		}
		names[p.Name] = true
		levels += len(p.Levels)
	}
	return nil
}

func (p *Player) validate(bins int) error {
	switch {
	case p.Name == "":
		return errors.New("the player has no name")
	case p.Kind > table.Time:
		return fmt.Errorf("the kind %v is unknown", p.Kind)
	case p.Numeric():
		return p.validateNumber(bins)
	}
	return p.validateCategory()
}

func (p *Player) validateNumber(bins int) error {
	if len(p.Levels) > 0 || p.Rare != 0 {
		return fmt.Errorf("a %v has no levels", p.Kind)
	}
	if n := len(p.Cycles); n > 0 && (p.Kind != table.Time || n != periods) {
		return fmt.Errorf("a %v does not have %d cycles", p.Kind, n)
	}
	if len(p.Edges) > bins+1 {
		return fmt.Errorf("%d edges are too many for %d bins", len(p.Edges), bins)
	}
	for k, edge := range p.Edges {
		if !finite(edge) || k > 0 && !(edge > p.Edges[k-1]) {
			return fmt.Errorf("edge %d, %v, is not finite and above the one before", k, edge)
		}
	}
	if !finite(p.Centre) || !finite(p.Scale) || !(p.Scale > 0) {
		return fmt.Errorf("the centre %v and the scale %v are not finite, or the scale is not positive", p.Centre, p.Scale)
	}
	return nil
}

func (p *Player) validateCategory() error {
	if len(p.Edges) > 0 || p.Centre != 0 || p.Scale != 0 || len(p.Cycles) > 0 {
		return errors.New("a category has no edges, centre, scale or cycles")
	}
	if len(p.Levels) > maxColumnLevels {
		return fmt.Errorf("%d levels are more than %d", len(p.Levels), maxColumnLevels)
	}
	if p.Rare < 0 || p.Rare > maxColumnLevels {
		return fmt.Errorf("the number of rare levels, %d, is not between 0 and %d", p.Rare, maxColumnLevels)
	}
	for k := 1; k < len(p.Levels); k++ {
		if p.Levels[k] <= p.Levels[k-1] {
			return fmt.Errorf("level %d, %.40q, does not come after the one before", k, p.Levels[k])
		}
	}
	return nil
}
