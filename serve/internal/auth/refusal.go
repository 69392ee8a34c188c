package auth

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The refusals. Their texts are the same whatever was wrong.
var (
	ErrUnauthenticated = errors.New("unauthenticated: send a valid token or client certificate")
	ErrForbidden       = errors.New("you may not do this: ask for a token with the permission")
)

// TooManyError refuses a caller that asks, or guesses, too often.
type TooManyError struct{ RetryAfter time.Duration }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many requests: wait %d s", e.Seconds())
}

// Seconds is the value of a Retry-After header: whole seconds, at least 1.
func (e *TooManyError) Seconds() int { return max(1, int(math.Ceil(e.RetryAfter.Seconds()))) }

// refusal is a refusal with what only the log may know.
type refusal struct {
	public error
	reason string
}

func (e *refusal) Error() string { return e.public.Error() }
func (e *refusal) Unwrap() error { return e.public }

// originError is a refusal that depends on no secret, and so says what to do.
type originError struct{ remedy, reason string }

func (e *originError) Error() string { return e.remedy }
func (e *originError) Unwrap() error { return ErrForbidden }

func unauthenticated(format string, args ...any) error {
	return &refusal{ErrUnauthenticated, fmt.Sprintf(format, args...)}
}

// Reason says why a refusal was made: for the log, never for the caller. It holds no secret, but may hold what a stranger
// wrote, so quote it.
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

// Challenge is the value of the header WWW-Authenticate that goes with a refusal, empty if none does.
func Challenge(err error) string {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return `Bearer realm="psi"`
	case errors.Is(err, ErrForbidden):
		return `Bearer realm="psi", error="insufficient_scope"`
	}
	return ""
}
