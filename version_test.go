package psi

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		name string
		main debug.Module
		deps []*debug.Module
		want string
	}{
		{"at a tag", debug.Module{Path: module, Version: "v0.2.0"}, nil, "0.2.0"},
		{"changed after a tag", debug.Module{Path: module, Version: "v0.2.1-0.20261118005812-5221a5d0c1de+dirty"}, nil, "0.2.1-0.20261118005812-5221a5d0c1de+dirty"},
		{"without its repository", debug.Module{Path: module, Version: "(devel)"}, nil, "devel"},
		{"in tests", debug.Module{}, nil, "devel"},
		{"imported", debug.Module{Path: "example.com/own", Version: "v3.0.0"}, []*debug.Module{{Path: module, Version: "v0.2.0"}}, "0.2.0"},
		{"imported from a directory", debug.Module{Path: "example.com/own", Version: "v3.0.0"}, []*debug.Module{{Path: module, Version: "(devel)"}}, "devel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := versionIn(&debug.BuildInfo{Main: c.main, Deps: c.deps}); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}
