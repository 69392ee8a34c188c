package oip

import "github.com/psi-shapley/psi/serve/internal/oip/inference"

// FromGRPC converts a request message, which must have at most the given number of inputs. Errors are of type *Error. The
// request shares memory with the message.
func FromGRPC(m *inference.ModelInferRequest, limit int) (*Request, error) {
	raw := m.GetRawInputContents()
	switch {
	case len(m.GetInputs()) == 0:
		return nil, invalid("send a tensor for each column", "the request has no inputs")
	case len(m.GetInputs()) > limit:
		return nil, tooMany("inputs", limit)
	case len(m.GetOutputs()) > maxOutputs:
		return nil, tooMany("outputs", maxOutputs)
	}
	r := &Request{ID: m.GetId(), Z: defaultZ, Inputs: make([]Tensor, len(m.GetInputs()))}
	for name, value := range m.GetParameters() {
		if err := r.set(name, parameterOf(value)); err != nil {
			return nil, err
		}
	}
	for i, in := range m.GetInputs() {
		for name := range in.GetParameters() {
			if err := refused(in.GetName(), name); err != nil {
				return nil, err
			}
		}
		datatype, known := datatypeOf(in.GetDatatype())
		switch {
		case in.GetName() == "":
			return nil, invalid("name each tensor after its column", "an input has no name")
		case !known:
			return nil, unknownDatatype(in.GetName(), in.GetDatatype())
		}
		t := &r.Inputs[i]
		*t = Tensor{Name: in.GetName(), Datatype: datatype, Shape: in.GetShape(), typed: in.GetContents()}
		if err := t.count(); err != nil {
			return nil, err
		}
		if err := t.take(raw, i); err != nil {
			return nil, err
		}
	}
	if len(raw) > len(r.Inputs) {
		return nil, invalid("send as many raw_input_contents as inputs", "the request has %d inputs but %d raw contents", len(r.Inputs), len(raw))
	}
	if err := r.takeOutputs(m.GetOutputs()); err != nil {
		return nil, err
	}
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	return r, nil
}

// take gives the tensor its raw contents, if the request has any, and checks them.
func (t *Tensor) take(raw [][]byte, place int) error {
	switch {
	case len(raw) == 0 && t.typed == nil && t.elements > 0:
		return invalid("send it in contents, or that of all inputs in raw_input_contents", "the tensor %s has no data", quoted(t.Name))
	case len(raw) == 0 && t.typed == nil:
		return nil
	case len(raw) == 0:
		return t.checkTyped()
	case t.typed != nil:
		return invalid("send one of them", "the tensor %s has contents in a request with raw_input_contents", quoted(t.Name))
	case place >= len(raw):
		return invalid("send as many raw_input_contents as inputs", "the tensor %s has no raw contents", quoted(t.Name))
	}
	t.raw = raw[place]
	return t.checkRaw()
}

func (r *Request) takeOutputs(outputs []*inference.ModelInferRequest_InferRequestedOutputTensor) error {
	if len(outputs) > 0 {
		r.Outputs = make([]Wanted, len(outputs))
	}
	for i, out := range outputs {
		for name := range out.GetParameters() {
			if err := refused(out.GetName(), name); err != nil {
				return err
			}
		}
		r.Outputs[i] = Wanted{Name: out.GetName(), Binary: true}
	}
	return nil
}

func parameterOf(p *inference.InferParameter) parameter {
	switch v := p.GetParameterChoice().(type) {
	case *inference.InferParameter_BoolParam:
		return parameter{kind: ofTruth, truth: v.BoolParam}
	case *inference.InferParameter_Int64Param:
		return parameter{kind: ofNumber, number: float64(v.Int64Param)}
	case *inference.InferParameter_Uint64Param:
		return parameter{kind: ofNumber, number: float64(v.Uint64Param)}
	case *inference.InferParameter_DoubleParam:
		return parameter{kind: ofNumber, number: v.DoubleParam}
	default:
		return parameter{text: p.GetStringParam()}
	}
}
