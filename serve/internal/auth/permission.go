package auth

import (
	"fmt"
	"strings"
)

// Permission is a set of things a caller may do, or the ones that a route needs. A route that needs none at all was
// forgotten, and nobody may use it; what is for all is Public or Health.
type Permission uint8

// What a caller may be allowed. None includes another.
const (
	Public  Permission = 1 << iota // what anybody may, at a limited rate
	Infer                          // ask models, and for what they are
	Admin                          // load and unload models, see into the process
	Metrics                        // read the metrics
	Health                         // ask whether the server is up, which anybody may at any time

	given = Infer | Admin | Metrics // to callers
)

var permissionNames = []struct {
	name string
	bit  Permission
}{{"infer", Infer}, {"admin", Admin}, {"metrics", Metrics}}

// Has reports whether all that is needed is among p.
func (p Permission) Has(needed Permission) bool { return p&needed == needed }

// String lists them as token files do.
func (p Permission) String() string {
	var names []string
	for _, known := range permissionNames {
		if p&known.bit != 0 {
			names = append(names, known.name)
		}
	}
	switch {
	case names == nil && p == Health:
		return "health"
	case names == nil && p == Public:
		return "public"
	case names == nil:
		return "nothing"
	}
	return strings.Join(names, ",")
}

// ParsePermission reads a list such as "infer,metrics". It must name something.
func ParsePermission(list string) (Permission, error) {
	var p Permission
	for name := range strings.SplitSeq(list, ",") {
		bit := permissionNamed(name)
		if bit == 0 {
			return 0, fmt.Errorf("%q is no permission: use infer, admin or metrics, with commas between them", name)
		}
		p |= bit
	}
	return p, nil
}

func permissionNamed(name string) Permission {
	for _, known := range permissionNames {
		if name == known.name {
			return known.bit
		}
	}
	return 0
}
