package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/psi-shapley/psi"
)

// docsCommand writes the pages that are made from the commands themselves.
func docsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "docs",
		Short:  "Write the reference pages of the commands",
		Hidden: true,
		Args:   arguments(),
		RunE:   func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(
		&cobra.Command{
			Use:     "markdown DIRECTORY",
			Short:   "Write docs/cli",
			Example: "  psi docs markdown docs/cli",
			Args:    arguments("DIRECTORY"),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o777); err != nil {
					return err
				}
				return doc.GenMarkdownTree(cmd.Root(), args[0])
			},
		},
		&cobra.Command{
			Use:     "man DIRECTORY",
			Short:   "Write manual pages",
			Example: "  psi docs man share/man/man1",
			Args:    arguments("DIRECTORY"),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o777); err != nil {
					return err
				}
				return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "psi " + psi.Version, Manual: "psi"}, args[0])
			},
		},
	)
	return c
}
