package arch

import (
	"slices"
	"strings"
	"testing"
)

// Outside modules that only some packages may see.
const (
	gomlx = "github.com/gomlx/"           // the tensor engine
	arrow = "github.com/apache/arrow-go/" // Arrow and Parquet
)

// mayImport says, for each package, which packages of this module and which of
// the guarded outside modules its code may import. It is the whole list: a new
// package is added here, one that is gone is taken out.
var mayImport = map[string][]string{
	"cmd/psi": {".", "batch", "explain", "eval", "plot", "report", "serve", "table", "internal/artifact", "internal/engine", "internal/pipeline", "internal/prose", "internal/store", "internal/synth"},
	".": {
		"explain", "eval", "shapley", "table", "internal/artifact", "internal/baseline", "internal/encode", "internal/engine",
		"internal/form", "internal/dataset", "internal/kernel", "internal/link", "internal/network", "internal/objective", "internal/onnx", "internal/pipeline", "internal/prose", "internal/train", "internal/trees",
	},
	"examples":               {},
	"examples/explain":       {".", "table"},
	"examples/report":        {".", "report", "table"},
	"examples/serve":         {"serve"},
	"examples/stream":        {".", "table"},
	"examples/train":         {".", "table"},
	"batch":                  {".", "explain", "eval", "table", "batch/internal/queue", "internal/pipeline", "internal/store"},
	"explain":                {"table"},
	"plot":                   {"explain", "table"},
	"report":                 {".", "explain", "eval", "table", "internal/prose"},
	"eval":                   {"internal/prose"},
	"shapley":                {},
	"serve/internal/observe": {"explain", "eval", "table"},
	"table":                  {arrow, "internal/prose"},
	"serve/internal/auth":    {},
	"serve/internal/h2":      {},
	"serve": {
		".", "explain", "report", "table", "serve/internal/auth", "serve/internal/registry", "serve/internal/h2", "serve/internal/jsonrows", "serve/internal/oip",
		"serve/internal/oip/inference", "serve/internal/ui", "serve/internal/observe", "serve/internal/wire",
	},
	"serve/internal/registry":   {".", "internal/artifact", "internal/store", "table"},
	"serve/internal/jsonrows":   {"table"},
	"serve/internal/load":       {".", "serve/internal/oip/inference", "table"},
	"serve/internal/ui":         {".", "table"},
	"serve/internal/wire":       {},
	"internal/artifact":         {"table"},
	"internal/baseline":         {"internal/encode", "internal/train"},
	"internal/link":             {},
	"internal/pipeline":         {"table"},
	"internal/prose":            {},
	"internal/dataset":          {"internal/encode", "internal/train", "table"},
	"internal/arch":             {},
	"internal/benchset":         {"table"},
	"internal/benchset/foldcsv": {"internal/benchset", "table"},
	"internal/benchset/passes":  {".", "table"},
	"internal/synth":            {"table"},
	"internal/proof":            {},
	"internal/store":            {},
	"internal/encode":           {"table"},
	"internal/engine":           {gomlx},
	"internal/form":             {"internal/encode", "shapley"},
	"internal/form/formtest":    {"internal/encode", "internal/form"},
	"internal/kernel":           {"internal/encode", "internal/form", "internal/kernel/vector"},
	"internal/kernel/learn":     {"internal/encode", "internal/form", "internal/kernel/vector", "internal/link"},
	"internal/kernel/vector":    {},
	"internal/trees/treestest":  {"table"},
	"internal/trees":            {"internal/artifact", "internal/encode", "internal/form", "internal/kernel/vector", "table"},
	"internal/network":          {gomlx, "internal/engine", "internal/encode", "internal/form"},
	"internal/objective":        {gomlx, "internal/link"},
	"internal/onnx":             {gomlx, "internal/encode", "internal/engine", "internal/form", "internal/link", "internal/network", "table"},
	"internal/train":            {gomlx, "internal/engine", "internal/form", "internal/kernel", "internal/kernel/learn", "internal/network", "internal/objective", "internal/encode", "internal/link"},

	"serve/internal/oip":           {"explain", "table", "serve/internal/oip/inference"},
	"serve/internal/oip/inference": {},

	"batch/internal/queue":          {},
	"batch/internal/queue/cluster":  {},
	"batch/internal/queue/simulate": {"batch/internal/queue", "batch/internal/queue/cluster"},
}

// restricted reports what mayImport calls an imported path, if it speaks of it.
func restricted(imported string) (name string, ok bool) {
	for _, outside := range []string{gomlx, arrow} {
		if strings.HasPrefix(imported, outside) {
			return outside, true
		}
	}
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func TestImports(t *testing.T) {
	pkgs := packages(t)
	for _, dir := range sortedKeys(pkgs) {
		allowed, listed := mayImport[dir]
		if !listed {
			t.Errorf("package %s is not listed in mayImport", dir)
			continue
		}
		for _, f := range pkgs[dir] {
			for _, imported := range f.imports(t) {
				if name, ok := restricted(imported); ok && !f.isTest() && !slices.Contains(allowed, name) {
					t.Errorf("%s: package %s may not import %s", f.path, dir, imported)
				}
			}
		}
	}
	for _, dir := range sortedKeys(mayImport) {
		if pkgs[dir] == nil {
			t.Errorf("package %s is listed in mayImport but is not there", dir)
		}
	}
}

// Tests may import any package, as long as no two packages then need each other.
// The compiler refuses such a cycle in code, but not through an external test.
func TestNoCycles(t *testing.T) {
	pkgs := packages(t)
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(dir string, way []string)
	visit = func(dir string, way []string) {
		way = append(way, dir)
		if state[dir] == open {
			t.Errorf("packages need each other: %s", strings.Join(way[slices.Index(way, dir):], " → "))
		}
		if state[dir] != 0 || pkgs[dir] == nil {
			return
		}
		state[dir] = open
		needed := map[string]bool{}
		for _, f := range pkgs[dir] {
			for _, imported := range f.imports(t) {
				if name, ok := restricted(imported); ok && name != dir {
					needed[name] = true
				}
			}
		}
		for _, name := range sortedKeys(needed) {
			visit(name, way)
		}
		state[dir] = done
	}
	for _, dir := range sortedKeys(pkgs) {
		visit(dir, nil)
	}
}
