//go:build !unix

package queue

import (
	"errors"
	"os"
)

var errNoLock = errors.New("this system has no locks that end with their process: start a NATS server, and use psi batch submit")

func acquire(string) (*os.File, error) { return nil, errNoLock }

func locked(string) (bool, error) { return false, errNoLock }
