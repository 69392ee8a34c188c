package oip

import (
	"encoding/csv"
	"errors"
	"math"
	"strconv"
	"strings"
)

// Request is a parsed inference request. It shares memory with the body or message that it was parsed from.
type Request struct {
	ID      string
	Inputs  []Tensor
	Outputs []Wanted // empty if none were named

	Z       float64  // intervals are mean ∓ Z·std; 1.96 unless the parameter "z" says otherwise
	Unknown []string // columns named in the parameter "unknown"

	BinaryOutputs bool // default form of outputs that do not state one
}

// Wanted is an output that a request names.
type Wanted struct {
	Name   string
	Binary bool // as binary data; gRPC ignores it, since all outputs are binary there
}

const defaultZ = 1.96

// maxUnknown is the maximum number of columns in the parameter "unknown".
const maxUnknown = 10_000

// parameter is the value of a parameter: a string, a number or a boolean.
type parameter struct {
	kind   parameterKind
	text   string
	number float64
	truth  bool
}

type parameterKind uint8

const (
	ofText parameterKind = iota
	ofNumber
	ofTruth
)

// set stores a parameter of the request. It ignores unknown ones, which may be for other servers.
func (r *Request) set(name string, p parameter) error {
	switch name {
	case "z":
		if p.kind == ofText {
			p.number, _ = strconv.ParseFloat(p.text, 64)
		}
		if p.kind == ofTruth || !(p.number > 0) || math.IsInf(p.number, 0) {
			return invalid("send how many standard deviations an interval reaches, such as 1.96", "the parameter \"z\" is not a number above 0")
		}
		r.Z = p.number
	case "unknown":
		if p.kind != ofText {
			return invalid("send the names of columns in one text, separated by commas", "the parameter \"unknown\" is not text")
		}
		names, err := commaSeparated(p.text)
		if err != nil {
			return invalid("separate the names by commas, and write one that has a comma in double quotes", "the parameter \"unknown\" cannot be read")
		}
		r.Unknown = names
	case "binary_data_output":
		if p.kind != ofTruth {
			return invalid("send true or false", "the parameter \"binary_data_output\" is not a boolean")
		}
		r.BinaryOutputs = p.truth
	}
	return nil
}

// commaSeparated splits names as the flags of psi do: names in double quotes may contain commas.
func commaSeparated(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if strings.Count(text, ",") >= maxUnknown {
		return nil, errors.New("too many names")
	}
	names := csv.NewReader(strings.NewReader(text))
	names.TrimLeadingSpace = true
	return names.Read()
}

// checkNames refuses duplicate names of inputs or outputs.
func (r *Request) checkNames() error {
	if name, twice := repeated(len(r.Inputs), func(i int) string { return r.Inputs[i].Name }); twice {
		return invalid("send each tensor once", "two inputs are named %s", quoted(name))
	}
	if name, twice := repeated(len(r.Outputs), func(i int) string { return r.Outputs[i].Name }); twice {
		return invalid("ask for each output once", "the output %s is asked for twice", quoted(name))
	}
	return nil
}

func repeated(n int, name func(int) string) (string, bool) {
	const few = 16 // up to which comparing all pairs is cheaper than a map
	if n <= few {
		for i := range n {
			for j := range i {
				if name(i) == name(j) {
					return name(i), true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]struct{}, n)
	for i := range n {
		if _, twice := seen[name(i)]; twice {
			return name(i), true
		}
		seen[name(i)] = struct{}{}
	}
	return "", false
}

// refused lists parameters of tensors that psi does not support.
func refused(tensor, name string) error {
	switch name {
	case "shared_memory_region", "shared_memory_byte_size", "shared_memory_offset":
		return invalid("send the data in the request and take it from the response", "the tensor %s is to be in shared memory, which is not offered", quoted(tensor))
	case "classification":
		return invalid("ask for the output \"probability\"", "the output %s is asked for as a classification, which is not offered", quoted(tensor))
	}
	return nil
}

func tooMany(what string, most int) error {
	return &Error{Kind: TooLarge, Message: "the request has more than " + strconv.Itoa(most) + " " + what, Remedy: "send fewer"}
}
