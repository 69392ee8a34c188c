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
	"time"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// checkpoint is where a training is: members that are done, and the state of the one
// under way.
type checkpoint struct {
	Members []trained // and, when they are done, the bags
	State   *train.State
	path    string // "" keeps nothing
	mark    string // of what is trained on what
	madeBy  maker
	unsaved bool // it is ahead of what its file holds
}

// trained is a member that is done.
type trained struct {
	form.Member
	History []train.Point
}

// maker is what a checkpoint can only be continued by. It is part of the mark too, and says what is wrong if that differs.
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

// resume is the checkpoint to go on from: an empty one for a new training.
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

// differsFrom says why a checkpoint cannot be continued, and what to do.
func (m maker) differsFrom(now maker) (message, remedy string) {
	const anew = "train without Config.Resume"
	switch {
	case m.Psi != now.Psi:
		return fmt.Sprintf("the checkpoint was written by psi %s, and this is psi %s", cmp.Or(m.Psi, "of an older version"), now.Psi), "resume with the program that wrote it, or " + anew
	case m.Backend != now.Backend:
		return fmt.Sprintf("the checkpoint was written by the backend %s, and this training would use %s", m.Backend, now.Backend), fmt.Sprintf("give Config.Backend=%s, or %s", m.Backend, anew)
	case m.CPU != now.CPU:
		return fmt.Sprintf("the checkpoint was written with %s instructions, and this training would use %s", m.CPU, now.CPU), fmt.Sprintf("set PSI_CPU=%s on a machine that has them, or %s", m.CPU, anew)
	}
	return "the checkpoint is of another training: the rows, the settings, the seed, the build of the program or, with a tensor engine, the number of processors differ",
		"give what it was started with, or " + anew
}

// fingerprint tells trainings apart that end in different models. The sums of a tensor engine depend on its number of threads.
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
	saveShare        = 20              // saving takes at most a twentieth of the time
	maxSavePause     = 5 * time.Minute // between tries while checkpoints cannot be written
)

// advance notes a state and saves it, unless the last checkpoint is fresh.
func (t *training) advance(point *checkpoint, s *train.State) {
	point.State, point.unsaved = s, true
	if !time.Now().Before(t.nextSave) {
		t.tryToSave(point)
	}
}

// tryToSave writes the checkpoint. If that fails, as on a full disk, the training goes on: it says so
// once, and tries again after pauses that double up to maxSavePause.
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
		t.say(warning)
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
