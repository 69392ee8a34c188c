package oip

import "strings"

// Depth is how much the model must compute for a request.
type Depth uint8

// The depths, each of which includes those before it.
const (
	Values       Depth = iota // predictions and bases
	Spread                    // their standard deviations, and probabilities
	Attributions              // means and standard deviations of the players' contributions
	Doubt                     // doubt of the attributions, and intervals by it
)

// output describes an output that a request may name.
type output uint8

const (
	prediction output = iota
	predictionStd
	probability
	base
	attributionMean
	attributionStd
	attributionModelStd
	attributionLower
	attributionUpper
	pPositive
)

var outputNames = [...]string{
	prediction:          "prediction",
	predictionStd:       "prediction_std",
	probability:         "probability",
	base:                "base",
	attributionMean:     "attribution_mean",
	attributionStd:      "attribution_std",
	attributionModelStd: "attribution_model_std",
	attributionLower:    "attribution_lower",
	attributionUpper:    "attribution_upper",
	pPositive:           "p_positive",
}

const maxOutputs = len(outputNames)

func (o output) depth() Depth {
	switch {
	case o >= attributionModelStd:
		return Doubt
	case o >= attributionMean:
		return Attributions
	case o == predictionStd || o == probability:
		return Spread
	default:
		return Values
	}
}

// chosen is an output to write, and its form.
type chosen struct {
	output
	binary bool
}

// choose returns the outputs to write. If the request names none, these are prediction, prediction_std and, for classes,
// probability.
func (r *Request) choose(sig *Signature, into []chosen) ([]chosen, error) {
	if len(r.Outputs) == 0 {
		into = append(into, chosen{prediction, r.BinaryOutputs}, chosen{predictionStd, r.BinaryOutputs})
		if sig.Classes {
			into = append(into, chosen{probability, r.BinaryOutputs})
		}
		return into, nil
	}
	for _, w := range r.Outputs {
		o, found := output(0), false
		for int(o) < len(outputNames) {
			if found = outputNames[o] == w.Name; found {
				break
			}
			o++
		}
		switch {
		case !found:
			return nil, invalid("ask for some of "+strings.Join(sig.outputNames(), ", "), "the model has no output %s", quoted(w.Name))
		case o == probability && !sig.Classes:
			return nil, invalid("ask for \"prediction\"", "the model predicts numbers, not classes, so it has no output \"probability\"")
		}
		into = append(into, chosen{o, w.Binary})
	}
	return into, nil
}

func (s *Signature) outputNames() []string {
	outputs := s.outputs()
	names := make([]string, len(outputs))
	for i, t := range outputs {
		names[i] = t.Name
	}
	return names
}

// Depth returns how much must be computed to answer the request. It returns an *Error if the model lacks an output that the
// request names.
func (r *Request) Depth(sig *Signature) (Depth, error) {
	var room [maxOutputs]chosen
	wanted, err := r.choose(sig, room[:0])
	depth := Values
	for _, w := range wanted {
		depth = max(depth, w.depth())
	}
	return depth, err
}

// shape returns the shape of an output.
func (s *Signature) shape(o output, rows int64) []int64 {
	if o < attributionMean {
		return []int64{rows, int64(len(s.Outputs))}
	}
	return []int64{rows, int64(len(s.Outputs)), int64(len(s.Players))}
}
