package psi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// checkpoint is the state of a training: the finished members, and the state of the current one.
type checkpoint struct {
	Members []trained // followed by the bags
	State   *train.State
	path    string // "" disables checkpoints
	mark    string // fingerprint of the training
	madeBy  maker
	unsaved bool // newer than its file
}

// trained is a finished member.
type trained struct {
	form.Member
	History []train.Point
}

// maker identifies the program that can continue a checkpoint. It is part of the fingerprint, and explains a mismatch.
type maker struct {
	Psi     string  `json:"psi"`
	Backend Backend `json:"backend"`
	CPU     string  `json:"cpu"` // instruction set of native training
}

func (c *checkpoint) members() []form.Member {
	all := make([]form.Member, len(c.Members))
	for i, m := range c.Members {
		all[i] = m.Member
	}
	return all
}

func (c *checkpoint) histories() [][]train.Point {
	all := make([][]train.Point, len(c.Members))
	for i, m := range c.Members {
		all[i] = m.History
	}
	return all
}

// resume returns the checkpoint to continue, or an empty one for a new training.
func (t *training) resume(m Manifest) (*checkpoint, error) {
	mark, err := fingerprint(m)
	if err != nil {
		return nil, err
	}
	fresh := &checkpoint{path: t.Checkpoint, mark: mark, madeBy: maker{m.Provenance.Psi, m.Provenance.Backend, m.Provenance.CPU}}
	if t.Checkpoint == "" || !t.Resume {
		return fresh, nil
	}
	file, _, err := artifact.ReadFile(t.Checkpoint, artifact.Checkpoint)
	if errors.Is(err, os.ErrNotExist) {
		t.note("there is no checkpoint to resume from: training starts anew")
		return fresh, nil
	}
	if err != nil {
		return nil, err
	}
	point, err := decodeCheckpoint(file)
	if err != nil {
		return nil, &Error{Row: -1, File: t.Checkpoint, Message: "invalid checkpoint: " + err.Error(), Remedy: "remove it", Err: errors.Join(artifact.ErrDamaged, err)}
	}
	if point.mark != mark {
		message, remedy := point.madeBy.differsFrom(fresh.madeBy)
		return nil, &Error{Row: -1, File: t.Checkpoint, Message: message, Remedy: remedy}
	}
	point.path, t.resumed = t.Checkpoint, true
	where := fmt.Sprintf("%d networks done", len(point.Members))
	if point.State != nil {
		where = fmt.Sprintf("step %d of phase %d", point.State.Step, point.State.Phase+1)
	}
	t.note("resumed from " + t.Checkpoint + ": " + where)
	return point, nil
}

// differsFrom explains why a checkpoint cannot be continued, and what to do.
func (m maker) differsFrom(now maker) (message, remedy string) {
	const restart = "train without Config.Resume"
	switch {
	case m.Psi != now.Psi:
		return fmt.Sprintf("the checkpoint was written by psi %s, and this is psi %s", cmp.Or(m.Psi, "of an older version"), now.Psi), "resume with the program that wrote it, or " + restart
	case m.Backend != now.Backend:
		return fmt.Sprintf("the checkpoint was written by the backend %s, and this training would use %s", m.Backend, now.Backend), fmt.Sprintf("give Config.Backend=%s, or %s", m.Backend, restart)
	case m.CPU != now.CPU:
		return fmt.Sprintf("the checkpoint was written with %s instructions, and this training would use %s", m.CPU, now.CPU), fmt.Sprintf("set PSI_CPU=%s on a machine that has them, or %s", m.CPU, restart)
	}
	return "the checkpoint is of another training: the rows, the settings, the seed, the build of the program or, with a tensor engine, the number of processors differ",
		"give what it was started with, or " + restart
}

// fingerprint differs between trainings that end in different models. The sums of a tensor engine depend on its number
// of threads.
func fingerprint(m Manifest) (string, error) {
	m.Metrics, m.Nodes, m.Provenance.TimeBudget, m.Provenance.Share = nil, nil, "", 0
	if m.Provenance.Backend != Native {
		m.Provenance.Threads = runtime.NumCPU()
	}
	b, err := json.Marshal(m)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

const (
	defaultSaveEvery = 2 * time.Second
	saveShare        = 20              // maximum share of the time spent on saving: 1/20
	maxSavePause     = 5 * time.Minute // between attempts while checkpoints cannot be written
)

// advance records a state and saves it, unless the last checkpoint is recent.
func (t *training) advance(point *checkpoint, s *train.State) {
	point.State, point.unsaved = s, true
	if !time.Now().Before(t.nextSave) {
		t.tryToSave(point)
	}
}

// tryToSave writes the checkpoint. If that fails, for example on a full disk, training continues. tryToSave warns once
// and retries after pauses that double up to maxSavePause.
func (t *training) tryToSave(point *checkpoint) {
	start := time.Now()
	err := t.save(point)
	if err == nil {
		t.failedSaves = 0
		return
	}
	pause := maxSavePause
	if doubled := t.SaveEvery << t.failedSaves; doubled > 0 && doubled < pause {
		pause = doubled
		t.failedSaves++
	}
	t.nextSave = time.Now().Add(max(pause, saveShare*time.Since(start)))
	if !t.warned {
		t.warned = true
		warning := t.last
		warning.Note = fmt.Sprintf("no checkpoint is kept for now: %v; training goes on, and tries again", err)
		t.report(warning)
	}
}

// save writes the checkpoint.
func (t *training) save(point *checkpoint) error {
	if point.path == "" || !point.unsaved {
		return nil
	}
	start := time.Now()
	file, err := point.encode()
	if err != nil {
		return err
	}
	if _, err := artifact.WriteFile(point.path, file); err != nil {
		return err
	}
	point.unsaved = false
	t.nextSave = time.Now().Add(max(t.SaveEvery, saveShare*time.Since(start)))
	return nil
}

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
