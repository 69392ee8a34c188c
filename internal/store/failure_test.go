package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/psi-shapley/psi/internal/store"
)

func TestPassing(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{store.ErrChanged, false},
		{store.ErrNotFound, false},
		{fs.ErrPermission, false},
		{context.Canceled, false},
		{context.DeadlineExceeded, true},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, false},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}, true},
		{&os.PathError{Op: "read", Path: "x", Err: syscall.ESTALE}, true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, true},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, false},
		{io.ErrUnexpectedEOF, false}, // of a damaged file
		{errors.New("anything"), false},
	} {
		if got := store.IsTransient(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
		if c.err != nil && store.IsTransient(fmt.Errorf("in a table: %w", c.err)) != c.want {
			t.Errorf("%v differs when it is wrapped", c.err)
		}
	}
}
