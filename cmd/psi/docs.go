package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/psi-shapley/psi"
)

// docsCommand writes the pages that are generated from the commands.
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
			Use:     "markdown FILE",
			Short:   "Write docs/cli.md",
			Example: "  psi docs markdown docs/cli.md",
			Args:    arguments("FILE"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return os.WriteFile(args[0], reference(cmd.Root()), 0o666)
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
				return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "psi " + psi.Version(), Manual: "psi"}, args[0])
			},
		},
	)
	return c
}

// reference is one page in Markdown: a list of the commands, then each with its flags, in the order of help.
func reference(root *cobra.Command) []byte {
	var page, sections bytes.Buffer
	describe(&page, root, "#")
	others := &cobra.Group{Title: "Other commands:"} // commands of no group have the ID ""
	for _, group := range slices.Concat(root.Groups(), []*cobra.Group{others}) {
		fmt.Fprintf(&page, "\n%s\n\n", group.Title)
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() && c.GroupID == group.ID {
				fmt.Fprintf(&page, "- [%s](#%s): %s\n", c.CommandPath(), anchor(c), c.Short)
				describe(&sections, c, "##")
			}
		}
	}
	page.Write(sections.Bytes())
	return page.Bytes()
}

// describe writes the section of a command, then those of its subcommands under smaller headings.
func describe(page *bytes.Buffer, c *cobra.Command, heading string) {
	c.InitDefaultHelpFlag()
	if c.HasParent() {
		page.WriteString("\n")
	}
	fmt.Fprintf(page, "%s %s\n\n%s\n", heading, c.CommandPath(), c.Short)
	if c.Long != "" {
		fmt.Fprintf(page, "\n%s\n", strings.TrimSpace(c.Long))
	}
	fmt.Fprintf(page, "\n```text\n%s\n```\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(page, "\nExamples:\n\n```sh\n%s\n```\n", c.Example)
	}
	if flags := c.Flags().FlagUsages(); flags != "" {
		fmt.Fprintf(page, "\nFlags:\n\n```text\n%s```\n", flags)
	}
	if !c.HasParent() || c.Name() == "completion" { // what to do in each shell, its own help says
		return
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			describe(page, sub, heading+"#")
		}
	}
}

// anchor is what GitHub calls the heading of a command in links.
func anchor(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }
