package psi

import (
	"errors"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

// Error reports what is wrong with a table, a file or a setting, where, and what to do about it. Texts name a setting
// by its field, such as Config.OrderBy. A value follows an equals sign: Config.Task=binary.
type Error = table.Error

// Causes of an Error, for [errors.Is].
var (
	// ErrSetting: a field of Config, ExplainOptions or Settings is out of range, or contradicts another. No table is at fault.
	ErrSetting = errors.New("unsuitable setting")
	// ErrBackend: the backend cannot train or evaluate the model, or is not part of this program.
	ErrBackend = errors.New("unsuitable backend")
	// ErrNewer: the file needs a newer version of psi.
	ErrNewer = artifact.ErrNewer
	// ErrDamaged: the file differs from what was written, or does not contain a valid model or checkpoint.
	ErrDamaged = artifact.ErrDamaged
)

// wrongSetting returns an error about a setting.
func wrongSetting(message, remedy string) error {
	return &Error{Row: -1, Message: message, Remedy: remedy, Err: ErrSetting}
}

// wrongBackend returns an error about the backend that a setting names.
func wrongBackend(setting, message string) error {
	return &Error{Row: -1, Message: message, Remedy: "leave " + setting + " out", Err: ErrBackend}
}

// Settings that name a backend.
const (
	configBackend = "Config.Backend"
	openBackend   = "OpenOptions.Backend"
)
