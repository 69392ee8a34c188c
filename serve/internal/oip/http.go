package oip

import (
	"strconv"
	"unicode/utf8"
)

// ParseHTTP parses the body of an inference request, which must have at most the given number of inputs. The first
// jsonLength bytes are JSON, as the header Inference-Header-Content-Length states, and the rest is binary tensor data.
// Without that header jsonLength is −1, and the whole body is JSON. Errors are of type *Error. The request shares memory
// with the body.
func ParseHTTP(body []byte, jsonLength, limit int) (*Request, error) {
	whole := jsonLength == -1
	switch {
	case whole:
		jsonLength = len(body)
	case jsonLength < 0 || jsonLength > len(body):
		return nil, invalid("send the number of bytes of JSON at the head of the body",
			"Inference-Header-Content-Length is %d, but the body has %d bytes", jsonLength, len(body))
	}
	if !utf8.Valid(body[:jsonLength]) {
		return nil, invalid("encode texts in UTF-8", "the JSON is not UTF-8")
	}
	d := document{scanner: scanner{text: body[:jsonLength]}, request: &Request{Z: defaultZ}, maxInputs: limit}
	if err := d.read(); err != nil {
		return nil, err
	}
	if err := d.divide(body[jsonLength:], whole); err != nil {
		return nil, err
	}
	if err := d.request.checkNames(); err != nil {
		return nil, err
	}
	return d.request, nil
}

// document is the state of parsing a request.
type document struct {
	scanner
	request   *Request
	maxInputs int

	sizes       []int        // of each input's binary data; −1 if it has none
	outputForms []outputForm // of each output
	shapes      []int64      // what all shapes are cut from
	hasInputs   bool
	hasOutput   bool
}

// outputForm is the form in which the caller wants an output.
type outputForm uint8

const (
	asDefault outputForm = iota
	asJSON
	asBinary
)

func (d *document) read() error {
	err := d.fields(func(key []byte) error {
		switch string(key) {
		case "id":
			if d.null() {
				return nil
			}
			var err error
			d.request.ID, err = d.string()
			return err
		case "parameters":
			return d.parameters(func(name []byte, p parameter) error { return d.request.set(string(name), p) })
		case "inputs":
			if d.hasInputs {
				return d.broken("\"inputs\" is there twice")
			}
			d.hasInputs = true
			return d.each(d.input)
		case "outputs":
			if d.hasOutput {
				return d.broken("\"outputs\" is there twice")
			}
			d.hasOutput = true
			if d.null() {
				return nil
			}
			return d.each(d.output)
		default:
			return d.skip(0)
		}
	})
	if err != nil {
		return err
	}
	if d.space(); d.at != len(d.text) {
		return d.broken("something follows the document")
	}
	if len(d.request.Inputs) == 0 {
		return invalid("send a tensor for each column", "the request has no inputs")
	}
	for i := range d.request.Outputs {
		how := d.outputForms[i]
		d.request.Outputs[i].Binary = how == asBinary || how == asDefault && d.request.BinaryOutputs
	}
	return nil
}

// parameters parses an object of parameters, or null. Lists and objects among them stay JSON.
func (d *document) parameters(set func(name []byte, p parameter) error) error {
	if d.null() {
		return nil
	}
	return d.fields(func(name []byte) error {
		var p parameter
		var err error
		switch c := d.peek(); {
		case c == '[' || c == '{':
			start := d.at
			err = d.skip(1)
			p.kind, p.list = ofList, d.text[start:d.at]
		case c == '"':
			p.text, err = d.string()
		case c == 'n' && d.word("null"):
			return nil
		case c == 't' && d.word("true"), c == 'f' && d.word("false"):
			p.kind, p.truth = ofTruth, c == 't'
		default:
			var number []byte
			number, err = d.number()
			p.kind, p.number = ofNumber, valueOf(number)
		}
		if err != nil {
			return err
		}
		return set(name, p)
	})
}

