package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
)

// listen opens an address: HOST:PORT, or unix:PATH for a socket that its owner alone can open.
func listen(ctx context.Context, address string, most int) (net.Listener, error) {
	var config net.ListenConfig
	path, local := strings.CutPrefix(address, "unix:")
	if !local {
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return newLimited(l, most), nil
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return newLimited(l, most), nil
}

// removeStale removes the socket that a server left behind which was killed; one that answers, and any other file, stays.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is there and no socket: choose another path", path)
	}
	var dialer net.Dialer
	if c, err := dialer.DialContext(ctx, "unix", path); err == nil {
		return errors.Join(fmt.Errorf("a server answers at %s already: stop it or choose another path", path), c.Close())
	}
	return os.Remove(path)
}

// limited holds so many connections at a time; the next wait in the system's own queue.
type limited struct {
	net.Listener
	held  chan struct{} // full when no more may come
	once  sync.Once
	ended chan struct{}
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, held: make(chan struct{}, most), ended: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.held <- struct{}{}:
	case <-l.ended:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.held
		return nil, err
	}
	return &counted{Conn: c, end: func() { <-l.held }}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// counted is a connection that makes room for another when it ends.
type counted struct {
	net.Conn
	once sync.Once
	end  func()
}

func (c *counted) Close() error {
	c.once.Do(c.end)
	return c.Conn.Close()
}
