package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// described is as much of an OpenAPI schema as the routes use.
type described struct {
	Ref        string `json:"$ref"`
	Properties map[string]*described
	Items      *described
	OneOf      []*described
}

// body is the schema of a request or an answer.
type body struct {
	Content map[string]struct{ Schema *described }
}

// No route, query parameter or field of a JSON document is gone since an earlier version.
func TestGoldenRoutes(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody body
			Responses   map[string]body
		}
		Components struct{ Schemas map[string]*described }
	}
	_, answer, _ := start(t, func(*Config) {}).sent(t, http.MethodGet, "/openapi.json", nil)
	check(t, json.Unmarshal(answer, &document))
	has := map[string]bool{}
	var fields func(of *described, at string)
	fields = func(of *described, at string) {
		if of == nil {
			return
		}
		if of.Ref != "" {
			of = document.Components.Schemas[of.Ref[strings.LastIndex(of.Ref, "/")+1:]]
		}
		for name, inner := range of.Properties {
			has[at+"."+name] = true
			fields(inner, at+"."+name)
		}
		for _, inner := range append(of.OneOf, of.Items) {
			fields(inner, at)
		}
	}
	for path, operations := range document.Paths {
		for method, o := range operations {
			route := strings.ToUpper(method) + " " + path
			has[route] = true
			for _, p := range o.Parameters {
				has[route+" ?"+p.Name] = true
			}
			fields(o.RequestBody.Content[jsonType].Schema, route+" <")
			fields(o.Responses["200"].Content[jsonType].Schema, route+" >")
		}
	}
	kept, err := filepath.Glob("../testdata/golden/*/routes.txt")
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d versions, %v", len(kept), err)
	}
	for _, path := range kept {
		content, err := os.ReadFile(path)
		check(t, err)
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimSpace(line); !has[line] {
				t.Errorf("%s: %s is gone", path, line)
			}
		}
	}
}
