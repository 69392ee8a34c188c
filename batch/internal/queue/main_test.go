//go:build unix

package queue

import (
	"fmt"
	"os"
	"testing"

	"github.com/psi-shapley/psi/batch/internal/queue/cluster"
)

// The test's own program runs again as a server of a cluster, or as one that is to be killed.
func TestMain(m *testing.M) {
	for _, child := range []func() (bool, error){cluster.Main, serveUntilKilled} {
		if was, err := child(); was {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1) //nolint:forbidigo // this is main
			}
			return
		}
	}
	os.Exit(m.Run()) //nolint:forbidigo // this is main
}
