package psi

import (
	"encoding/json"
	"go/version"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
)

// goldenFile is a model that an earlier version wrote; TestGolden of cmd/psi compares its answers.
type goldenFile struct {
	path, version string
	requires      []string
	keys          map[string]bool // of the manifest, as Type.key; whether the value is other than the zero value
}

func goldenFiles(t *testing.T) (files []goldenFile) {
	t.Helper()
	paths, err := filepath.Glob("testdata/golden/*/*.psi")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := artifact.Read(content, artifact.Model)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var manifest any
		if err := json.Unmarshal(file.Content, &manifest); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f := goldenFile{path, filepath.Base(filepath.Dir(path)), file.Requires, map[string]bool{}}
		eachKey(reflect.TypeFor[Manifest](), manifest, func(key string, value any, found bool) {
			if found {
				f.keys[key] = f.keys[key] || value != nil && !reflect.ValueOf(value).IsZero()
			}
		})
		files = append(files, f)
	}
	return files
}

// eachKey calls visit for each JSON key of a type, as Type.key, with its values in a document.
func eachKey(of reflect.Type, document any, visit func(key string, value any, found bool)) {
	switch of.Kind() {
	case reflect.Pointer:
		eachKey(of.Elem(), document, visit)
	case reflect.Slice:
		list, _ := document.([]any)
		for _, item := range append(list, nil) {
			eachKey(of.Elem(), item, visit)
		}
	case reflect.Struct:
		if document == nil && of == reflect.TypeFor[Mixture]() { // which has manifests
			return
		}
		object, _ := document.(map[string]any)
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			value, found := object[name]
			visit(of.Name()+"."+name, value, found)
			eachKey(field.Type, value, visit)
		}
	}
}

// A feature, or a key of the manifest, that is in no golden file could be lost without notice: make files that have it with the first
// version that writes it.
func TestGoldenFilesHaveEveryFeature(t *testing.T) {
	var required []string
	has := map[string]bool{}
	for _, f := range goldenFiles(t) {
		required = append(required, f.requires...)
		for key, is := range f.keys {
			has[key] = has[key] || is
		}
	}
	for _, feature := range features() {
		if !slices.Contains(required, feature) {
			t.Errorf("no golden file requires the feature %q", feature)
		}
	}
	missing := map[string]bool{}
	eachKey(reflect.TypeFor[Manifest](), map[string]any{"mixture": map[string]any{}}, func(key string, _ any, _ bool) { missing[key] = !has[key] })
	for key, is := range missing {
		if is {
			t.Errorf("no golden file has a value of %s", key)
		}
	}
}

// A program refuses keys that it does not know, and says why if the file requires a feature that it does not know either.
func TestNewKeysNeedAFeature(t *testing.T) {
	files := goldenFiles(t)
	for _, f := range files {
		keys, known := map[string]bool{}, map[string]bool{}
		for _, earlier := range files {
			if version.Compare("go"+earlier.version, "go"+f.version) < 0 {
				maps.Copy(keys, earlier.keys)
				for _, feature := range earlier.requires {
					known[feature] = true
				}
			}
		}
		if len(keys) == 0 || slices.ContainsFunc(f.requires, func(feature string) bool { return !known[feature] }) {
			continue
		}
		for key := range f.keys {
			if _, is := keys[key]; !is {
				t.Errorf("%s has the key %s, which earlier versions do not know, but requires no feature that they lack", f.path, key)
			}
		}
	}
}

// Only the build that wrote a checkpoint continues it: another version or revision may train another model.
func TestCheckpointsBelongToOneBuild(t *testing.T) {
	of := func(program, revision string) string {
		mark, err := fingerprint(Manifest{Provenance: Provenance{Psi: program, Revision: revision, Backend: Native}})
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	mine := of("0.2.0", "a")
	if again := of("0.2.0", "a"); again != mine {
		t.Error("two fingerprints of one build")
	}
	if mine == of("0.2.1", "a") || mine == of("0.2.0", "b") {
		t.Error("one fingerprint of two builds")
	}
}
