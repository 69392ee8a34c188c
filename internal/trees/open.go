package trees

import (
	"encoding/json"
	"fmt"
)

// openFormat is what the member "format" of the open form says.
const openFormat = "psi-trees"

// openFile is the open form of a model, for exporters of libraries that psi does not read:
//
//	{"format": "psi-trees", "objective": "squared_error", "link": "identity", "slope": 1, "classes": [], "ensemble": {
//	  "columns": [{"name": "age", "edges": [30.5, 61], "inclusive": true, "single": true, "labels": null},
//	              {"name": "colour", "labels": ["blue", "red"]}],
//	  "base": [0.25],
//	  "trees": [{"output": 0, "column": [0, -1, -1], "left": [1, 0, 0], "right": [2, 0, 0], "below": [1, 0, 0],
//	             "missing": [1, 0, 0], "cover": [100, 60, 40], "value": [0, -1.5, 2], "set": {}}]}}
//
// A tree is a list over its nodes for each of their properties, the root first and children after their parents. The code of a number is how many of
// its column's edges it has passed; it goes left if that is less than below. So a split at edge number k, from 0, has below k + 1. With
// inclusive, a number that equals the edge goes left, otherwise right; single rounds numbers to 32 bits first. The code of a label is its place in
// labels, and the number of labels is the code of all others. A split of labels has the codes of its set, in increasing order. missing adds up 1
// if missing values go left and 4 if the set goes left. A column of -1 is a leaf. A cover of 0 everywhere is for [Ensemble.CountCovers].
type openFile struct {
	Format    string          `json:"format"`
	Objective string          `json:"objective"`
	Link      Link            `json:"link"`
	Slope     *float64        `json:"slope"` // 1 if it is not given
	Classes   []string        `json:"classes"`
	Ensemble  json.RawMessage `json:"ensemble"`
}

// ReadOpen reads a model in psi's open form.
func ReadOpen(content []byte) (*Model, error) {
	var file openFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	if file.Format != openFormat {
		return nil, fmt.Errorf("its format is %q, not %q", file.Format, openFormat)
	}
	if len(file.Ensemble) == 0 {
		return nil, fmt.Errorf("it has no ensemble")
	}
	m := &Model{Objective: file.Objective, Link: file.Link, Slope: 1}
	if file.Slope != nil {
		m.Slope = *file.Slope
	}
	if len(file.Classes) > 0 {
		m.Classes = file.Classes
	}
	if err := json.Unmarshal(file.Ensemble, &m.Ensemble); err != nil {
		return nil, fmt.Errorf("ensemble: %w", err)
	}
	return m.checked()
}
