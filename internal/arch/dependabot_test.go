package arch

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ecosystem returns what Dependabot calls the kind of dependencies that a file lists, and the directory that it looks in.
func ecosystem(file string) (name, directory string) {
	directory = path.Join("/", path.Dir(file))
	switch base := path.Base(file); {
	case base == "go.mod":
		return "gomod", directory
	case base == "package.json":
		return "npm", directory
	case base == "pyproject.toml", strings.HasPrefix(base, "requirements") && path.Ext(base) == ".txt":
		return "pip", directory
	case base == "Dockerfile":
		return "docker", directory
	case path.Dir(file) == ".github/workflows":
		return "github-actions", "/"
	}
	return "", ""
}

func TestDependabotSeesAllDependencies(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	for _, f := range house(t) {
		if name, directory := ecosystem(f.path); name != "" {
			want[name+" "+directory] = true
		}
		if f.path == ".github/dependabot.yml" {
			for _, entry := range watched(f.text) {
				got[entry] = true
			}
		}
	}
	for _, entry := range sortedKeys(want) {
		if !got[entry] {
			t.Errorf(".github/dependabot.yml lacks %s", entry)
		}
	}
	for _, entry := range sortedKeys(got) {
		if !want[entry] {
			t.Errorf(".github/dependabot.yml has %s, where nothing lists dependencies", entry)
		}
	}
}

var (
	ecosystemLine = regexp.MustCompile(`^  - package-ecosystem: (\S+)$`)
	directoryLine = regexp.MustCompile(`^      - (/\S*)$`)
)

// watched returns each ecosystem and directory of Dependabot's settings.
func watched(text string) []string {
	var entries []string
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if match := ecosystemLine.FindStringSubmatch(line); match != nil {
			name = match[1]
		} else if match := directoryLine.FindStringSubmatch(line); match != nil {
			entries = append(entries, name+" "+match[1])
		}
	}
	return entries
}

var (
	usesAction = regexp.MustCompile(`(?m)^\s*- uses: (.*)$`)
	pinned     = regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
)

// A tag of an action can be moved; a commit cannot. One version of an action is in use.
func TestActionsArePinned(t *testing.T) {
	versions := map[string][]string{}
	for _, f := range house(t) {
		if path.Dir(f.path) != ".github/workflows" {
			continue
		}
		for _, match := range usesAction.FindAllStringSubmatch(f.text, -1) {
			if !pinned.MatchString(match[1]) {
				t.Errorf("%s: %q has no commit with its version behind it", f.path, match[1])
			}
			action, version, _ := strings.Cut(match[1], "@")
			if !slices.Contains(versions[action], version) {
				versions[action] = append(versions[action], version)
			}
		}
	}
	for _, action := range sortedKeys(versions) {
		if len(versions[action]) > 1 {
			t.Errorf("%s is in use in several versions: %q", action, versions[action])
		}
	}
}
