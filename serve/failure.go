package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/wire"
	"github.com/psi-shapley/psi/table"
)

// failed is the answer to a failed request, for HTTP and gRPC.
type failed struct {
	wire.Failure
	status  int
	code    codes.Code
	refusal observe.Refusal // counted as; "" if it is not counted
	after   time.Duration   // when to try again; 0 if that does not help
}

// requestError is the error of an invalid request.
type requestError struct{ message, remedy string }

func (w *requestError) Error() string { return w.message }

// clientClosed is the HTTP status for a caller that has gone, as proxies use it.
const clientClosed = 499

// failure returns the answer for an error. An error that it does not know is internal: the caller gets no details.
func failure(err error) *failed {
	f := &failed{Failure: wire.Failure{Message: err.Error()}, status: http.StatusBadRequest, code: codes.InvalidArgument}
	var (
		misuse   *requestError
		cell     *table.Error
		protocol *oip.Error
		missing  *registry.NotFoundError
		busy     *registry.BusyError
		often    *auth.TooManyError
		long     *http.MaxBytesError
		large    *tooLargeError
		method   *methodError
		many     *jsonrows.TooManyError
		idle     *idleError
		limit    *limitError
	)
	switch {
	case errors.Is(err, errMemory): // limits come first: readers of tables wrap them
		f.Message = errMemory.Error()
		f.status, f.code, f.refusal, f.after = http.StatusTooManyRequests, codes.ResourceExhausted, observe.MemoryFull, time.Second
	case errors.As(err, &long):
		f.Message, f.Remedy = "the request has too many bytes", "send fewer rows at a time, at most "+strconv.FormatInt(long.Limit, 10)+" bytes"
		f.status, f.code, f.refusal = http.StatusRequestEntityTooLarge, codes.ResourceExhausted, observe.BodyTooLarge
	case errors.As(err, &large):
		f.Message, f.Remedy = large.Error(), "send fewer rows at a time"
		f.status, f.code, f.refusal = http.StatusRequestEntityTooLarge, codes.ResourceExhausted, observe.BodyTooLarge
	case errors.As(err, &misuse):
		f.Message, f.Remedy = misuse.message, misuse.remedy
	case errors.As(err, &cell):
		f.Message, f.Remedy = cell.Message, cell.Remedy
		if cell.Row >= 0 {
			f.Row = &cell.Row
		}
		if cell.Column != "" {
			f.Column = &cell.Column
		}
	case errors.As(err, &protocol):
		f.Message, f.Remedy = protocol.Message, protocol.Remedy
		if protocol.Kind == oip.TooLarge {
			f.status, f.code, f.refusal = http.StatusRequestEntityTooLarge, codes.ResourceExhausted, observe.TooManyRows
		} else if protocol.Kind == oip.NotFound {
			f.status, f.code = http.StatusNotFound, codes.NotFound
		}
	case errors.As(err, &limit):
		f.Message, f.Remedy = limit.message, limit.remedy
		f.status, f.code, f.refusal = http.StatusRequestEntityTooLarge, codes.ResourceExhausted, observe.TooManyRows
	case errors.As(err, &many):
		f.status, f.code, f.refusal = http.StatusRequestEntityTooLarge, codes.ResourceExhausted, observe.TooManyRows
	case errors.As(err, &missing):
		f.status, f.code = http.StatusNotFound, codes.NotFound
	case errors.As(err, &method):
		f.status, f.code = http.StatusMethodNotAllowed, codes.Unimplemented
	case errors.Is(err, errNoRoute):
		f.status, f.code = http.StatusNotFound, codes.Unimplemented
	case errors.As(err, &busy):
		f.status, f.code, f.refusal, f.after = http.StatusTooManyRequests, codes.ResourceExhausted, observe.QueueFull, busy.RetryAfter
	case errors.As(err, &often):
		f.status, f.code, f.refusal, f.after = http.StatusTooManyRequests, codes.ResourceExhausted, observe.RateLimit, often.RetryAfter
	case errors.Is(err, auth.ErrUnauthenticated):
		f.status, f.code, f.refusal = http.StatusUnauthorized, codes.Unauthenticated, observe.Denied
	case errors.Is(err, auth.ErrForbidden):
		f.status, f.code, f.refusal = http.StatusForbidden, codes.PermissionDenied, observe.Denied
	case errors.Is(err, errDraining):
		f.status, f.code, f.refusal, f.after = http.StatusServiceUnavailable, codes.Unavailable, observe.Draining, time.Second
	case errors.As(err, &idle):
		f.status, f.code = http.StatusGatewayTimeout, codes.DeadlineExceeded
	case errors.Is(err, context.DeadlineExceeded):
		f.Message, f.Remedy = "the request took too long", "send fewer rows at a time, or try again later"
		f.status, f.code, f.refusal = http.StatusGatewayTimeout, codes.DeadlineExceeded, observe.Deadline
	case errors.Is(err, context.Canceled):
		f.Message, f.status, f.code = "the caller went away", clientClosed, codes.Canceled
	default:
		f.Message, f.Remedy = "the server failed", "try again; the server's log has the cause by the request's id"
		f.status, f.code = http.StatusInternalServerError, codes.Internal
	}
	f.Schema, f.Error = "psi.error/v1", f.Message
	if f.Column != nil {
		f.Error = fmt.Sprintf("column %q: %s", *f.Column, f.Error)
	}
	if f.Row != nil {
		f.Error = fmt.Sprintf("row %d, %s", *f.Row, f.Error)
	}
	if f.Remedy != "" {
		f.Error += "; " + f.Remedy
	}
	return f
}

// internal reports whether only the log gets the cause.
func (f *failed) internal() bool { return f.status == http.StatusInternalServerError }

// write sends the failure as an HTTP answer.
func (f *failed) write(w http.ResponseWriter, err error) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.after.Seconds()))))
	}
	if challenge := auth.Challenge(err); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if method, is := errors.AsType[*methodError](err); is {
		w.Header().Set("Allow", strings.Join(method.allowed, ", "))
	}
	body, _ := json.Marshal(f.Failure) // of texts and numbers: it cannot fail
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // the caller may be gone
}

// grpc returns the failure as a gRPC status. The time to wait goes into the metadata.
func (f *failed) grpc() error { return status.Error(f.code, f.Error) }
