package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/report"
	"github.com/psi-shapley/psi/table"
)

// setting is a setting given by the user.
type setting struct{ key, value, where string }

// settings collects and checks the settings of --config, and then of --set and the flags that stand for one.
func (f *trainFlags) settings(ctx context.Context, flags *pflag.FlagSet) (change func(*psi.Settings), err error) {
	var list []setting
	if f.config != "" {
		if list, err = readConfig(ctx, f.config); err != nil {
			return nil, err
		}
	}
	given := map[string]string{}
	add := func(key, value, where string) error {
		if before, twice := given[key]; twice {
			return &usageError{fmt.Sprintf("%s is set twice, by %s and %s", key, before, where), "leave one of them out"}
		}
		given[key] = where
		list = append(list, setting{key, value, where})
		return nil
	}
	for _, text := range f.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, &usageError{fmt.Sprintf("--set is %q", text), "give KEY=VALUE, such as --set steps=4000"}
		}
		if err := add(key, value, "--set"); err != nil {
			return nil, err
		}
	}
	if flags.Changed("head") {
		err = errors.Join(err, add("head", f.head.word, "--head"))
	}
	if flags.Changed("bags") {
		err = errors.Join(err, add("bags", strconv.Itoa(f.bags), "--bags"))
	}
	if flags.Changed("members") {
		err = errors.Join(err, add("members", strconv.Itoa(f.members), "--members"))
	}
	if err != nil {
		return nil, err
	}
	return apply(list), try(list)
}

// apply returns a function that applies the list, which try has accepted.
func apply(list []setting) func(*psi.Settings) {
	return func(s *psi.Settings) {
		for _, one := range list {
			_ = s.Set(one.key, one.value)
		}
	}
}

// try finds mistakes before any data are read.
func try(list []setting) error {
	head := "exact"
	for _, one := range list {
		if one.key == "head" {
			head = one.value
		}
	}
	s := psi.DefaultSettings(head, psi.TypicalSize())
	for _, one := range list {
		if err := s.Set(one.key, one.value); err != nil {
			return settingError(one.where+": ", err)
		}
	}
	if err := s.Validate(); err != nil {
		return settingError("", err)
	}
	return nil
}

// settingError is a mistake in the settings; some errors include the remedy.
func settingError(where string, err error) error {
	message, remedy := err.Error(), "psi train --help-config lists the settings"
	if e, ok := errors.AsType[*psi.Error](err); ok {
		message, remedy = e.Message, cmp.Or(e.Remedy, remedy)
	}
	return &usageError{where + message, remedy}
}

// maxConfig is the maximum size of a file of settings, in bytes.
const maxConfig = 1 << 20

// readConfig reads a YAML file of settings: a key and a value in each line.
func readConfig(ctx context.Context, path string) ([]setting, error) {
	text, err := readFile(ctx, path, maxConfig)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, &plainError{path, "cannot be read: " + err.Error(), "check the path and its permissions"}
	}
	const form = "write one setting per line, such as steps: 4000"
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, &usageError{path + ": " + strings.TrimPrefix(err.Error(), "yaml: "), form}
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, &usageError{path + ": the file is not a list of settings", form}
	}
	var list []setting
	seen := map[string]bool{}
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		where := fmt.Sprintf("%s, line %d", path, key.Line)
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode {
			return nil, &usageError{where + ": the value is not a number or a word", form}
		}
		if seen[key.Value] {
			return nil, &usageError{fmt.Sprintf("%s: %s is set twice", where, key.Value), "leave one of them out"}
		}
		seen[key.Value] = true
		list = append(list, setting{key.Value, value.Value, where})
	}
	return list, nil
}

// listSettings implements --help-config.
func (p *program) listSettings(asJSON bool) error {
	type entry struct {
		Key      string `json:"key"`
		Default  string `json:"default"`
		Meaning  string `json:"meaning"`
		Measured string `json:"measured"`
	}
	if asJSON {
		all := psi.ListSettings()
		list := make([]entry, len(all))
		for i, s := range all {
			list[i] = entry(s)
		}
		return p.document(struct {
			Schema   string  `json:"schema"`
			Settings []entry `json:"settings"`
		}{"psi.settings/v1", list})
	}
	var text strings.Builder
	text.WriteString("Settings for --set KEY=VALUE and for --config FILE.yaml (one line KEY: VALUE each). Defaults\n" +
		"are for the exact head and about 20,000 rows; the last column names the measurement.\n\n")
	lines := [][]string{{"KEY", "DEFAULT", "MEASURED IN", "MEANING"}}
	for _, s := range psi.ListSettings() {
		lines = append(lines, []string{s.Key, s.Default, s.Measured, s.Meaning})
	}
	text.WriteString(aligned("", lines))
	_, err := p.stdout.Write([]byte(text.String()))
	return err
}

