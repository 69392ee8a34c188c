package artifact

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	kindOf := func(content string) Kind { return KindOf(strings.NewReader(content), int64(len(content))) }
	for _, kind := range []Kind{Model, Checkpoint} {
		var file bytes.Buffer
		if err := Write(&file, &File{Kind: kind, Content: []byte(`{"target":"y"}`), Parts: map[string][]byte{"weights.safetensors": make([]byte, 1<<16), "a.json": []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		if got := kindOf(file.String()); got != kind {
			t.Errorf("a %s is taken for %q", kind, got)
		}
		if got := kindOf(file.String()[:file.Len()/2]); got != "" {
			t.Errorf("half a %s is taken for %q", kind, got)
		}
	}
	var other bytes.Buffer
	archive := zip.NewWriter(&other)
	if w, err := archive.Create(manifestName); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte(`{"name":"an extension of a browser"}`)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "a,b\n1,2\n", "PK", other.String()} {
		if got := kindOf(content); got != "" {
			t.Errorf("%.20q is taken for %q", content, got)
		}
	}
}
