package psi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/trees"
)

// Imported describes trees that another program trained.
type Imported struct {
	Format    string `json:"format"`    // of the file: "lightgbm", "xgboost", …
	Objective string `json:"objective"` // as that program calls it
	Trees     int    `json:"trees"`
	Leaves    int    `json:"leaves"` // of all trees
	Nodes     int    `json:"nodes"`  // leaves and splits
	Depth     int    `json:"depth"`  // splits on the longest path
	Game      Game   `json:"game"`   // what happens to absent columns, unless an explanation chooses otherwise
	Rows      int    `json:"rows"`   // rows that metrics, intervals and audit were measured on; 0 if there were none

	// Base + Unit × a value of the game are the outputs of the trees. Scale and Calibration turn values into scores.
	Base []float64 `json:"base"`
	Unit float64   `json:"unit"`
}

// Values of ImportOptions.Absent.
const (
	AbsentByCover   = "cover"
	AbsentByMissing = "missing-branch"
)

// validate rejects what importing cannot produce.
func (i *Imported) validate() error {
	switch {
	case i == nil:
		return nil
	case !slices.Contains([]Game{PathDependentGame, MissingBranchGame, ObservationalGame}, i.Game):
		return fmt.Errorf("imported trees have no game %.40q", i.Game)
	case i.Trees < 0 || i.Leaves < i.Trees || i.Nodes < i.Leaves || i.Nodes > trees.MaxNodes || i.Depth < 0 || i.Rows < 0 || !(i.Unit > 0) || math.IsInf(i.Unit, 0):
		return errors.New("invalid sizes of imported trees")
	}
	return nil
}

// absent returns the weights of branches of absent columns.
func (i *Imported) absent() trees.Absent {
	if i.Game == PathDependentGame {
		return trees.Cover
	}
	return trees.MissingBranch
}

// measureTrees sets the sizes.
func (i *Imported) measureTrees(e *trees.Ensemble) {
	i.Trees, i.Leaves, i.Nodes, i.Depth = len(e.Trees), 0, 0, e.Depth()
	for k := range e.Trees {
		nodes := len(e.Trees[k].Nodes)
		i.Nodes += nodes
		i.Leaves += (nodes + 1) / 2
	}
}

// treeNodeBytes is the memory of a node: as it is stored, and compiled for a game with its terms at four quadrature
// nodes.
const treeNodeBytes = 400

// takeTrees reads the trees of a file. Their columns are the encoder's.
func (m *Model) takeTrees(content []byte) error {
	tensors, err := artifact.DecodeTensors(content)
	if err != nil {
		return err
	}
	var columns []trees.Column
	for i := range m.manifest.Encoder.Players {
		p := &m.manifest.Encoder.Players[i]
		c := trees.Column{Name: p.Name}
		if !p.Numeric() {
			c.Labels = append([]string{}, p.Levels...)
		}
		columns = append(columns, c)
	}
	if m.ensemble, err = trees.FromTensors(tensors, columns); err != nil {
		return fmt.Errorf("trees: %w", err)
	}
	said, found := m.manifest.Imported, Imported{}
	if found.measureTrees(m.ensemble); found.Trees != said.Trees || found.Leaves != said.Leaves || found.Nodes != said.Nodes || found.Depth != said.Depth ||
		len(m.ensemble.Base) != m.config.Outputs || len(said.Base) != m.config.Outputs {
		return errors.New("the trees are not those that the manifest describes")
	}
	return nil
}

// TreeFormats returns the formats that ReadTrees reads.
func TreeFormats() []string {
	names := make([]string, 0, len(trees.Formats()))
	for _, f := range trees.Formats() {
		names = append(names, string(f))
	}
	return names
}
