//go:build !cloud

package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/store"
)

// A store that is not compiled in is named, with the command that builds a program that has it.
func TestCloudAbsent(t *testing.T) {
	for _, where := range []string{"gs://bucket/rows.csv", "azblob://container/rows.csv"} {
		_, err := store.Create(t.Context(), where)
		wrong, ok := errors.AsType[*store.AddressError](err)
		if !ok || !strings.Contains(wrong.Message, "built without") || !strings.Contains(wrong.Remedy, "make psi-cloud") {
			t.Errorf("%s: %v", where, err)
		}
	}
}
