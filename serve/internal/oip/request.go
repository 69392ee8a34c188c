// Package oip is version 2 of the Open Inference Protocol as psi speaks it: requests become tables, results become
// responses. It knows neither servers nor models.
//
// A Request is parsed by ParseHTTP from JSON, with or without the binary tensor data extension, or by FromGRPC from a
// message. Its tensors stay in the form they came in until Request.Table turns them into columns of the kinds that a
// Signature names. Request.Depth says what has to be computed, and Request.AppendHTTP and Request.GRPC write the Results
// that were asked for.
//
// # Inputs
//
// Either one tensor per column, named as the column, of shape [n] or [n, 1]; or, if no column is a category, one tensor
// "rows" of shape [n, D] with the columns in the model's order. A BOOL tensor "observed" of shape [n, D] may go with
// either: false takes the cell for missing. A column of one of these two names goes before.
//
// Missing are also NaN, a JSON null, and in text what CSV files have for it (nothing, NA, N/A, NaN, null, ?), unless the
// model knows a label of that text. Columns that the caller does not know are named in the request's parameter "unknown",
// separated by commas. The parameters "game" and "reference" choose a game; the caller reads the rows of the latter, which are
// JSON.
//
// # Errors
//
// Input is not trusted: nothing is allocated for a shape before its data is there, and what is wrong is an *Error that
// names the tensor and what to do.
package oip

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Request is a parsed inference request. It shares memory with the body or message that it was parsed from.
type Request struct {
	ID      string
	Inputs  []Tensor
	Outputs []Wanted // empty if none were named

	Z       float64  // intervals are mean ∓ Z·std; 1.96 unless the parameter "z" says otherwise
	Unknown []string // columns named in the parameter "unknown"

	Game      string // the parameter "game"; "" if there is none
	reference parameter

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

// parameter is the value of a parameter: a string, a number, a boolean, or the text of a list or an object.
type parameter struct {
	kind   parameterKind
	text   string
	list   []byte // JSON of a list or an object
	number float64
	truth  bool
}

type parameterKind uint8

const (
	ofText parameterKind = iota
	ofNumber
	ofTruth
	ofList
)

// set stores a parameter of the request. It ignores unknown ones, which may be for other servers.
func (r *Request) set(name string, p parameter) error {
	if p.kind == ofList && name != "reference" && name != "game" {
		return nil
	}
	switch name {
	case "game":
		if p.kind != ofText {
			return invalid("send the name of a game, such as \"interventional\"", "the parameter \"game\" is not text")
		}
		r.Game = p.text
	case "reference":
		if p.kind != ofText && p.kind != ofList {
			return invalid("send rows as a list of objects, or as its JSON in a text", "the parameter \"reference\" is not a list of rows")
		}
		r.reference = p
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

// Reference returns the parameter "reference", a JSON list of rows that was not parsed; nil if there is none. reserve is called
// for the memory of a copy.
func (r *Request) Reference(reserve func(bytes int64) error) ([]byte, error) {
	if r.reference.kind == ofList || r.reference.text == "" {
		return r.reference.list, nil
	}
	if err := reserve(int64(len(r.reference.text))); err != nil {
		return nil, err
	}
	return []byte(r.reference.text), nil
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

func tooMany(what string, limit int) error {
	return &Error{Kind: TooLarge, Message: "the request has more than " + strconv.Itoa(limit) + " " + what, Remedy: "send fewer"}
}

// Kind is the class of an error, from which servers choose status codes.
type Kind uint8

// The kinds of errors.
const (
	Invalid  Kind = iota // the request contradicts the protocol, itself or the model
	TooLarge             // the request exceeds a limit of the server
	NotFound             // the request names something that does not exist
)

// Error describes what is wrong with a request, and the remedy.
type Error struct {
	Kind    Kind
	Message string
	Remedy  string // may be empty
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + "; " + e.Remedy
}

func invalid(remedy, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// quoted quotes a name or cell of a request, shortened for a message.
func quoted[T string | []byte](text T) string {
	const limit = 40
	if len(text) > limit*utf8.UTFMax {
		text = text[:limit*utf8.UTFMax]
	}
	if runes := []rune(string(text)); len(runes) > limit {
		return fmt.Sprintf("%q", string(runes[:limit-1])+"…")
	}
	return fmt.Sprintf("%q", string(text))
}
