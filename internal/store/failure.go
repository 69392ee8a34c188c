package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"

	"gocloud.dev/gcerrors"
)

// brokenError is an answer that ended early.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "the answer broke off: " + e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// fault adds the object to an error, and replaces known causes by errors of this package.
func fault(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), gcerrors.Code(err) == gcerrors.NotFound, status(err) == http.StatusNotFound:
		return fmt.Errorf("%s: %w", name, ErrNotFound)
	case errors.Is(err, ErrChanged), gcerrors.Code(err) == gcerrors.FailedPrecondition, status(err) == http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", name, ErrChanged)
	}
	if at, is := errors.AsType[*fs.PathError](err); is {
		err = at.Err // the name is included already
	}
	if forbidden(err) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w: %w", name, fs.ErrPermission, brief(err))
	}
	return fmt.Errorf("%s: %w", name, brief(err))
}

// briefError is an error with a short message.
type briefError struct {
	text  string
	cause error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.cause }

// brief returns the message of the store or the network, without the request's numbers and headers.
func brief(err error) error {
	if e, is := errors.AsType[interface {
		error
		ErrorCode() string
		ErrorMessage() string
	}](err); is { // S3
		return &briefError{e.ErrorCode() + ": " + e.ErrorMessage(), err}
	}
	if e, is := errors.AsType[*net.OpError](err); is {
		return &briefError{e.Error(), err}
	}
	return err
}

func forbidden(err error) bool {
	code := status(err)
	return gcerrors.Code(err) == gcerrors.PermissionDenied || code == http.StatusForbidden || code == http.StatusUnauthorized
}

// status returns the HTTP status of the store's answer, 0 if there was none.
func status(err error) int {
	if e, is := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); is { // S3
		return e.HTTPStatusCode()
	}
	return cloudStatus(err)
}

// transientErrors lists failures of the network or of an overloaded machine. A full disk is not one.
var transientErrors = []error{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH,
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE, context.DeadlineExceeded,
}

// IsTransient reports whether a retry may succeed: the store is down or slow, or limits the rate of requests.
func IsTransient(err error) bool {
	switch {
	case err == nil, errors.Is(err, ErrChanged), errors.Is(err, ErrNotFound), errors.Is(err, fs.ErrPermission), errors.Is(err, context.Canceled):
		return false
	}
	if code := status(err); code != 0 {
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
	}
	if _, broken := errors.AsType[*brokenError](err); broken {
		return true
	}
	if slices.ContainsFunc(transientErrors, func(call error) bool { return errors.Is(err, call) }) {
		return true
	}
	if e, is := errors.AsType[*url.Error](err); is && (errors.Is(e.Err, io.EOF) || errors.Is(e.Err, io.ErrUnexpectedEOF)) {
		return true // the connection was closed before there was an answer
	}
	if e, is := errors.AsType[*net.DNSError](err); is {
		return !e.IsNotFound
	}
	if e, is := errors.AsType[net.Error](err); is {
		return e.Timeout()
	}
	code := gcerrors.Code(err)
	return code == gcerrors.ResourceExhausted || code == gcerrors.DeadlineExceeded
}
