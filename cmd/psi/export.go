package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

func (p *program) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write a model in another program's format",
		Args:  arguments(),
	}
	c.RunE = func(*cobra.Command, []string) error {
		return &usageError{"the format is missing", "psi export onnx MODEL -o FILE.onnx"}
	}
	c.AddCommand(p.exportONNXCommand())
	return c
}

// exportDocument is the JSON document of export.
type exportDocument struct {
	Schema  string   `json:"schema"`
	File    string   `json:"file"`
	Bytes   int      `json:"bytes"`
	Model   string   `json:"model"`
	Columns []string `json:"columns"`
	Players []string `json:"players"`
}

func (p *program) exportONNXCommand() *cobra.Command {
	out, force, asJSON := "", false, false
	c := &cobra.Command{
		Use:   "onnx MODEL -o FILE.onnx",
		Short: "Write a model as one ONNX graph, from cells to attributions",
		Long: `onnx writes one graph that any program with ONNX Runtime can run, without psi.

The graph takes one tensor per column, named after the column, with any number of rows.
Numbers, booleans (0 or 1) and times (seconds since 1970) are float64, with NaN for a missing
cell. Labels are text, empty for a missing cell. The graph returns prediction, prediction_std,
base, attribution_mean, attribution_std and, for classes, probability, as psi serve does.`,
		Example: `  psi export onnx model.psi -o model.onnx`,
		Args:    arguments(modelArgument),
	}
	c.Flags().StringVarP(&out, "out", "o", "", "`FILE` for the graph, ending in .onnx")
	addForce(c.Flags(), &force)
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.exportONNX(cmd.Context(), args[0], out, force, asJSON)
	}
	return c
}

func (p *program) exportONNX(ctx context.Context, path, out string, force, asJSON bool) error {
	switch {
	case out == "":
		return &usageError{"the output file is missing", "add -o FILE.onnx"}
	case !strings.HasSuffix(strings.ToLower(out), ".onnx"):
		return &usageError{fmt.Sprintf("the output file %q does not end in .onnx", out), "use .onnx"}
	}
	if err := p.checkFiles(ctx, force, []output{{path: out, content: contentONNX}}, path); err != nil {
		return err
	}
	model, err := psi.Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	place, err := p.stage(ctx, destination{path: out})
	if err != nil {
		return err
	}
	defer place.Abort()
	counted := &counter{to: place}
	if err := model.ExportONNX(counted); err != nil {
		return err
	}
	if err := place.Close(); err != nil {
		return err
	}
	if asJSON {
		return p.document(exportDocument{"psi.exported/v1", out, counted.bytes, model.Digest(), model.Columns(), model.Players()})
	}
	p.logf("%s: %s in, %s explained, %d kB", out, prose.Count(len(model.Columns()), "column"), prose.Count(len(model.Players()), "player"), counted.bytes/1000)
	return nil
}