func (d *document) input() error {
	if len(d.request.Inputs) == d.maxInputs {
		return tooMany("inputs", d.maxInputs)
	}
	var t Tensor
	var data elements
	size, known := -1, false
	var datatype []byte
	err := d.fields(func(key []byte) error {
		var err error
		switch string(key) {
		case "name":
			t.Name, err = d.string()
		case "datatype":
			datatype, _, err = d.quoted()
			t.Datatype, known = datatypeOf(datatype)
		case "shape":
			t.Shape, err = d.shape()
		case "data":
			if d.null() {
				return nil
			}
			data, err = d.elements()
		case "parameters":
			err = d.parameters(func(name []byte, p parameter) error {
				if p.kind == ofList {
					return nil
				}
				if string(name) == "binary_data_size" {
					if p.kind != ofNumber || p.number < 0 || p.number > float64(1<<53) || p.number != float64(int64(p.number)) {
						return d.broken("binary_data_size is not a number of bytes")
					}
					size = int(p.number)
				}
				return refused(t.Name, string(name))
			})
		default:
			err = d.skip(1)
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case t.Name == "":
		return invalid("name each tensor after its column", "an input has no name")
	case !known:
		return unknownDatatype(t.Name, string(datatype))
	case t.Shape == nil:
		return invalid("send the number of rows as its shape, such as [3]", "the tensor %s has no shape", quoted(t.Name))
	}
	if err := t.count(); err != nil {
		return err
	}
	switch {
	case data.span != nil && size >= 0:
		return invalid("send one of them", "the tensor %s has data in the JSON and behind it", quoted(t.Name))
	case data.span == nil && size < 0:
		return invalid("send it in \"data\", or behind the JSON with its \"binary_data_size\"", "the tensor %s has no data", quoted(t.Name))
	case data.span != nil:
		if err := t.checkJSON(&data); err != nil {
			return err
		}
		t.json = data.span
	}
	if d.request.Inputs == nil {
		d.request.Inputs, d.sizes = make([]Tensor, 0, 16), make([]int, 0, 16)
	}
	d.request.Inputs = append(d.request.Inputs, t)
	d.sizes = append(d.sizes, size)
	return nil
}

func unknownDatatype(tensor, name string) error {
	return invalid("send FP64 for numbers and BYTES for texts", "the tensor %s has the datatype %s, which is not known", quoted(tensor), quoted(name))
}

// shape parses a list of whole numbers. The result is not nil, even for an empty list.
func (d *document) shape() ([]int64, error) {
	if d.shapes == nil {
		d.shapes = make([]int64, 0, 32)
	}
	start := len(d.shapes)
	err := d.each(func() error {
		number, err := d.number()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || len(d.shapes)-start == maxDimensions {
			return d.broken("a shape is a list of few whole numbers")
		}
		d.shapes = append(d.shapes, n)
		return nil
	})
	return d.shapes[start:len(d.shapes):len(d.shapes)], err
}

func (d *document) output() error {
	if len(d.request.Outputs) == maxOutputs {
		return tooMany("outputs", maxOutputs)
	}
	var w Wanted
	how := asDefault
	err := d.fields(func(key []byte) error {
		var err error
		switch string(key) {
		case "name":
			w.Name, err = d.string()
		case "parameters":
			err = d.parameters(func(name []byte, p parameter) error {
				if p.kind == ofList {
					return nil
				}
				if string(name) == "binary_data" {
					if p.kind != ofTruth {
						return d.broken("binary_data is true or false")
					}
					if how = asJSON; p.truth {
						how = asBinary
					}
				}
				return refused(w.Name, string(name))
			})
		default:
			err = d.skip(1)
		}
		return err
	})
	d.request.Outputs = append(d.request.Outputs, w)
	d.outputForms = append(d.outputForms, how)
	return err
}

// divide assigns the binary data to the inputs, in their order.
func (d *document) divide(data []byte, whole bool) error {
	for i, size := range d.sizes {
		t := &d.request.Inputs[i]
		switch {
		case size < 0:
			continue
		case whole:
			return invalid("send it", "the tensor %s is binary data, but the header Inference-Header-Content-Length is not there", quoted(t.Name))
		case size > len(data):
			return t.contradiction("a binary_data_size of %d, but %d bytes of binary data are left", size, len(data))
		}
		t.raw, data = data[:size:size], data[size:]
		if err := t.checkRaw(); err != nil {
			return err
		}
	}
	if len(data) > 0 {
		return invalid("set the binary_data_size of each tensor, and Inference-Header-Content-Length to the length of the JSON",
			"%d bytes of binary data are left over", len(data))
	}
	return nil
}

// elements describes the data of a tensor in JSON: one list, or nested lists.
type elements struct {
	span  []byte
	kinds elementKind
	count int
	depth int                 // of the lists that hold the elements; 0 if there are no elements
	sizes [maxDimensions]int  // of the lists at each depth
	known [maxDimensions]bool // whether one was seen
}

func (d *document) elements() (elements, error) {
	var e elements
	start := d.at
	err := d.list(&e, 0)
	e.span = d.text[start:d.at]
	return e, err
}

func (d *document) list(e *elements, level int) error {
	if level == maxDimensions {
		return d.broken("lists are in each other too deeply")
	}
	size := 0
	err := d.each(func() error {
		size++
		if d.peek() == '[' {
			if e.depth == level+1 {
				return d.broken("lists and values stand in one list")
			}
			return d.list(e, level+1)
		}
		if e.depth == 0 && (level+1 == maxDimensions || !e.known[level+1]) {
			e.depth = level + 1
		}
		if e.depth != level+1 {
			return d.broken("lists and values stand in one list")
		}
		kind, err := d.element()
		e.kinds |= kind
		e.count++
		return err
	})
	if err != nil {
		return err
	}
	if e.known[level] && e.sizes[level] != size {
		return d.broken("lists of one depth differ in length")
	}
	e.known[level], e.sizes[level] = true, size
	return nil
}

// checkJSON checks JSON data against the shape and the datatype.
func (t *Tensor) checkJSON(e *elements) error {
	if e.depth > 1 {
		agree := e.depth == len(t.Shape)
		for i := range min(e.depth, len(t.Shape)) {
			agree = agree && int64(e.sizes[i]) == t.Shape[i]
		}
		if !agree {
			return t.contradiction("data of shape %v, but its shape is said to be %v", e.sizes[:e.depth], t.Shape)
		}
	}
	if e.count != t.elements {
		return t.contradiction("%d elements, but its shape %v needs %d", e.count, t.Shape, t.elements)
	}
	taken := nullElement | numberElement
	switch t.Datatype {
	case Bytes:
		taken = nullElement | textElement
	case Bool:
		taken |= boolElement
	}
	if e.kinds&^taken != 0 {
		return invalid("send texts as BYTES, true and false as BOOL, and numbers as one of the others",
			"the tensor %s is %s, but holds other values", quoted(t.Name), t.Datatype)
	}
	return nil
}
