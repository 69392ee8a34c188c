package psi

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/onnx"
)

// ExportONNX writes the model as an ONNX graph. Each column of the model is an input, a tensor [n]: float64 with NaN
// for a missing cell, or a string with "" for one. The outputs have the names that psi's server uses: prediction,
// prediction_std, base, attribution_mean and attribution_std [n, outputs, players]. Models of classes also have
// probability [n, outputs]. Attributions are those of mode fast.
func (m *Model) ExportONNX(w io.Writer) error {
	config := m.config
	config.Inputs.Groups = networkGroups(m.own.players, m.places)
	units := onnx.Units{
		Unit: m.unit(), Base: m.bases(), Noise: m.own.NoiseVariance(),
		Probability: m.classes(), Link: m.manifest.Scale.Link, NonNegative: m.manifest.Scale.NonNegative, Slope: m.manifest.Calibration.Slope,
	}
	if !m.classes() {
		units.Noise = []float64{m.manifest.Calibration.Noise}
	}
	about, err := m.about()
	if err != nil {
		return err
	}
	file := onnx.Model{
		Network: config, Members: m.members, Units: units,
		Encoder: m.manifest.Encoder, Columns: m.places, Places: m.own.places, Missing: m.manifest.Missing,
		Name: "psi", Version: Version, About: about,
	}
	content, err := file.Bytes()
	if err != nil {
		return fmt.Errorf("export to ONNX: %w", err)
	}
	_, err = w.Write(content)
	return err
}

// about returns the metadata of the exported file; lists are JSON.
func (m *Model) about() (map[string]string, error) {
	about := map[string]string{
		"model": m.Digest(), "task": string(m.manifest.Task), "target": m.manifest.Target, "head": m.Head(), "scale": string(m.scale()), "units": m.unitWords(),
	}
	for key, list := range map[string]any{"outputs": m.outputNames(), "players": m.Players(), "classes": m.manifest.Classes(), "base": m.bases()} {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		about[key] = string(text)
	}
	return about, nil
}

// unitWords names the units of predictions and attributions.
func (m *Model) unitWords() string {
	switch m.scale() {
	case explain.LogMean:
		return "logs of the mean of " + m.manifest.Target + ", but for prediction and prediction_std, which are in its own units"
	case explain.Log:
		return "logs of " + m.manifest.Target + ", but for prediction and prediction_std, which are in its own units"
	case explain.Logit:
		return "log odds of " + m.outputNames()[0]
	case explain.Score:
		return "scores of classes, which add up to 0"
	}
	return "those of " + m.manifest.Target
}
