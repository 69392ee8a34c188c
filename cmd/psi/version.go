package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
)

func (p *program) versionCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the source revision",
		Long: `version prints the version of psi and the source revision that it was built from. Between
releases, the version has the time and the start of the revision.`,
		Example: `  psi version
  psi version --json`,
		Args: arguments(),
	}
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(*cobra.Command, []string) error {
		if asJSON {
			return p.document(described())
		}
		return p.printVersion()
	}
	return c
}

// build is the JSON document of version. That of doctor has its fields too.
type build struct {
	Schema   string  `json:"schema"`
	Version  string  `json:"version"`
	Revision *string `json:"revision"`
	Go       string  `json:"go"`
	System   string  `json:"system"`
}

func described() build {
	b := build{Schema: "psi.version/v1", Version: psi.Version(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if r := psi.Revision(); r != "" {
		b.Revision = &r
	}
	return b
}

func (p *program) printVersion() error {
	_, err := fmt.Fprintln(p.stdout, "psi", version())
	return err
}

func version() string {
	if r := psi.Revision(); r != "" {
		return psi.Version() + " (revision " + r + ")"
	}
	return psi.Version()
}
