package psi

import (
	"runtime/debug"
	"strings"
)

// Version returns the version of psi, such as 0.2.0. Go takes it from the tag of the source, and numbers revisions between tags itself, such
// as 0.2.1-0.20261118005812-5221a5d0c1de. It is "devel" if the program was built without its repository. Model files record it.
func Version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return versionIn(build)
}

const (
	module = "github.com/psi-shapley/psi"
	devel  = "devel"
)

// versionIn finds psi in the build information of its own program, or of one that imports it.
func versionIn(build *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		if m.Path != module {
			continue
		}
		if v, ok := strings.CutPrefix(m.Version, "v"); ok {
			return v
		}
	}
	return devel
}

// Revision returns the source revision that the program was built from; "" if unknown.
func Revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	of := map[string]string{}
	for _, s := range build.Settings {
		of[s.Key] = s.Value
	}
	if of["vcs.modified"] == "true" {
		return of["vcs.revision"] + " and changes"
	}
	return of["vcs.revision"]
}
