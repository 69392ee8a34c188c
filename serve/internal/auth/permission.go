package auth

import (
	"fmt"
	"strings"
)

// Permission is a set of permissions: of a caller, or those that a route needs. A route that needs none was forgotten, and
// nobody may use it; routes for everybody need Public or Health.
type Permission uint8

// The permissions. None includes another.
const (
	Public  Permission = 1 << iota // for everybody, at a limited rate
	Infer                          // ask models, and describe them
	Admin                          // load and unload models, read profiles
	Metrics                        // read the metrics
	Health                         // health checks, for everybody without limits

	given = Infer | Admin | Metrics // permissions that callers can have
)

var permissionNames = []struct {
	name string
	bit  Permission
}{{"infer", Infer}, {"admin", Admin}, {"metrics", Metrics}}

// Has reports whether p includes all needed permissions.
func (p Permission) Has(needed Permission) bool { return p&needed == needed }

// String returns a list as in token files.
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

// ParsePermission parses a list such as "infer,metrics", which must not be empty.
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
