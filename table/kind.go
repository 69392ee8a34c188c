package table

import "fmt"

// Kind is the type of a column's cells.
type Kind uint8

// Kinds of columns.
const (
	Number   Kind = iota // a quantity
	Category             // one of a set of labels
	Boolean              // false or true
	Time                 // an instant
)

func (k Kind) String() string {
	switch k {
	case Number:
		return "number"
	case Category:
		return "category"
	case Boolean:
		return "boolean"
	case Time:
		return "time"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText returns the kind as a word, so that stored schemas are readable.
func (k Kind) MarshalText() ([]byte, error) {
	if k > Time {
		return nil, fmt.Errorf("unknown column kind %d", uint8(k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error {
	for kind := Number; kind <= Time; kind++ {
		if kind.String() == string(text) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown column kind %q", text)
}
