package main

import (
	"fmt"
	"regexp"
	"strings"
)

// kind is what a notice is about.
type kind int

const (
	goModule kind = iota
	viewerPackage
	font
	table
	standardLibrary
)

// holder is a line above a legal text: what the text holds for.
type holder struct {
	kind    kind
	name    string
	version string // of a module or a package; of a font, its module's
	cloud   bool   // only in psi-cloud
}

// notices are the legal texts by holder.
type notices map[holder][]string

var (
	between = "\n" + strings.Repeat("=", 80) + "\n"
	below   = "\n" + strings.Repeat("-", 80) + "\n"
	forms   = []struct {
		kind kind
		form *regexp.Regexp // name, version
	}{
		{standardLibrary, regexp.MustCompile(`^(Go standard library)()$`)},
		{font, regexp.MustCompile(`^font (.+) \(\S+ (v\S+)\)$`)},
		{table, regexp.MustCompile(`^table (\w+) \(https://creativecommons\.org/licenses/by/4\.0/\)()$`)},
		{viewerPackage, regexp.MustCompile(`^(\S+) (\d\S*) \(viewer of reports\)$`)},
		{goModule, regexp.MustCompile(`^(\S+) (v\S+)(?: \(psi-cloud\))?$`)},
	}
)

// parse splits the file into its texts and their holders. A line that is not a holder is a fault.
func parse(file string) (found notices, faults []string) {
	found = notices{}
	for _, entry := range strings.Split(file, between)[1:] {
		names, text, cut := strings.Cut(entry, below)
		if !cut {
			faults = append(faults, fmt.Sprintf("an entry without names or without a text: %.200q", entry))
			continue
		}
		for line := range strings.Lines(names) {
			h, ok := parseHolder(strings.TrimSuffix(line, "\n"))
			if !ok {
				faults = append(faults, fmt.Sprintf("neither a module, a package, a font nor a table: %q", line))
				continue
			}
			found[h] = append(found[h], strings.Trim(text, "\n"))
		}
	}
	return found, faults
}

func parseHolder(line string) (holder, bool) {
	for _, f := range forms {
		if match := f.form.FindStringSubmatch(line); match != nil {
			return holder{f.kind, match[1], match[2], f.kind == goModule && strings.HasSuffix(line, ")")}, true
		}
	}
	return holder{}, false
}

func (h holder) String() string {
	what := strings.TrimSpace([]string{"module ", "package ", "font ", "table ", ""}[h.kind] + h.name + " " + h.version)
	if h.cloud {
		what += " (psi-cloud)"
	}
	return what
}
