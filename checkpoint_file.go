package psi

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// Parts of a checkpoint file.
const (
	statePart   = "state.json"
	tensorsPart = "state.safetensors"
)

// contentJSON decides whether a checkpoint can be continued.
type contentJSON struct {
	Fingerprint string `json:"fingerprint"`
	MadeBy      maker  `json:"made_by"`
}

// stateJSON is a checkpoint without its tensors.
type stateJSON struct {
	Members []memberJSON `json:"members"`
	State   *runJSON     `json:"state"`
}

type memberJSON struct {
	Nodes   int         `json:"nodes"`
	History []pointJSON `json:"history"`
}

type runJSON struct {
	Phase     int          `json:"phase"`
	Step      int          `json:"step"`
	Taken     int          `json:"taken"`
	Nodes     int          `json:"nodes"`
	Best      exactFloat   `json:"best"`
	Stale     int          `json:"stale,omitempty"`
	Slowing   exactFloat   `json:"slowing"`
	Rollbacks int          `json:"rollbacks"`
	History   []pointJSON  `json:"history"`
	Kept      []exactFloat `json:"kept"` // scores of the candidates
}

type pointJSON struct {
	Phase string     `json:"phase"`
	Step  int        `json:"step"`
	Loss  exactFloat `json:"loss"`
	Score exactFloat `json:"score"`
}

// exactFloat encodes every float64 exactly, including infinities and NaN, which JSON cannot represent as numbers.
type exactFloat float64

// MarshalText writes the shortest text that reads back as the same number.
func (f exactFloat) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 64), nil
}

// UnmarshalText is the inverse of MarshalText.
func (f *exactFloat) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	*f = exactFloat(v)
	return err
}

func pointsJSON(points []train.Point) []pointJSON {
	all := make([]pointJSON, len(points))
	for i, p := range points {
		all[i] = pointJSON{p.Phase, p.Step, exactFloat(p.Loss), exactFloat(p.Score)}
	}
	return all
}

func pointsOf(points []pointJSON) []train.Point {
	all := make([]train.Point, len(points))
	for i, p := range points {
		all[i] = train.Point{Phase: p.Phase, Step: p.Step, Loss: float64(p.Loss), Score: float64(p.Score)}
	}
	return all
}

// Names of a checkpoint's tensors: kept/<i>/<weight>, member/<i>/<weight>, variable<path>.
const (
	keptPrefix     = "kept/"
	memberPrefix   = "member/"
	variablePrefix = "variable"
)

func (c *checkpoint) encode() (*artifact.File, error) {
	var state stateJSON
	tensors := map[string]artifact.Tensor{}
	put := func(prefix string, weights map[string][]float32) {
		for name, w := range weights {
			tensors[prefix+name] = artifact.Tensor{Dims: []int{len(w)}, Floats: w}
		}
	}
	for i, m := range c.Members {
		state.Members = append(state.Members, memberJSON{m.Nodes, pointsJSON(m.History)})
		put(memberPrefix+strconv.Itoa(i)+"/", m.Weights)
	}
	if s := c.State; s != nil {
		state.State = &runJSON{
			Phase: s.Phase, Step: s.Step, Taken: s.Taken, Nodes: s.Nodes, Best: exactFloat(s.Best), Stale: s.Stale, Slowing: exactFloat(s.Slowing),
			Rollbacks: s.Rollbacks, History: pointsJSON(s.History),
		}
		for i, c := range s.Kept {
			state.State.Kept = append(state.State.Kept, exactFloat(c.Score))
			put(keptPrefix+strconv.Itoa(i)+"/", c.Weights)
		}
		for path, v := range s.Variables {
			tensors[variablePrefix+path] = artifact.Tensor{Dims: v.Dims, Floats: v.Floats, Ints: v.Ints}
		}
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	binary, err := artifact.EncodeTensors(tensors)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(contentJSON{c.mark, c.madeBy})
	return &artifact.File{
		Kind: artifact.Checkpoint, Content: content,
		Parts: map[string][]byte{statePart: text, tensorsPart: binary},
	}, err
}

func decodeCheckpoint(file *artifact.File) (*checkpoint, error) {
	var content contentJSON
	var state stateJSON
	if err := errors.Join(json.Unmarshal(file.Content, &content), json.Unmarshal(file.Parts[statePart], &state)); err != nil {
		return nil, err
	}
	tensors, err := artifact.DecodeTensors(file.Parts[tensorsPart])
	if err != nil {
		return nil, err
	}
	c := &checkpoint{mark: content.Fingerprint, madeBy: content.MadeBy}
	take := func(prefix string) map[string][]float32 {
		weights := map[string][]float32{}
		for name, t := range tensors {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				weights[rest] = t.Floats
			}
		}
		return weights
	}
	for i, m := range state.Members {
		c.Members = append(c.Members, trained{
			Member:  form.Member{Nodes: m.Nodes, Weights: take(memberPrefix + strconv.Itoa(i) + "/")},
			History: pointsOf(m.History),
		})
	}
	if s := state.State; s != nil {
		c.State = &train.State{
			Phase: s.Phase, Step: s.Step, Taken: s.Taken, Nodes: s.Nodes, Best: float64(s.Best), Stale: s.Stale, Slowing: float64(s.Slowing),
			Rollbacks: s.Rollbacks, History: pointsOf(s.History), Variables: map[string]train.Variable{},
		}
		for i, score := range s.Kept {
			c.State.Kept = append(c.State.Kept, train.Candidate{Score: float64(score), Weights: take(keptPrefix + strconv.Itoa(i) + "/")})
		}
		for name, t := range tensors {
			if path, ok := strings.CutPrefix(name, variablePrefix); ok {
				c.State.Variables[path] = train.Variable{Dims: t.Dims, Floats: t.Floats, Ints: t.Ints}
			}
		}
	}
	return c, nil
}
