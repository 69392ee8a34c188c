package report

import (
	"regexp"
	"strings"
	"testing"
)

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
