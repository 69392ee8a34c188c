package serve

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shadow sees the rows of requests that others answer: of the same model, its predictions lie at no distance.
func TestShadowSeesTheSameRows(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	check(t, os.WriteFile(rules, []byte("models: {shop: {default: '1', shadow: '2'}}\n"), 0o600))
	r := start(t, func(c *Config) {
		content, err := trained()
		check(t, err)
		check(t, os.WriteFile(filepath.Join(c.Models[0], "shop@2.psi"), content, 0o600))
		c.Rules = rules
	})
	r.asked(t, "/explain", map[string]any{"rows": objects(people(7, 1))})
	_, _, metrics := r.Addresses()
	eventually(t, "the shadow is counted", func() bool {
		response, err := http.Get("http://" + metrics + "/metrics")
		check(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		check(t, err)
		return strings.Contains(string(text), `psi_shadow_predictions_total{model="shop",version="2"} 7`) &&
			strings.Contains(string(text), `psi_shadow_distance_total{model="shop",version="2"} 0`)
	})
}
