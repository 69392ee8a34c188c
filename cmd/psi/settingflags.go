package main

import (
	"io"
	"regexp"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/report"
	"github.com/psi-shapley/psi/table"
)

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

	"ExplainOptions.Mode": "--mode",
	"OpenOptions.Backend": "--backend",

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
