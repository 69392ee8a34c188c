package psi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/artifact"
)

// Golden files are models that earlier versions wrote; TestGolden of cmd/psi compares their answers. A feature, or a key of the manifest,
// that is in none of them could be lost without notice: make files that have it with the first version that writes it.
func TestGoldenFilesHaveEveryFeature(t *testing.T) {
	paths, err := filepath.Glob("testdata/golden/*/*.psi")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var required []string
	used := map[string]bool{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := artifact.Read(content, artifact.Model)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		required = append(required, file.Requires...)
		var manifest any
		if err := json.Unmarshal(file.Content, &manifest); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		usedKeys(reflect.TypeFor[Manifest](), manifest, used)
	}
	for _, feature := range features() {
		if !slices.Contains(required, feature) {
			t.Errorf("no golden file requires the feature %q", feature)
		}
	}
	for key, is := range used {
		if !is {
			t.Errorf("no golden file has a value of %s", key)
		}
	}
}

// usedKeys records for each JSON key of a type, as Type.key, whether a document has a value of it other than the zero value.
func usedKeys(of reflect.Type, document any, used map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer:
		usedKeys(of.Elem(), document, used)
	case reflect.Slice:
		list, _ := document.([]any)
		for _, item := range append(list, nil) {
			usedKeys(of.Elem(), item, used)
		}
	case reflect.Struct:
		object, _ := document.(map[string]any)
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			key, value := of.Name()+"."+name, object[name]
			is, known := used[key]
			used[key] = is || value != nil && !reflect.ValueOf(value).IsZero()
			if value != nil || !known { // a manifest holds manifests
				usedKeys(field.Type, value, used)
			}
		}
	}
}

// Only the build that wrote a checkpoint continues it: another version or revision may train another model.
func TestCheckpointsBelongToOneBuild(t *testing.T) {
	of := func(version, revision string) string {
		mark, err := fingerprint(Manifest{Provenance: Provenance{Psi: version, Revision: revision, Backend: Native}})
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
