package auth

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The refusals. Their texts do not depend on what was wrong.
var (
	ErrUnauthenticated = errors.New("unauthenticated: send a valid token or client certificate")
	ErrForbidden       = errors.New("you may not do this: ask for a token with the permission")
)

// TooManyError refuses a caller that sends too many requests or wrong credentials.
type TooManyError struct{ RetryAfter time.Duration }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many requests: wait %d s", e.Seconds())
}

// Seconds returns the value of a Retry-After header: whole seconds, at least 1.
func (e *TooManyError) Seconds() int { return max(1, int(math.Ceil(e.RetryAfter.Seconds()))) }

// refusal is a refusal with a reason for the log.
type refusal struct {
	public error
	reason string
}

func (e *refusal) Error() string { return e.public.Error() }
func (e *refusal) Unwrap() error { return e.public }

// originError is a refusal that depends on no secret, so its text may give the remedy.
type originError struct{ remedy, reason string }

func (e *originError) Error() string { return e.remedy }
func (e *originError) Unwrap() error { return ErrForbidden }

func unauthenticated(format string, args ...any) error {
	return &refusal{ErrUnauthenticated, fmt.Sprintf(format, args...)}
}

// Reason returns why a request was refused: for the log, never for the caller. It contains no secret, but may contain text
// of a stranger, so quote it.
func Reason(err error) string {
	const most = 300
	reason := ""
	if e, ok := errors.AsType[*refusal](err); ok {
		reason = e.reason
	} else if e, ok := errors.AsType[*originError](err); ok {
		reason = e.reason
	} else if err != nil {
		reason = err.Error()
	}
	return reason[:min(len(reason), most)]
}

// Challenge returns the header WWW-Authenticate of a refusal; "" if it has none.
func Challenge(err error) string {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return `Bearer realm="psi"`
	case errors.Is(err, ErrForbidden):
		return `Bearer realm="psi", error="insufficient_scope"`
	}
	return ""
}
