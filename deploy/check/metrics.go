package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

var (
	// A scrape tells what is there in lines "# TYPE name kind".
	typeLine = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	// The names that rules and dashboards use: all of ours, and the four that KServe's own servers have too.
	used = regexp.MustCompile(`\b(psi_[a-z_]+|request_(?:preprocess|predict|explain|postprocess)_seconds[a-z_]*)\b`)
)

// metrics holds rules and dashboards to the metrics there are, and to all of the server's own being looked at somewhere.
func metrics(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("metrics", flag.ContinueOnError)
	scrape := flags.String("names", "", "`file` with a scrape of /metrics, or its TYPE lines alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	known, families, err := readScrape(*scrape)
	if err != nil {
		return err
	}
	var problems []error
	seen := map[string]bool{}
	for _, name := range flags.Args() {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		here := map[string]bool{}
		for _, metric := range used.FindAllString(string(content), -1) {
			if here[metric] {
				continue
			}
			here[metric] = true
			seen[known[metric]] = true
			if known[metric] == "" {
				problems = append(problems, fmt.Errorf("%s names %s, which the server does not have", name, metric))
			}
		}
		if _, err := fmt.Fprintf(out, "%s: %d metrics\n", name, len(here)); err != nil {
			return err
		}
	}
	for _, family := range families {
		if strings.HasPrefix(family, "psi_") && !seen[family] {
			problems = append(problems, fmt.Errorf("nothing looks at %s", family))
		}
	}
	return errors.Join(problems...)
}

// readScrape returns what names may be asked for, with the family of each, and the families in order.
func readScrape(name string) (known map[string]string, families []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	known = map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		found := typeLine.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		family := found[1]
		families = append(families, family)
		known[family] = family
		if found[2] == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[family+suffix] = family
			}
		}
	}
	if len(families) == 0 {
		return nil, nil, errors.Join(fmt.Errorf("%s has no line # TYPE", name), lines.Err())
	}
	slices.Sort(families)
	return known, families, lines.Err()
}
