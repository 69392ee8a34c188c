package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// best are the fastest instructions of this CPU, or those that the environment variable PSI_CPU names.
var best = sync.OnceValues(func() (instructions, error) {
	list := available()
	name := os.Getenv("PSI_CPU")
	if name == "" {
		return list[0], nil
	}
	if i := slices.IndexFunc(list, func(o instructions) bool { return o.String() == name }); i >= 0 {
		return list[i], nil
	}
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = o.String()
	}
	return portable, fmt.Errorf("PSI_CPU is %q: this machine can run %s", name, strings.Join(names, ", "))
})

// Instructions is the name of the instructions that passes use: avx512, avx2 or portable.
func Instructions() (string, error) {
	o, err := best()
	return o.String(), err
}
