package benchset

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrAbsent says that the data are not on this machine. Tests skip on it.
var ErrAbsent = errors.New("data not found; set PSI_DATA to the directory that holds them")

const modulePath = "github.com/psi-shapley/psi"

// dataDir returns PSI_DATA, or ../shared/data seen from the root of the module.
func dataDir() (string, error) {
	if dir := os.Getenv("PSI_DATA"); dir != "" {
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "..", "shared", "data"), nil
}

// moduleRoot walks up from the working directory to psi's own go.mod, past those of modules nested in it.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module "+modulePath+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of %s above %s: %w", modulePath, start, ErrAbsent)
		}
	}
}
