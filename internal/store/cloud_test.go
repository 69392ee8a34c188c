//go:build cloud

package store_test

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"google.golang.org/api/googleapi"

	"github.com/psi-shapley/psi/internal/store"
)

// What Google's and Azure's stores answer passes, or does not, by its status.
func TestPassingOfCloud(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&googleapi.Error{Code: 503}, true},
		{&googleapi.Error{Code: 429}, true},
		{&googleapi.Error{Code: 403}, false},
		{&azcore.ResponseError{StatusCode: 500}, true},
		{&azcore.ResponseError{StatusCode: 400}, false},
	} {
		if got := store.IsTransient(fmt.Errorf("in a table: %w", c.err)); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
