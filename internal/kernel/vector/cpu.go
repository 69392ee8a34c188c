package vector

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// Best returns the fastest instruction set of this CPU, or the one named by the environment variable PSI_CPU.
var Best = sync.OnceValues(func() (Set, error) {
	list := Available()
	name := os.Getenv("PSI_CPU")
	if name == "" {
		return list[0], nil
	}
	if i := slices.IndexFunc(list, func(s Set) bool { return s.String() == name }); i >= 0 {
		return list[i], nil
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return Portable, fmt.Errorf("PSI_CPU is %q: this machine can run %s", name, strings.Join(names, ", "))
})
