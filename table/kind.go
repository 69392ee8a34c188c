package table

import "fmt"

// Kind says how the cells of a column are to be understood.
type Kind uint8

const (
	Number   Kind = iota // a quantity
	Category             // one of a set of labels
	Boolean              // false or true
	Time                 // an instant
)

// kindNames holds each kind's written form, as used in schemas and messages.
func kindNames() [4]string { return [4]string{"number", "category", "boolean", "time"} }

func (k Kind) String() string {
	if names := kindNames(); int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText writes the kind as its word, so that stored schemas stay readable.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames()) {
		return nil, fmt.Errorf("unknown column kind %d", uint8(k))
	}
	return []byte(k.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames() {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown column kind %q", text)
}
