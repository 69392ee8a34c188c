package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// pageOf writes a report and cuts the page into its parts.
func pageOf(t *testing.T, r *Report) (policy, document, script, style, whole string) {
	t.Helper()
	var out strings.Builder
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	whole = out.String()
	cut := func(pattern string) string {
		found := regexp.MustCompile(`(?s)` + pattern).FindStringSubmatch(whole)
		if found == nil {
			t.Fatalf("the page lacks %s", pattern)
		}
		return found[1]
	}
	return cut(`Content-Security-Policy" content="([^"]*)"`), cut(`<script type="application/json" id="report">(.*?)</script>`), cut(`</script>\n<script>(.*)</script>`), cut(`<style>(.*?)</style>`), whole
}

// The page may run its own script and style and nothing else, and load nothing.
func TestPolicy(t *testing.T) {
	policy, _, script, style, _ := pageOf(t, &Report{Schema: Schema})
	for name, text := range map[string]string{"script-src": script, "style-src": style} {
		sum := sha256.Sum256([]byte(text))
		if want := name + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("%q lacks %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	if strings.Contains(script, "</script") || strings.Contains(style, "</style") {
		t.Error("the viewer ends its own element")
	}
}

// No name or cell can break out of the document.
func TestHostileNames(t *testing.T) {
	hostile := `</script><script>alert(1)</script><!-- & "` + "\u2028"
	r := &Report{Schema: Schema, Model: Model{Target: hostile}, Rows: Rows{Cells: []Cells{{Labels: []string{hostile}, Codes: []int{0}}}}}
	_, document, _, _, whole := pageOf(t, r)
	if n := strings.Count(whole, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	var read struct {
		Model struct{ Target string }
		Rows  struct{ Cells []struct{ Labels []string } }
	}
	if err := json.Unmarshal([]byte(document), &read); err != nil || read.Model.Target != hostile || read.Rows.Cells[0].Labels[0] != hostile {
		t.Errorf("%v: read back as %+v", err, read)
	}
}

// A report names its generator, and is known by it. Reports from before that are known too, other pages are not.
func TestGenerator(t *testing.T) {
	_, _, _, _, whole := pageOf(t, &Report{Schema: Schema})
	generator := regexp.MustCompile(`<meta name="generator" content="psi [^"]+">\n`)
	if !generator.MatchString(whole) || !Written([]byte(whole)) {
		t.Error("the page does not say that psi made it")
	}
	var batch strings.Builder
	if err := WriteBatch(&batch, &Batch{}); err != nil || !Written([]byte(batch.String())) {
		t.Errorf("the page of a batch does not say that psi made it: %v", err)
	}
	if !Written([]byte(generator.ReplaceAllString(whole, ""))) {
		t.Error("a report without the name of its generator is not known")
	}
	for _, other := range []string{
		"", "a,b\n1,2\n", "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>My page</title>",
		"<!DOCTYPE html>\n<html>\n<meta name=\"generator\" content=\"Hugo 0.1\">", "text before " + whole,
	} {
		if Written([]byte(other)) {
			t.Errorf("%.60q is taken for a report", other)
		}
	}
}

// The live page may run what a report may, and ask its own server; nothing else.
func TestLivePolicy(t *testing.T) {
	var out strings.Builder
	if err := WriteLive(&out); err != nil {
		t.Fatal(err)
	}
	reported, _, ofReport, styleOfReport, _ := pageOf(t, &Report{Schema: Schema})
	found := regexp.MustCompile(`(?s)Content-Security-Policy" content="([^"]*)".*<style>(.*?)</style>.*<script type="application/json" id="live">(\{[^<]*\})</script>\n<script>(.*)</script>`).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatal("the page lacks a part")
	}
	if want := strings.Replace(reported, " base-uri", " connect-src 'self'; base-uri", 1); found[1] != want {
		t.Errorf("policy %q, not %q", found[1], want)
	}
	if found[2] != styleOfReport || found[4] != ofReport {
		t.Error("the live page has another viewer than the report")
	}
	if strings.Contains(out.String(), `id="report"`) {
		t.Error("the live page holds a report")
	}
}
