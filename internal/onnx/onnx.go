package onnx

import (
	"fmt"
	"strconv"

	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/table"
)

// Model holds the parts of a graph.
type Model struct {
	Network form.Config // with the groups of columns that form a player
	Members []form.Member
	Units   Units

	Encoder *encode.Encoder
	Columns []int    // the encoder's index of each column, in the order of the table
	Places  []int    // the network's index of each player, in the order of explanations
	Missing []string // missing tokens, besides the default ones

	Name, Version string            // of the program
	About         map[string]string // metadata of the model
}

// rowsAxis is the name of the axis of rows, whose size is dynamic.
const rowsAxis = "n"

// graph returns the model's graph without its labels: for a category it takes codes.
func (m *Model) graph() (*onnx.GraphProto, error) {
	net, err := network.New(m.Network)
	if err != nil {
		return nil, err
	}
	params := net.NewParams()
	for i, member := range m.Members {
		if err := params.Put(strconv.Itoa(i), member.Weights); err != nil {
			return nil, err
		}
	}
	inputs := make([]shapes.Shape, len(m.Columns))
	for i := range inputs {
		dtype := dtypes.Float64
		if m.column(i).Kind == table.Category {
			dtype = dtypes.Int64
		}
		inputs[i] = shapes.MakeDynamic(dtype, []int{shapes.DynamicDim}, []string{rowsAxis})
	}
	made, err := record(params.Store, inputs, func(in []*graph.Node) []*graph.Node {
		cells := make([]*graph.Node, len(in))
		for i, d := range m.Columns {
			cells[d] = in[i]
		}
		rows, observed := encoded(m.Encoder, m.missingNumbers(), cells)
		members := make([]*network.Forward, len(m.Members))
		for i := range members {
			members[i] = net.Forward(params.Lookup(strconv.Itoa(i), in[0]), rows)
		}
		return m.Units.results(m.ask(members, observed), m.Places)
	})
	if err != nil {
		return nil, err
	}
	if len(made.Input) != len(m.Columns) || len(made.Output) != len(m.Units.outputs()) {
		return nil, fmt.Errorf("the engine made a graph of %d inputs and %d outputs of %d columns", len(made.Input), len(made.Output), len(m.Columns))
	}
	return made, nil
}

func (m *Model) column(i int) *encode.Player { return &m.Encoder.Players[m.Columns[i]] }

// missingNumbers returns the missing tokens that are numbers.
func (m *Model) missingNumbers() []float64 {
	var all []float64
	for _, text := range m.Missing {
		if v, ok := table.Number.Parse([]byte(text)); ok {
			all = append(all, v)
		}
	}
	return all
}
