package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
)

// parseGroups parses the values of --group, NAME=A,B each. A column with a comma in its name is quoted, as in --drop.
func parseGroups(texts []string) ([]psi.Group, error) {
	var groups []psi.Group
	of := map[string]string{} // group of each column
	for _, text := range texts {
		wrong := func(why string) error {
			return &usageError{fmt.Sprintf("--group is %q: %s", text, why), "give NAME=A,B: a name and the columns that share one attribution"}
		}
		name, list, ok := strings.Cut(text, "=")
		if !ok {
			return nil, wrong("it has no =")
		}
		if name == "" {
			return nil, wrong("the group has no name")
		}
		if slices.ContainsFunc(groups, func(g psi.Group) bool { return g.Name == name }) {
			return nil, wrong("another group has this name")
		}
		columns, err := csv.NewReader(strings.NewReader(list)).Read()
		if err != nil || slices.Contains(columns, "") {
			return nil, wrong("the list of columns is not valid")
		}
		for _, column := range columns {
			if before, twice := of[column]; twice {
				return nil, &usageError{fmt.Sprintf("column %q is in the group %q and in the group %q", column, before, name), "list the column once, in one group"}
			}
			of[column] = name
		}
		groups = append(groups, psi.Group{Name: name, Columns: columns})
	}
	return groups, nil
}
