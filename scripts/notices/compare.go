package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// compare returns what is in a program without a notice, and which notices are of nothing in a program.
func compare(found notices, in inside) []string {
	want := map[holder]bool{{kind: standardLibrary, name: "Go standard library"}: true}
	for path, m := range in.modules {
		want[holder{goModule, path, m.version, m.cloud}] = true
	}
	for name, version := range in.viewer {
		want[holder{kind: viewerPackage, name: name, version: version}] = true
	}
	for _, name := range in.tables {
		want[holder{kind: table, name: name}] = true
	}
	faults := slices.Concat(in.checkViewer(), in.checkFonts(found), in.checkTexts(found))
	for h := range want {
		if _, ok := found[h]; !ok {
			faults = append(faults, fmt.Sprintf("no notice: %s", h))
		}
	}
	for h, texts := range found {
		if !want[h] && h.kind != font {
			faults = append(faults, fmt.Sprintf("not in a program: %s", h))
		}
		if slices.Contains(texts, "") {
			faults = append(faults, fmt.Sprintf("an empty text: %s", h))
		}
	}
	slices.Sort(faults)
	return faults
}

// checkViewer compares what the viewer's build records with the lock file.
func (in inside) checkViewer() []string {
	var faults []string
	for name, version := range in.bundled {
		if locked, ok := in.viewer[name]; !ok || locked != version {
			faults = append(faults, fmt.Sprintf("report/viewer has %s %s; web/package-lock.json has %q: run make web", name, version, locked))
		}
	}
	return faults
}

// checkFonts compares families in the notices with those in a program, and their versions with those of modules.
func (in inside) checkFonts(found notices) []string {
	var faults []string
	noticed := map[string]bool{}
	for h := range found {
		if h.kind != font {
			continue
		}
		noticed[h.name] = true
		if !slices.ContainsFunc(slices.Collect(maps.Values(in.modules)), func(m module) bool { return m.version == h.version }) {
			faults = append(faults, fmt.Sprintf("no module has this version: %s", h))
		}
		if !slices.Contains(in.fonts, h.name) {
			faults = append(faults, fmt.Sprintf("not in a program: %s", h))
		}
	}
	for _, name := range in.fonts {
		if !noticed[name] {
			faults = append(faults, fmt.Sprintf("no notice: font %s", name))
		}
	}
	return faults
}

// checkTexts looks in the root of every module for files that read like licences, whatever their names. Each must be in the notices.
func (in inside) checkTexts(found notices) []string {
	var faults []string
	for path, m := range in.modules {
		if m.dir == "" {
			faults = append(faults, fmt.Sprintf("%s %s is not in the module cache", path, m.version))
			continue
		}
		files, err := os.ReadDir(m.dir)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, file := range files {
			text, ok := legal(m.dir, file)
			if ok && !slices.Contains(found[holder{goModule, path, m.version, m.cloud}], text) {
				faults = append(faults, fmt.Sprintf("%s %s: the notices lack its file %s", path, m.version, file.Name()))
			}
		}
	}
	return faults
}

const (
	recognised = 75        // percent of a text, from which it is a licence
	maxSize    = 200 << 10 // bytes; no licence is as long
)

func legal(dir string, file os.DirEntry) (string, bool) {
	info, err := file.Info()
	hidden := strings.HasPrefix(file.Name(), ".") // settings of tools, with the head of a licence above
	if err != nil || hidden || !info.Mode().IsRegular() || info.Size() > maxSize || filepath.Ext(file.Name()) == ".go" {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(dir, file.Name()))
	if err != nil || licensecheck.Scan(data).Percent < recognised {
		return "", false
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n\f\v"))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n"), true
}
