package serve

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/psi-shapley/psi/serve/internal/auth"
)

// listen opens an address: HOST:PORT, or unix:PATH for a socket that only its owner can open.
func listen(ctx context.Context, address string, limit int) (net.Listener, error) {
	var config net.ListenConfig
	path, local := strings.CutPrefix(address, "unix:")
	if !local {
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return newLimited(l, limit), nil
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
	return newLimited(l, limit), nil
}

// removeStale removes the socket of a killed server. A socket that answers, and any other file, stays.
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

// Limits of connections that have had no request admitted ("unproven").
const (
	maxUnproven   = 64  // older than unprovenGrace, for each address
	maxNew        = 384 // of any age, for each address
	unprovenGrace = 2 * time.Second
	unprovenBurst = 16 << 10 // bytes read at once: more than the header of a request
	unprovenRate  = 4 << 10  // bytes read per second after that
)

// limited is a listener with a maximum number of connections; further ones wait in the queue of the system. Each address may
// have a few unproven connections: when more come, the oldest are closed. So a stranger costs a bounded amount of memory.
type limited struct {
	net.Listener
	held  chan struct{} // full when no more are allowed
	once  sync.Once
	ended chan struct{}

	mu       sync.Mutex
	unproven map[string]*list.List // of *counted, by address, the oldest in front
}

func newLimited(l net.Listener, limit int) *limited {
	return &limited{Listener: l, held: make(chan struct{}, limit), ended: make(chan struct{}), unproven: map[string]*list.List{}}
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
	counted := &counted{Conn: c, limits: l, proven: make(chan struct{}), since: time.Now()}
	if _, local := c.RemoteAddr().(*net.UnixAddr); !local { // only its owner can open a Unix socket
		l.add(counted, auth.AddressKey(c.RemoteAddr().String()))
	} else {
		close(counted.proven)
	}
	return counted, nil
}

// add registers an unproven connection, and closes the oldest ones of its address if there are too many. Callers that
// connect all at once have unprovenGrace to send a request.
func (l *limited) add(c *counted, address string) {
	var old []*counted
	l.mu.Lock()
	all := l.unproven[address]
	if all == nil {
		all = list.New()
		l.unproven[address] = all
	}
	for at := all.Front(); at != nil && all.Len()-len(old) >= maxUnproven; at = at.Next() {
		oldest := at.Value.(*counted)
		if c.since.Sub(oldest.since) < unprovenGrace && all.Len()-len(old) < maxNew {
			break
		}
		old = append(old, oldest)
	}
	c.address, c.place = address, all.PushBack(c)
	l.mu.Unlock()
	for _, oldest := range old {
		_ = oldest.Close() // it is gone in any case
	}
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// counted is a connection that frees its place when it is closed. Until a request of it was admitted, it is read slowly. So
// a client that never reads its answers makes the server hold little.
type counted struct {
	net.Conn
	once   sync.Once
	limits *limited

	proven chan struct{} // closed when a request was admitted or the connection is closed
	since  time.Time     // when it was accepted
	read   int64         // bytes

	address string        // key among the unproven
	place   *list.Element // position among the unproven, nil if proven; guarded by limits.mu
}

// Read limits the rate of an unproven connection.
func (c *counted) Read(p []byte) (int, error) {
	select {
	case <-c.proven:
		return c.Conn.Read(p)
	default:
	}
	const least = 1 << 10 // minimum bytes of a read
	granted := unprovenBurst + int64(unprovenRate*time.Since(c.since).Seconds()) - c.read
	if granted < least {
		wait := time.NewTimer(time.Duration(least-granted) * time.Second / unprovenRate)
		defer wait.Stop()
		select {
		case <-c.proven:
			return c.Conn.Read(p)
		case <-wait.C:
			granted = least
		}
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), granted)])
	c.read += int64(n)
	return n, err
}

// prove records that a request of the connection was admitted.
func (c *counted) prove() {
	c.limits.mu.Lock()
	defer c.limits.mu.Unlock()
	if c.place == nil {
		return
	}
	all := c.limits.unproven[c.address]
	all.Remove(c.place)
	if c.place = nil; all.Len() == 0 {
		delete(c.limits.unproven, c.address)
	}
	close(c.proven)
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.prove()
		<-c.limits.held
	})
	return c.Conn.Close()
}

// connectionKey is the context key of the connection of an HTTP request.
type connectionKey struct{}

// withConnection puts a connection into the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, is := c.(*tls.Conn); is {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// prove records that a request with this context was admitted.
func prove(ctx context.Context) {
	if c, is := ctx.Value(connectionKey{}).(*counted); is {
		c.prove()
	}
}
