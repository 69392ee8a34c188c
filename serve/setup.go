package serve

import (
	"io"
	"log/slog"

	"github.com/psi-shapley/psi/serve/internal/gate"
	"github.com/psi-shapley/psi/serve/internal/watch"
)

// NewLogger writes log lines in the form of text or json, without cells of callers' tables.
func NewLogger(w io.Writer, format string) (*slog.Logger, error) {
	return watch.NewLogger(w, format, slog.LevelInfo)
}

// NewToken draws a bearer token for a caller who may do what is listed: infer, admin, metrics. The secret is for the caller
// and kept nowhere; the line is for the server's token file.
func NewToken(name, allowed string) (secret, line string, err error) {
	permission, err := gate.ParsePermission(allowed)
	if err != nil {
		return "", "", err
	}
	return gate.NewToken(name, permission)
}
