// Command check holds the files of deploy/ to what would read them: the code by
// which Kubernetes admits objects, the schemas of the custom resources,
// BuildKit's reading of a Dockerfile, Grafana's types, and the names of the
// server's metrics.
// It needs no cluster, no container engine and no network.
//
//	check manifests [-crds DIR]… [-insecure] FILE…   objects, "-" for stdin
//	check dockerfile FILE TARGET…                    images that must come out of it
//	check stage FILE STAGE                           prints a stage as a shell script
//	check dashboard FILE                             prints its queries as rules
//	check metrics -names SCRAPE FILE…                rules and dashboards
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to check: manifests, dockerfile, stage, dashboard or metrics")
	}
	switch args[0] {
	case "manifests":
		return manifests(args[1:], out)
	case "dockerfile":
		return dockerfile(args[1:], out)
	case "stage":
		return stage(args[1:], out)
	case "dashboard":
		return dashboards(args[1:], out)
	case "metrics":
		return metrics(args[1:], out)
	}
	return fmt.Errorf("cannot check %q: choose manifests, dockerfile, stage, dashboard or metrics", args[0])
}
