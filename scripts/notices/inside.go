package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// inside is what the programs that are released consist of.
type inside struct {
	modules  map[string]module
	unlinked []string          // modules of the graph that no program has
	viewer   map[string]string // packages of the lock file that are not for development alone, with their versions
	bundled  map[string]string // those that the viewer's build records
	fonts    []string          // families in the bytes of a program
	tables   []string
}

type module struct {
	version string
	cloud   bool   // only in psi-cloud
	dir     string // in the module cache
}

func (in inside) countCloud() int {
	count := 0
	for _, m := range in.modules {
		if m.cloud {
			count++
		}
	}
	return count
}

func look(ctx context.Context, program string) (inside, error) {
	in := inside{modules: map[string]module{}, viewer: map[string]string{}, bundled: map[string]string{}}
	for _, step := range []func() error{
		func() error { return in.link(ctx) },
		func() error { return in.graph(ctx) },
		in.lock,
		in.bundle,
		in.listTables,
		func() error { return in.open(program) },
	} {
		if err := step(); err != nil {
			return inside{}, err
		}
	}
	return in, nil
}

// link asks for the modules that the linker writes into each program, without compiling it.
func (in *inside) link(ctx context.Context) error {
	for _, tags := range []string{"grpcnotrace", "grpcnotrace,cloud"} {
		for _, system := range []string{"linux", "darwin", "windows"} {
			for _, processor := range []string{"amd64", "arm64"} {
				info, err := linked(ctx, tags, system, processor)
				if err != nil {
					return fmt.Errorf("%s-%s with the tags %s: %w", system, processor, tags, err)
				}
				for _, dep := range info.Deps {
					if dep.Replace != nil {
						dep = dep.Replace
					}
					if _, ok := in.modules[dep.Path]; !ok {
						in.modules[dep.Path] = module{version: dep.Version, cloud: strings.Contains(tags, "cloud")}
					}
				}
			}
		}
	}
	return nil
}

// linked returns the build information of a program from the commands that would build it.
func linked(ctx context.Context, tags, system, processor string) (*debug.BuildInfo, error) {
	build := exec.CommandContext(ctx, "go", "build", "-n", "-buildvcs=false", "-tags", tags, "./cmd/psi")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	commands, err := build.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %.400s", err, commands)
	}
	for line := range strings.Lines(string(commands)) {
		quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "modinfo ")
		if !ok {
			continue
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		const magic = 16 // bytes before and after the text
		return debug.ParseBuildInfo(text[magic : len(text)-magic])
	}
	return nil, errors.New("go build -n does not print the modules for the linker")
}

// graph finds the modules in the cache, and the modules that no program has.
func (in *inside) graph(ctx context.Context) error {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "all")
	list.Dir, list.Stderr = root, os.Stderr
	lines, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list -m all: %w", err)
	}
	for line := range strings.Lines(strings.TrimSpace(string(lines))) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			continue // the main module
		}
		if m, ok := in.modules[fields[0]]; ok {
			m.dir = fields[2]
			in.modules[fields[0]] = m
		} else {
			in.unlinked = append(in.unlinked, fields[0])
		}
	}
	return nil
}

// lock reads which packages web/ may put into the viewer.
func (in *inside) lock() error {
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Dev     bool   `json:"dev"`
		} `json:"packages"`
	}
	if err := readJSON("web/package-lock.json", &lock); err != nil {
		return err
	}
	for place, p := range lock.Packages {
		if name, ok := strings.CutPrefix(place, "node_modules/"); ok && !p.Dev {
			in.viewer[name] = p.Version
		}
	}
	return nil
}

// bundle reads which packages the viewer's build has put into it.
func (in *inside) bundle() error {
	var packages []struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if err := readJSON("report/viewer/licences.json", &packages); err != nil {
		return err
	}
	for _, p := range packages {
		in.bundled[p.Name] = p.Version
	}
	return nil
}

// listTables finds the tables that cmd/psi embeds.
func (in *inside) listTables() error {
	files, err := filepath.Glob(root + "/cmd/psi/tables/*.csv.gz")
	for _, file := range files {
		in.tables = append(in.tables, strings.TrimSuffix(filepath.Base(file), ".csv.gz"))
	}
	return err
}

// open reads a built program: its fonts, and modules, which the commands of its build must have named.
func (in *inside) open(program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	in.fonts = slices.Sorted(maps.Keys(families(data)))
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	for _, dep := range info.Deps {
		if in.modules[dep.Path].version != dep.Version {
			return fmt.Errorf("%s contains %s %s, and its source does not: build it again", program, dep.Path, dep.Version)
		}
	}
	return nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
