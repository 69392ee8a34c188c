package serve

import "github.com/psi-shapley/psi/serve/internal/auth"

// NewToken draws a bearer token for a caller who may do what is listed: infer, admin, metrics. The secret is for the caller
// and kept nowhere; the line is for the server's token file.
func NewToken(name, allowed string) (secret, line string, err error) {
	permission, err := auth.ParsePermission(allowed)
	if err != nil {
		return "", "", err
	}
	return auth.NewToken(name, permission)
}
