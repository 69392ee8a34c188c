package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// permissive are licences that ask for a notice and no more.
var permissive = map[string]bool{
	"Apache-2.0":        true,
	"BSD-2-Clause":      true,
	"BSD-3-Clause":      true,
	"CC-BY-4.0":         true,
	"FTL":               true,
	"GooglePatentsFile": true, // a grant beside BSD-3-Clause
	"ISC":               true,
	"MIT":               true,
	"Unlicense":         true,
}

// accepted are other licences, by the licence and what is under it, with the reason why psi may contain it.
var accepted = map[[2]string]string{
	{"OFL-1.1", "codeberg.org/go-fonts/liberation"}: "fonts: psi embeds them unchanged and does not sell them by themselves",
	{"OFL-1.1", "Liberation Mono"}:                  "see the module",
	{"OFL-1.1", "Liberation Sans"}:                  "see the module",
	{"OFL-1.1", "Liberation Serif"}:                 "see the module",
}

const maxNotice = 100 // words; a longer text that is not a known licence needs a reader

// classify returns how many holders are under each licence, and refuses licences that nobody has agreed to.
func classify(found notices) (counts string, faults []string) {
	numbers := map[string]int{}
	for h, texts := range found {
		if h.kind == table {
			numbers["CC-BY-4.0"]++ // by the address beside the name
			continue
		}
		of := map[string]bool{}
		for _, text := range texts {
			ids, percent := licencesIn(text)
			if percent < recognised && len(strings.Fields(text)) > maxNotice {
				faults = append(faults, fmt.Sprintf("%s: no licence is known that reads %.60q", h, text))
			}
			for _, id := range ids {
				of[id] = true
			}
		}
		if len(of) == 0 {
			faults = append(faults, fmt.Sprintf("no licence: %s", h))
		}
		for id := range of {
			numbers[id]++
			if !permissive[id] && accepted[[2]string{id, h.name}] == "" {
				faults = append(faults, fmt.Sprintf("%s is under %s, which is not permissive: use another, or give the reason in licences.go", h, id))
			}
		}
	}
	slices.Sort(faults)
	for i, id := range slices.Sorted(maps.Keys(numbers)) {
		if i > 0 {
			counts += ", "
		}
		counts += fmt.Sprintf("%s %d", id, numbers[id])
	}
	return counts, faults
}

// licencesIn returns the SPDX identifiers of the licences in a text, and the percentage of its words that they cover.
func licencesIn(text string) (ids []string, percent float64) {
	coverage := licensecheck.Scan([]byte(text))
	for _, match := range coverage.Match {
		if !match.IsURL {
			ids = append(ids, match.ID)
		}
	}
	return ids, coverage.Percent
}
