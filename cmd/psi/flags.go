package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi"
)

// choice is a flag that accepts one of a few words. The first is its default.
type choice struct {
	words []string
	word  string
}

func choose(words ...string) choice { return choice{words, words[0]} }

// optional returns a choice without a default.
func optional(words ...string) choice { return choice{words, ""} }

// seconds is a duration that may be given as a number of seconds.
type seconds time.Duration

// String formats the duration as package time does; 0 is empty.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Type returns the type of durations, so that errors are worded alike.
func (*seconds) Type() string { return "duration" }

// Set accepts 90, 90s or 1m30s.
func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if text = strconv.FormatFloat(n, 'f', -1, 64) + "s"; math.IsNaN(n) || math.IsInf(n, 0) {
			return errors.New("this is not a duration")
		}
	}
	d, err := time.ParseDuration(text)
	*s = seconds(d)
	return err
}

// String returns the chosen word.
func (c *choice) String() string { return c.word }

// Type returns the placeholder in the help text.
func (c *choice) Type() string { return strings.Join(c.words, "|") }

// Set accepts one of the words.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return errors.New(didYouMean(word, c.words, "choose "+joinOr(c.words)))
	}
	c.word = word
	return nil
}

// joinOr joins words with "or".
func joinOr(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flagError rewords an error about a flag for users.
func flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help lists the flags"
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := e.GetFlag()
		return &usageError{fmt.Sprintf("--%s is %q", flag.Name, e.GetValue()), acceptedValue(flag, e)}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return &usageError{fmt.Sprintf("--%s needs a value", e.GetFlag().Name), help}
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() != "" {
			name = "-" + e.GetSpecifiedName()
		}
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
		return &usageError{fmt.Sprintf("%s has no flag %s", cmd.CommandPath(), name), didYouMean(name, names, help)}
	}
	return &usageError{err.Error(), help}
}

// acceptedValue says what a flag accepts.
func acceptedValue(flag *pflag.Flag, err *pflag.InvalidValueError) string {
	switch flag.Value.Type() {
	case "uint64":
		return "give a whole number from 0 up"
	case "int":
		return "give a whole number"
	case "float64":
		return "give a number"
	case "duration":
		return "give a time such as 10m or 1h30m, or seconds"
	case "bool":
		return "give true, false or nothing"
	}
	return err.Unwrap().Error()
}

// arguments requires exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
			return &usageError{cmd.CommandPath() + " needs " + strings.Join(names[len(args):], " and "), "for example " + example}
		}
		if len(args) > len(names) {
			remedy := cmd.CommandPath() + " --help shows what it takes"
			if slices.Contains(names, dataArgument) {
				remedy = "to read several files as one table, quote their pattern: 'part-*.csv'"
			}
			return &usageError{fmt.Sprintf("unexpected argument %q", args[len(names)]), remedy}
		}
		return nil
	}
}

// Arguments of commands, as the help text names them.
const (
	modelArgument = "MODEL"
	dataArgument  = "DATA"
	kindArgument  = "KIND"
	treesArgument = "FILE"
)

func addJSON(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "json", false, "print one JSON document on standard output")
}

func addBackend(flags *pflag.FlagSet, to *choice) {
	*to = choose(string(psi.Auto), string(psi.Native), string(psi.Go), string(psi.ONNX), string(psi.XLA))
	flags.Var(to, "backend", "compute backend: auto uses native where it can, and go otherwise; onnx and xla need a psi built with them")
}

func addInputFormat(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "format", "", "format of DATA if it is - or has no known extension: csv, tsv, parquet or arrow")
}
