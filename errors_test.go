package psi_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/psi-shapley/psi"
)

// Callers tell causes apart, and find what is wrong apart from what to do.
func TestErrorsHaveCausesAndRemedies(t *testing.T) {
	rows := gappy(t, 60)
	m := trained(t, rows, psi.Config{})
	path := filepath.Join(t.TempDir(), "m.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	train := func(c psi.Config) error {
		_, err := psi.Train(t.Context(), rows.Source(), c)
		return err
	}
	explain := func(o psi.ExplainOptions) error {
		_, err := m.Explain(t.Context(), rows.Source(), o)
		return err
	}
	_, damaged := psi.Open(path)
	var none psi.Settings
	for text, c := range map[string]struct{ err, cause error }{
		"no target; name the column to predict in Config.Target":                                    {train(psi.Config{}), psi.ErrSetting},
		"Config.ValidationBy and Config.OrderBy cannot be combined; leave one of them out":          {train(psi.Config{Target: "y", ValidationBy: "x1", OrderBy: "x2"}), psi.ErrSetting},
		`there is no effort "utmost"; choose fast, normal or best`:                                  {train(psi.Config{Target: "y", Effort: "utmost"}), psi.ErrSetting},
		`unknown mode "best"; choose fast, refined or exact`:                                        {explain(psi.ExplainOptions{Mode: "best"}), psi.ErrSetting},
		`there is no setting "stepz"; psi.ListSettings lists them (steps?)`:                         {none.Set("stepz", "1"), psi.ErrSetting},
		path + ": the file is truncated: it does not end with the list of its parts; copy it again": {damaged, psi.ErrDamaged},
	} {
		if e, ok := errors.AsType[*psi.Error](c.err); !ok || e.Remedy == "" || e.Row != -1 || !errors.Is(c.err, c.cause) || c.err.Error() != text {
			t.Errorf("got  %v (%#v)\nwant %s", c.err, e, text)
		}
	}
}
