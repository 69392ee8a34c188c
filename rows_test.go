package psi

import (
	"context"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

// waiting gives its table once; the next call waits for the end of its context, as a network source does.
type waiting struct {
	table.Source
	first *table.Table
}

func (w *waiting) Next(ctx context.Context) (*table.Table, error) {
	if t := w.first; t != nil {
		w.first = nil
		return t, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Breaking out of a range over results releases a source that waits on its context.
func TestBreakingOutReleasesTheSource(t *testing.T) {
	rows := small(t, 60)
	m := trainSmall(t, rows, "number", "label", 1)
	for name, first := range map[string]func(source Source) error{
		"Explanations": func(source Source) error {
			for _, err := range m.Explanations(t.Context(), source, ExplainOptions{}) {
				return err
			}
			return nil
		},
		"Predictions": func(source Source) error {
			for _, err := range m.Predictions(t.Context(), source) {
				return err
			}
			return nil
		},
		"Outcomes": func(source Source) error {
			for _, err := range m.Outcomes(t.Context(), source) {
				return err
			}
			return nil
		},
	} {
		ended := make(chan error, 1)
		go func() { ended <- first(&waiting{Source: rows.Source(), first: rows}) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s hangs", name)
		}
	}
}

func TestPassWithoutRows(t *testing.T) {
	m := trainSmall(t, small(t, 60), "number", "label", 1)
	if answers, err := m.Pass(t.Context(), Attributions); len(answers) != 0 || err != nil {
		t.Errorf("%d answers, %v", len(answers), err)
	}
}
