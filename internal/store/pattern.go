package store

import (
	"path"
	"slices"
	"strings"
)

// Wildcards of paths; in a URL the question mark begins the query.
const (
	wildcards    = "*?["
	urlWildcards = "*["
)

// anyDirectories is the element that matches any number of directories.
const anyDirectories = "**"

// pattern is a pattern of keys, by element.
type pattern []string

func parsePattern(text string) (pattern, error) {
	if text == "" {
		return pattern{anyDirectories}, nil
	}
	elements := strings.Split(text, "/")
	for _, e := range elements {
		if _, err := path.Match(e, ""); err != nil {
			return nil, &AddressError{text, "this is no pattern of names", "close its brackets"}
		}
	}
	return elements, nil
}

// Quote returns the pattern that matches only the given name.
func Quote(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// Single returns the only key that a pattern matches, if there is only one.
func Single(text string) (key string, is bool) {
	p, err := parsePattern(text)
	if err != nil {
		return "", false
	}
	return p.literal()
}

// start returns the literal prefix of names that match an element; all reports that it is the whole name.
func start(element string) (text string, all bool) {
	var s strings.Builder
	for i := 0; i < len(element); i++ {
		switch element[i] {
		case '*', '?', '[':
			return s.String(), false
		case '\\':
			i++ // path.Match checked that one follows
		}
		s.WriteByte(element[i])
	}
	return s.String(), true
}

// literal returns the only key that matches, if there is only one.
func (p pattern) literal() (key string, is bool) {
	names := make([]string, len(p))
	for i, e := range p {
		if names[i], is = start(e); !is {
			return "", false
		}
	}
	return strings.Join(names, "/"), true
}

// prefix returns the common prefix of all keys that match.
func (p pattern) prefix() string {
	var s strings.Builder
	for i, e := range p {
		text, all := start(e)
		s.WriteString(text)
		if !all {
			break
		}
		if i < len(p)-1 {
			s.WriteByte('/')
		}
	}
	return s.String()
}

// flat reports whether keys have no directory.
func (p pattern) flat() bool { return len(p) == 1 && p[0] != anyDirectories }

// follows reports whether links to directories are followed: not where they may form a cycle.
func (p pattern) follows() bool { return !slices.Contains(p, anyDirectories) }

func (p pattern) matches(key string) bool { return p.match(strings.Split(key, "/")) }

func (p pattern) match(key []string) bool {
	switch {
	case len(p) == 0 || len(key) == 0:
		return len(p) == len(key)
	case p[0] == anyDirectories:
		// As the last element it also matches the object's name.
		if len(p) > 1 && p[1:].match(key) || len(p) == 1 && len(key) == 1 && !hidden(key[0]) {
			return true
		}
		return !hidden(key[0]) && p.match(key[1:])
	}
	return matchElement(p[0], key[0]) && p[1:].match(key[1:])
}

// enters reports whether a directory can have keys that match.
func (p pattern) enters(directory []string) bool {
	switch {
	case len(p) == 0:
		return false
	case len(directory) == 0:
		return true
	case p[0] == anyDirectories:
		return p[1:].enters(directory) || !hidden(directory[0]) && p.enters(directory[1:])
	}
	return matchElement(p[0], directory[0]) && p[1:].enters(directory[1:])
}

func matchElement(element, name string) bool {
	is, _ := path.Match(element, name) // parsePattern checked the pattern
	return is && (!hidden(name) || hidden(element))
}

// hidden reports whether a name, or the start of a pattern, is hidden.
func hidden(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
}
