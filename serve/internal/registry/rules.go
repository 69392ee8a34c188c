package registry

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Rules say which version of a model answers, if not the highest. They are read from YAML:
//
//	models:
//	  credit:
//	    labels: {stable: "3", canary: "4"}   # other names for versions
//	    default: stable                      # answers requests that name no version
//	    split: {stable: 95, canary: 5}       # or: these do, by weight
//	    shadow: canary                       # sees the same rows; nobody gets its answers
type Rules struct {
	Models map[string]Rule `yaml:"models"`
}

// Rule is the rule of one model. It may name versions by their labels.
type Rule struct {
	Labels  map[string]string  `yaml:"labels"`
	Default string             `yaml:"default"`
	Split   map[string]float64 `yaml:"split"`
	Shadow  string             `yaml:"shadow"`
}

// ParseRules parses and checks rules in YAML.
func ParseRules(content []byte) (*Rules, error) {
	var r Rules
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	for name, rule := range r.Models {
		if rule.Default != "" && len(rule.Split) > 0 {
			return nil, fmt.Errorf("model %q has a default and a split: choose one", name)
		}
		sum := 0.0
		for version, weight := range rule.Split {
			if !(weight >= 0) || math.IsInf(weight, 0) {
				return nil, fmt.Errorf("model %q: version %q has the weight %g: it must be a number from 0", name, version, weight)
			}
			sum += weight
		}
		if len(rule.Split) > 0 && !(sum > 0) {
			return nil, fmt.Errorf("model %q: all weights of its split are 0", name)
		}
	}
	return &r, nil
}

// version resolves a label. Other names stand for themselves.
func (r Rule) version(name string) string {
	if v, is := r.Labels[name]; is {
		return v
	}
	return name
}

// choose returns the version for a request that names none: by the split, else the default, else "" for the highest.
// Requests with the same id get the same version while the split stays the same.
func (r Rule) choose(id string) string {
	if len(r.Split) == 0 {
		return r.version(r.Default)
	}
	at := rand.Float64()
	if id != "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(id)) // never fails
		at = float64(mixed(h.Sum64())>>11) / (1 << 53)
	}
	names := slices.Sorted(maps.Keys(r.Split))
	sum := 0.0
	for _, name := range names {
		sum += r.Split[name]
	}
	for _, name := range names {
		if at -= r.Split[name] / sum; at < 0 {
			return r.version(name)
		}
	}
	return r.version(names[len(names)-1]) // rounding
}

// mixed spreads differences in the low bits over all bits, since ids often differ only in their last letter.
func mixed(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
