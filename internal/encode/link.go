package encode

import (
	"fmt"
	"math"
)

// Link is the scale on which a number is learned.
type Link string

// Links.
const (
	IdentityLink Link = ""         // the target's own units
	LogMean      Link = "log-mean" // the log of the target's mean, by gamma deviance
	Log          Link = "log"      // the mean of the target's log, whose exponential is the median of the target if logs are symmetric
)

func (l Link) validate() error {
	switch l {
	case IdentityLink, LogMean, Log:
		return nil
	}
	return fmt.Errorf("the link %.40q is unknown", l)
}

// of returns a number on the scale; −∞ if it is not positive and the scale is a log.
func (l Link) of(y float64) float64 {
	if l == IdentityLink {
		return y
	}
	return math.Log(max(0, y))
}

// OfAll returns numbers on the scale.
func (l Link) OfAll(y []float64) []float64 {
	list := make([]float64, len(y))
	for i, v := range y {
		list[i] = l.of(v)
	}
	return list
}

func (l Link) inverse(v float64) float64 {
	if l == IdentityLink {
		return v
	}
	return math.Exp(v)
}
