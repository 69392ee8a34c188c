package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// answer is the timeout of one request to the servers, before it is repeated.
const answer = 5 * time.Second

// ErrRefused matches errors that repeating does not help, such as a wrong password.
var ErrRefused = errors.New("refused")

// ErrFull matches the error of servers that have no room for more units.
var ErrFull = errors.New("the queue is full")

func refused(err error) bool { return errors.Is(err, ErrRefused) }

// refusal is an ErrRefused with a text of its own.
type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Unwrap() error        { return r.cause }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

func refuse(cause error, format string, a ...any) error {
	return &refusal{text: fmt.Sprintf(format, a...), cause: cause}
}

// fault describes an error: what is wrong, where, and the remedy, without passwords. Errors that waiting does not help
// become ErrRefused.
func (q *Queue) fault(err error) error {
	if err == nil || refused(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text := q.address.redact(err.Error())
	var (
		untrusted *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		alert     *net.OpError
		api       *jetstream.APIError
	)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return refuse(err, "the queue at %s does not let this user in (%s): check the user, password or token in its address, or the .creds file", q.address, text)
	case errors.As(err, &untrusted), errors.As(err, &authority):
		return refuse(err, "the certificate of the queue at %s is not trusted (%s): give the file of the authority that signed it", q.address, text)
	case errors.As(err, &alert) && alert.Op == "remote error": // crypto/tls calls an alert of the other side so
		return refuse(err, "the queue at %s does not take this program's certificate, or asks for one (%s): give the files of a certificate and its key", q.address, text)
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return refuse(err, "the queue at %s and this program do not agree on TLS (%s): use tls:// for a server with TLS, nats:// for one without", q.address, text)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("nobody answers at %s: check the address, that the servers run, and that this machine may reach them", q.address)
	case errors.Is(err, nats.ErrMaxPayload):
		return refuse(err, "a unit is larger than the queue at %s takes (%s): raise max_payload on its servers", q.address, text)
	case errors.Is(err, nats.ErrConnectionClosed):
		return refuse(err, "the connection to the queue at %s is closed (%s)", q.address, text)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return refuse(err, "the queue at %s keeps nothing for this account (%s): switch JetStream on for it", q.address, text)
	case errors.As(err, &api) && api.ErrorCode == noReplicas:
		return refuse(err, "the queue at %s is a single server and cannot keep copies (%s): ask for one replica", q.address, text)
	case errors.As(err, &api) && full(api):
		return fmt.Errorf("%w: the servers at %s say %q; give JetStream more storage there, or wait until workers have made room", ErrFull, q.address, api.Description)
	case errors.As(err, &api) && api.Code >= 400 && api.Code < 500 && api.Code != 408 && api.Code != 429 && api.ErrorCode != noPeers:
		return refuse(err, "the queue at %s: %s", q.address, text)
	}
	return fmt.Errorf("the queue at %s: %s", q.address, text)
}

// Codes of the servers that nats.go has no names for.
const (
	noPeers    = 10005 // a cluster has too few servers: more may be starting
	noReplicas = 10074
)

// full reports whether the servers have no room: their store is full, or the share of the account is used up.
func full(e *jetstream.APIError) bool {
	switch e.ErrorCode {
	case 10023, 10047, 10002, 10077: // insufficient resources, storage exceeded, account's resources exceeded, store failed
		return true
	}
	return false
}

// try calls f until it succeeds, is refused, or ctx ends. Each attempt has its own timeout, since an answer may be lost with
// a leader.
func (q *Queue) try(ctx context.Context, f func(context.Context) error) error {
	var last error
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if err := q.reachable(ctx); err != nil {
			return q.withLastError(err, last)
		}
		attempt, cancel := context.WithTimeout(ctx, answer)
		err := f(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return q.withLastError(ctx.Err(), last)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer in %s", answer)
		}
		if err = q.fault(err); refused(err) {
			return err
		}
		last = err
		if denied := q.denied.Load(); denied != nil {
			return refuse(*denied, "%s", (*denied).Error())
		}
		if !pause(ctx, wait) {
			return q.withLastError(ctx.Err(), last)
		}
	}
}

// withLastError joins the error that ended a wait with the last error of f.
func (q *Queue) withLastError(err, last error) error {
	if last == nil || refused(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, last)
}

// reachable waits until a server is connected.
func (q *Queue) reachable(ctx context.Context) error {
	for {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case q.connection.IsClosed():
			err := q.connection.LastError()
			if err == nil {
				err = nats.ErrConnectionClosed
			}
			if err = q.fault(err); !refused(err) {
				err = refuse(err, "%s", err.Error())
			}
			return err
		case q.connection.IsConnected():
			return nil
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// pause reports whether the time passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
