package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"sigs.k8s.io/yaml"
)

// variables are what Grafana puts into a query before Prometheus sees it.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*", "$model", ".*", "$output", ".*", "$player", ".*")

// dashboards decodes a dashboard strictly by Grafana's own types, and prints its queries as a file of rules, for
// promtool to read.
func dashboards(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("give one dashboard")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins()
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(content); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := errors.Join(d.Validate(), arranged(d.Panels)); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	queries, err := expressions(content)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for i, q := range queries {
		q = variables.Replace(q)
		if strings.Contains(q, "$") {
			return fmt.Errorf("%s: a variable in %s is not known", args[0], q)
		}
		rules = append(rules, rule{fmt.Sprintf("dashboard:query:%d", i), q})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// arranged finds panels that share an id or lie on one another.
func arranged(panels []dashboard.PanelOrRowPanel) error {
	var problems []error
	ids := map[uint32]bool{}
	taken := map[[2]uint32]string{}
	for _, p := range panels {
		var (
			id    *uint32
			title *string
			at    *dashboard.GridPos
		)
		if p.Panel != nil {
			id, title, at = p.Panel.Id, p.Panel.Title, p.Panel.GridPos
		} else {
			id, title, at = &p.RowPanel.Id, p.RowPanel.Title, p.RowPanel.GridPos
		}
		if id == nil || title == nil || at == nil {
			problems = append(problems, errors.New("a panel has no id, title or place"))
			continue
		}
		if ids[*id] {
			problems = append(problems, fmt.Errorf("panel %q has the id %d of another", *title, *id))
		}
		ids[*id] = true
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, is := taken[[2]uint32{x, y}]; is {
					problems = append(problems, fmt.Errorf("panel %q lies on %q", *title, other))
				}
				taken[[2]uint32{x, y}] = *title
			}
		}
	}
	return errors.Join(problems...)
}

// expressions are all values of the key expr, in order.
func expressions(content []byte) ([]string, error) {
	var found []string
	decoder := json.NewDecoder(bytes.NewReader(content))
	for key := false; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		text, _ := token.(string)
		if key {
			found = append(found, text)
		}
		key = text == "expr" && !key
	}
}

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
