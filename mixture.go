package psi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// Mixture describes a model whose scores are a weighted mean of other models' scores. The Shapley values of a sum of
// games are the sum of their Shapley values, so that a mixture of exact models is exact.
type Mixture struct {
	Members []Manifest `json:"members"` // as they were mixed; the first encodes rows and describes columns
	Shares  []float64  `json:"shares"`  // weights of their scores, which add up to 1

	// The value of the mixture is Σ Factors × the members' values, its variances Σ Spreads × the members' variances.
	// Scale and Calibration turn the value into scores.
	Factors []float64 `json:"factors"`
	Spreads []float64 `json:"spreads"`
}

// maxMixed limits the members of a mixture.
const maxMixed = 16

// validate rejects what Mix cannot produce. It does not check the members.
func (x *Mixture) validate() error {
	if x == nil {
		return nil
	}
	n := len(x.Members)
	if n < 2 || n > maxMixed || len(x.Shares) != n || len(x.Factors) != n || len(x.Spreads) != n {
		return fmt.Errorf("a mixture of %d members, with %d shares", n, len(x.Shares))
	}
	for k := range n {
		for _, v := range []float64{x.Shares[k], x.Factors[k], x.Spreads[k]} {
			if !(v >= 0) || math.IsInf(v, 0) {
				return errors.New("a share of a mixture is not a number from 0 up")
			}
		}
	}
	return nil
}

// memberPart returns the name of a part of member k in the file of a mixture.
func memberPart(k int, part string) string { return fmt.Sprintf("member-%d-%s", k, part) }

// takeMembers reads the members of a mixture.
func (m *Model) takeMembers(file *artifact.File) error {
	for k := range m.manifest.Mixture.Members {
		manifest := &m.manifest.Mixture.Members[k]
		if manifest.Mixture != nil {
			return errors.New("a member of the mixture is a mixture")
		}
		if err := manifest.check(); err != nil {
			return fmt.Errorf("member %d: %w", k, err)
		}
		member := &Model{manifest: *manifest, config: manifest.network()}
		if err := member.config.Validate(); err != nil {
			return fmt.Errorf("member %d: %w", k, err)
		}
		parts := map[string][]byte{}
		for _, part := range []string{weightsPart, treesPart} {
			parts[part] = file.Parts[memberPart(k, part)]
		}
		if err := member.takeWeights(&artifact.File{Parts: parts}); err != nil {
			return fmt.Errorf("member %d: %w", k, err)
		}
		m.mixed = append(m.mixed, member)
	}
	return m.checkMembers()
}

// checkMembers refuses models that cannot be members of one mixture, with the reason.
func (m *Model) checkMembers() error {
	first := m.mixed[0]
	for k, other := range m.mixed {
		if what := first.differs(other); what != "" {
			return &Error{Row: -1, Message: fmt.Sprintf("model %d differs from the first in its %s", k, what), Remedy: "mix models that predict the same from the same columns, in one game"}
		}
	}
	return nil
}

// differs names the first property in which two models are not to be mixed; "" if there is none.
func (m *Model) differs(o *Model) string {
	a, b := &m.manifest, &o.manifest
	switch {
	case a.Mixture != nil || b.Mixture != nil:
		return "kind: it is a mixture itself"
	case a.Target != b.Target:
		return "target"
	case a.Task != b.Task || !slices.Equal(a.Scale.Classes, b.Scale.Classes):
		return "classes"
	case a.Scale.Link != b.Scale.Link:
		return "target scale"
	case m.Game() != o.Game():
		return fmt.Sprintf("game: %s and %s", m.Game(), o.Game())
	case !slices.EqualFunc(a.Encoder.Players, b.Encoder.Players, func(p, q encode.Player) bool { return p.Name == q.Name && p.Kind == q.Kind }):
		return "columns, or their kinds"
	case m.ensemble == nil && o.ensemble == nil && !slices.EqualFunc(a.Encoder.Players, b.Encoder.Players, func(p, q encode.Player) bool { return p.Gap == q.Gap }):
		return "columns in which a missing cell is a value"
	case m.ensemble == nil && o.ensemble == nil && !slices.EqualFunc(a.Groups, b.Groups, equalGroups):
		return "groups"
	}
	return ""
}