// settingFlags maps settings to flags. Texts of the library name settings by their Go fields, such as Config.OrderBy.
var settingFlags = map[string]string{
	"Config.Backend":         "--backend",
	"Config.Drop":            "--drop",
	"Config.Effort":          "--effort",
	"Config.Head":            "--head",
	"Config.Keep":            "--keep",
	"Config.MissingAsLevel":  "--missing-as-level",
	"Config.OrderBy":         "--order-by",
	"Config.Resume":          "--resume",
	"Config.Target":          "--target",
	"Config.Task":            "--task",
	"Config.TimeBudget":      "--time-budget",
	"Config.Validation":      "--validation",
	"Config.ValidationAfter": "--validation-after",
	"Config.ValidationBy":    "--validation-by",
	"Config.Weight":          "--weight",

	"ExplainOptions.Game":      "--game",
	"ExplainOptions.Mode":      "--mode",
	"ExplainOptions.Reference": "--reference",
	"ImportOptions.Classes":    "--classes",
	"ImportOptions.Rows":       "--rows",
	"ImportOptions.Target":     "--target",
	"OpenOptions.Backend":      "--backend",

	"Settings.Pairs": "--set pairs",
	"Settings.Steps": "--set steps",

	"psi.ListSettings": "psi train --help-config",

	"batch.Options.Mode": "psi batch run --mode",

	"serve.Config.Audience":     "--oidc-audience",
	"serve.Config.CertFile":     "--tls-cert",
	"serve.Config.ClientCAFile": "--client-ca",
	"serve.Config.Insecure":     "--insecure",
	"serve.Config.Issuer":       "--oidc-issuer",
	"serve.Config.KeyFile":      "--tls-key",
	"serve.Config.TokenFile":    "--token-file",

	"table.Guess.DateOrder":     "--date-order",
	"table.Guess.Decimal":       "--decimal",
	"table.Options.Categorical": "--categorical",
	"table.Options.Keep":        "--only",
}

// dotted matches a word that may be a setting, and the equals sign before its value.
var dotted = regexp.MustCompile(`\w+(?:\.\w+)+=?`)

// inFlags replaces settings by flags. Config.Task=binary becomes --task binary, and Settings.Steps=100 becomes --set
// steps=100.
func inFlags(text string) string {
	return dotted.ReplaceAllStringFunc(text, func(word string) string {
		setting, valued := strings.CutSuffix(word, "=")
		flag, known := settingFlags[setting]
		switch {
		case !known:
			return word
		case !valued:
			return flag
		case strings.HasPrefix(setting, "Settings."):
			return flag + "="
		}
		return flag + " "
	})
}

// flagWriter writes log lines with settings replaced by flags.
type flagWriter struct{ to io.Writer }

func (w flagWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.to, inFlags(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// warningsOf returns the warnings of a model with settings replaced by flags.
func warningsOf(m *psi.Model) []psi.Warning {
	list := m.Warnings()
	for i, w := range list {
		list[i].Message, list[i].Remedy = inFlags(w.Message), inFlags(w.Remedy)
	}
	return list
}

// fieldsInFlags returns columns with settings in their notes replaced by flags.
func fieldsInFlags(fields []table.Field) []table.Field {
	list := make([]table.Field, len(fields))
	for i, f := range fields {
		list[i], list[i].Notes = f, nil
		for _, note := range f.Notes {
			list[i].Notes = append(list[i].Notes, inFlags(note))
		}
	}
	return list
}

// reportInFlags replaces settings in the sentences of a report by flags.
func reportInFlags(r *report.Report) {
	r.Pairs.Absent = inFlags(r.Pairs.Absent)
	for i, w := range r.Warnings {
		r.Warnings[i].Words = inFlags(w.Words)
	}
}

// batchInFlags replaces settings in the sentences of a batch's report by flags.
func batchInFlags(b *report.Batch) {
	for i, words := range b.Advice {
		b.Advice[i] = inFlags(words)
	}
}
