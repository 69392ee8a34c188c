package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// addCompletions enables shell completion of flags and arguments. The placeholder in the help text decides what is
// completed.
func (p *program) addCompletions(c *cobra.Command) {
	words := argumentWords(c)
	if slices.Contains(words, kindArgument) || slices.Contains(words, modelArgument) {
		c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeArgument(words, len(args))
		}
	}
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if complete := p.flagCompletion(flag, slices.Index(words, dataArgument)); complete != nil {
			_ = c.RegisterFlagCompletionFunc(flag.Name, complete) // it fails only for flags that do not exist or already have a completion
		}
	})
	for _, sub := range c.Commands() {
		p.addCompletions(sub)
	}
}

// argumentWords returns the placeholders of a command's arguments, without those of flags.
func argumentWords(c *cobra.Command) []string {
	words := strings.Fields(strings.NewReplacer("(", "", ")", "").Replace(c.Use))[1:]
	if end := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); end >= 0 {
		words = words[:end]
	}
	return words
}

func completeArgument(words []string, place int) ([]cobra.Completion, cobra.ShellCompDirective) {
	if place >= len(words) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	switch words[place] {
	case kindArgument:
		var kinds []cobra.Completion
		for _, k := range pictures() {
			kinds = append(kinds, cobra.CompletionWithDesc(k.kind, k.shows))
		}
		return kinds, cobra.ShellCompDirectiveNoFileComp
	case modelArgument:
		return []cobra.Completion{"psi"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// flagCompletion returns nil for flags that take files, and for flags without known values.
func (p *program) flagCompletion(flag *pflag.Flag, data int) cobra.CompletionFunc {
	if c, is := flag.Value.(*choice); is {
		return cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch name, _ := pflag.UnquoteUsage(flag); name {
	case "COLUMN", "COLUMNS":
		return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if data < 0 || data >= len(args) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			columns := p.header(cmd.Context(), args[data])
			if name == "COLUMN" {
				return columns, cobra.ShellCompDirectiveNoFileComp
			}
			return completeList(begun, columns), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
	case "KEY=VALUE":
		var keys []string
		for _, s := range psi.ListSettings() {
			keys = append(keys, s.Key+"=")
		}
		return cobra.FixedCompletions(keys, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	}
	return nil
}

// completeList returns names that may follow in a comma-separated list.
func completeList(begun string, names []string) []string {
	before := begun[:strings.LastIndex(begun, ",")+1]
	given := strings.Split(before, ",")
	var list []string
	for _, name := range names {
		if !slices.Contains(given, name) {
			list = append(list, before+name)
		}
	}
	return list
}

var errHeaderRead = errors.New("the names of the columns are all that is wanted")

// header returns the names of a file's columns without reading rows; nil if they are not available at once.
func (p *program) header(ctx context.Context, argument string) (names []string) {
	files := localFiles(argument)
	if len(files) == 0 {
		return nil
	}
	if found, err := os.Stat(files[0]); err != nil || !found.Mode().IsRegular() {
		return nil
	}
	d, err := p.data(ctx, files[0], "")
	if err != nil {
		return nil
	}
	source, err := d.open(ctx, 0, table.Options{Check: func(of []string) error {
		names = slices.Clone(of)
		return errHeaderRead
	}})
	if err == nil {
		_ = source.Close() // read-only
	}
	return names
}