// Mix returns a mixture of models. Its shares minimise the errors on rows with known targets, whole and with cells
// hidden at random, which none of the models was trained on. A model that does not help gets no share and is left out.
// φ_0 and the scale of the mixture are then fitted on the same rows, as Recalibrate does.
//
// All models must predict the same target from the same columns, in one game. Trees that are to be mixed with a network
// must have learned from rows with cells hidden at random (ImportOptions.Masked). The mixture shares the memory of the
// models; close it, and not the models.
func Mix(ctx context.Context, models []*Model, rows Source) (*Model, error) {
	if len(models) < 2 || len(models) > maxMixed {
		return nil, wrongSetting(fmt.Sprintf("a mixture of %d models", len(models)), fmt.Sprintf("give 2 to %d", maxMixed))
	}
	models = slices.Clone(models)
	slices.SortStableFunc(models, networksFirst)
	m := &Model{mixed: models}
	if err := m.checkMembers(); err != nil {
		return nil, err
	}
	if rows.Schema().Field(models[0].manifest.Target) == nil {
		return nil, models[0].lacksTarget()
	}
	digest := &dataset.Digest{}
	m.manifest = models[0].mixtureManifest()
	m.config = m.manifest.network()
	m.places = models[0].places
	shares := make([]float64, len(models))
	for k := range shares {
		shares[k] = 1
	}
	m.setShares(shares)
	s, err := m.sample(ctx, digested{rows, digest}, scaleRows, func(y, weight float64) bool { return !math.IsNaN(y) && weight > 0 })
	if err != nil {
		return nil, err
	}
	if n := len(s.y); n < minMixtureRows {
		return nil, &table.Error{
			Row: -1, Column: m.manifest.Target, Message: fmt.Sprintf("%d rows have an outcome, and mixing needs %d", n, minMixtureRows),
			Remedy: "give more rows whose outcome is known", Err: &NoMixtureError{models[0]},
		}
	}
	normaliseWeights(s.weight)
	if shares, err = m.fitShares(ctx, s); err != nil {
		return nil, err
	}
	return m.finishMixture(ctx, shares, s, digest)
}

// networksFirst orders the members of a mixture. The first one says which cells are observed: networks know which missing
// cells are values, and for trees all are.
func networksFirst(a, b *Model) int {
	switch {
	case a.ensemble == nil && b.ensemble != nil:
		return -1
	case a.ensemble != nil && b.ensemble == nil:
		return 1
	}
	return 0
}

// finishMixture leaves out models without a share and calibrates the mixture on the rows that fitted the shares.
func (m *Model) finishMixture(ctx context.Context, shares []float64, s *sampled, digest *dataset.Digest) (*Model, error) {
	var kept []int
	for k, share := range shares {
		if share > 0 {
			kept = append(kept, k)
		}
	}
	if len(kept) == 1 {
		return nil, &Error{Row: -1, Message: "a mixture does not predict these rows better than one of the models alone", Remedy: "use that model as it is", Err: &NoMixtureError{m.mixed[kept[0]]}}
	}
	batch := &encode.Batch{}
	*batch = *s.rows.Part(kept[0])
	var models []*Model
	var left []float64
	for i, k := range kept {
		models, left = append(models, m.mixed[k]), append(left, shares[k])
		if i > 0 {
			batch.More = append(batch.More, s.rows.Part(k))
		} else {
			batch.More = nil
		}
	}
	s.rows = batch
	m = &Model{mixed: models, manifest: models[0].mixtureManifest(), places: models[0].places}
	m.config = m.manifest.network()
	m.setShares(left)
	if err := m.prepare(Native); err != nil {
		return nil, err
	}
	m.manifest.Calibration = m.uncalibrated()
	m.manifest.Provenance.Data, m.manifest.Provenance.ValidationRows = digest.String(), len(s.y)
	x, err := m.own.Pass(ctx, s.rows, form.Spread)
	if err != nil {
		return nil, err
	}
	x.Std = nil
	fit := &refit{s: s, x: x}
	switch {
	case m.scale() == explain.Share: // the mean of probabilities is one
	case !m.classes():
		fit.set(m, s.weight)
		if err := m.refitRanges(ctx, s); err != nil {
			return nil, err
		}
	default:
		fit.set(m, s.weight)
		if m.manifest.Calibration.Scale, m.manifest.Calibration.Slope, err = m.fitScale(ctx, m.dataOf(s)); err != nil {
			return nil, err
		}
	}
	e := m.NewEvaluator()
	fit.slopes = m.slopes(s.rows)
	fit.evaluate(m, e, func(int) bool { return true })
	m.manifest.Metrics = finiteMetrics(e.evaluation())
	m.manifest.Calibration.Before, m.manifest.Calibration.After = m.manifest.Metrics, m.manifest.Metrics
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	m.audit, err = m.auditRows(ctx, s.rows, s.y, nil, m.planWithin(importWork, defaultAuditRows))
	return m, err
}

// NoMixtureError reports that a mixture does not help.
type NoMixtureError struct {
	Best *Model // predicts best alone
}

func (e *NoMixtureError) Error() string { return "a mixture does not help" }

// minMixtureRows is the minimum number of rows that fit shares: fewer decide by chance.
const minMixtureRows = 200

// mixtureManifest returns the manifest of a mixture whose first member is m, without members.
func (m *Model) mixtureManifest() Manifest {
	from := m.manifest.Provenance
	return Manifest{
		Task: m.manifest.Task, Target: m.manifest.Target, Scale: m.manifest.Scale, Columns: m.manifest.Columns, LeftOut: m.manifest.LeftOut, Groups: m.manifest.Groups,
		Weight: m.manifest.Weight, WeightReading: m.manifest.WeightReading, Missing: m.manifest.Missing, Encoder: m.manifest.Encoder,
		Settings: Settings{Head: string(form.Mixture), Bins: m.manifest.Encoder.Bins}, Nodes: []int{}, SharedSigma: m.manifest.SharedSigma, Metrics: map[string]float64{}, Mixture: &Mixture{},
		Provenance: Provenance{Psi: Version(), Revision: Revision(), TrainingRows: from.TrainingRows, Validation: "the rows given to mix", Backend: Native},
	}
}

// setShares sets how the members add up.
func (m *Model) setShares(shares []float64) {
	x := &Mixture{}
	sum, spread := 0.0, 0.0
	for k, share := range shares {
		sum += share
		if m.mixed[k].hasSpread() {
			spread += share
		}
	}
	unit := m.mixed[0].unit()
	base := make([]float64, m.mixed[0].outputs())
	for k, member := range m.mixed {
		x.Members = append(x.Members, member.manifest)
		share := shares[k] / sum
		x.Shares, x.Factors, x.Spreads = append(x.Shares, share), append(x.Factors, share*member.unit()/unit), append(x.Spreads, 0)
		if member.hasSpread() {
			x.Spreads[k] = shares[k] / spread * square(member.unit()/unit)
		}
		for c, v := range member.bases() {
			base[c] += share * v
		}
	}
	m.manifest.Mixture = x
	scale := &m.manifest.Scale
	if m.manifest.Task == Regression {
		scale.Mean, scale.Std = base[0], unit
	} else {
		scale.Base = base
	}
}

// mixtureView prepares the members for players.
func (m *Model) mixtureView(groups []Group, v *view, config form.Config) error {
	x := m.manifest.Mixture
	parts := make([]form.Part, len(m.mixed))
	for k, member := range m.mixed {
		member.places = places(member.manifest.Columns, member.manifest.Encoder)
		var err error
		if member.evaluators, err = openEvaluators(Auto, member.config); err != nil {
			return err
		}
		of, err := member.newView(groups)
		if err != nil {
			return err
		}
		parts[k] = form.Part{Ensemble: of.Ensemble, Factor: x.Factors[k], Spread: x.Spreads[k]}
	}
	v.Ensemble = config.Mix(parts)
	return nil
}
