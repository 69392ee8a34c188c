package trees

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Model is an ensemble as a library saved it, with what its outputs mean.
type Model struct {
	Ensemble
	Objective string  // as the library calls it
	Link      Link    // from outputs to predictions
	Slope     float64 // of the outputs within the link, if it is not 1: predictions are those of Slope × output

	// Classes are the labels of the classes, in the order of the outputs, or both of the two classes of one output. It is nil if the
	// file does not have them.
	Classes []string
}

// Clone returns a copy whose ensemble can be changed.
func (m *Model) Clone() *Model {
	c := *m
	c.Columns, c.Base, c.Trees = slices.Clone(m.Columns), slices.Clone(m.Base), slices.Clone(m.Trees)
	for i := range c.Trees {
		c.Trees[i].Nodes = slices.Clone(m.Trees[i].Nodes)
	}
	return &c
}

// Ranks reports whether outputs are scores that order rows, in no units.
func (m *Model) Ranks() bool { return strings.Contains(strings.ToLower(m.Objective), "rank") }

// Unnamed reports whether the columns have numbers in place of names.
func (m *Model) Unnamed() bool {
	for d := range m.Columns {
		number := strconv.Itoa(d)
		if name := m.Columns[d].Name; name != number && name != "f"+number && name != "Column_"+number {
			return false
		}
	}
	return true
}

// Link turns outputs into predictions.
type Link string

// Links.
const (
	Identity Link = "identity" // a number, or a score
	Log      Link = "log"      // a positive number
	Logit    Link = "logit"    // the probability of the second of two classes
	Softmax  Link = "softmax"  // the probabilities of classes
	Logits   Link = "logits"   // of each class against the rest

	// Probability is of outputs that are the probabilities themselves, as those of forests are: of the second of two classes if there is
	// one output, otherwise of each class.
	Probability Link = "probability"
)

// checked is the model, if its meaning fits its outputs.
func (m *Model) checked() (*Model, error) {
	if err := m.checkMeaning(); err != nil {
		return nil, err
	}
	return m, nil
}

// checkMeaning refuses a link, a slope and classes that do not fit the outputs.
func (m *Model) checkMeaning() error {
	outputs := len(m.Base)
	least, classes := 1, outputs // of outputs and of classes
	switch m.Link {
	case Identity, Log:
		classes = 0
	case Logit:
		if classes = 2; outputs != 1 {
			return fmt.Errorf("the link %s has %d outputs, not 1", m.Link, outputs)
		}
	case Probability:
		if outputs == 1 {
			classes = 2
		}
	case Softmax:
		least = 2
	case Logits:
	default:
		return fmt.Errorf("psi does not know the link %q: it is one of %q", m.Link, []Link{Identity, Log, Logit, Softmax, Logits, Probability})
	}
	switch {
	case outputs < least:
		return fmt.Errorf("the link %s has %d outputs, not %d or more", m.Link, outputs, least)
	case len(m.Classes) != 0 && len(m.Classes) != classes:
		return fmt.Errorf("the link %s with %d outputs has %d classes, not %d", m.Link, outputs, len(m.Classes), classes)
	case !(m.Slope > 0) || !finite(m.Slope):
		return fmt.Errorf("the slope is %v: it is above 0", m.Slope)
	case m.Slope != 1 && m.Link != Logit && m.Link != Logits && m.Link != Softmax:
		return fmt.Errorf("the link %s has the slope %v: only links of scores have one", m.Link, m.Slope)
	}
	met := map[string]bool{}
	for _, label := range m.Classes {
		if met[label] {
			return fmt.Errorf("it has the class %.100q twice", label)
		}
		met[label] = true
	}
	return nil
}
