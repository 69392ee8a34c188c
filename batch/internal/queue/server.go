package queue

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Files beside the state of a server.
const (
	lockFile    = "lock"
	addressFile = "address.json" // readable by its owner only: it holds the token
)

// ErrRunning matches the error of a directory that another server uses.
var ErrRunning = errors.New("a queue is already running there")

// Server is a queue for one machine, inside this process. Only users who can read its directory can connect.
type Server struct {
	server *server.Server
	dir    string
	url    string
	lock   *os.File
	close  func()
}

// Start starts a server on this machine with its state in a directory. After a crash it continues there with all units that
// are not done.
func Start(dir string) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the queue's directory: %w", err)
	}
	lock, err := acquire(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("the queue in %s: %w", dir, err)
	}
	s := &Server{dir: dir, lock: lock}
	s.close = sync.OnceFunc(s.shutdown)
	if err := s.start(); err != nil {
		s.close()
		return nil, fmt.Errorf("the queue in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Server) start() error {
	token := rand.Text()
	embedded, err := server.NewServer(&server.Options{
		ServerName: "psi", Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: token,
		JetStream: true, StoreDir: s.dir, JetStreamMaxMemory: 64 << 20, NoSigs: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return err
	}
	s.server = embedded
	words := &firstError{}
	embedded.SetLoggerV2(words, false, false, false)
	go embedded.Start()
	if !embedded.ReadyForConnections(30*time.Second) || !embedded.JetStreamEnabled() {
		return fmt.Errorf("it does not start: %s", words.message())
	}
	s.url = (&url.URL{Scheme: "nats", User: url.User(token), Host: embedded.Addr().String()}).String()
	return writeAddress(s.dir, s.url)
}

// URL returns the address of the server with its token. It is a secret: pass it to workers by their environment or let them
// Find it, since all users of a machine can see the arguments of its processes.
func (s *Server) URL() string { return s.url }

// Close stops the server. Units that are not done stay in its directory.
func (s *Server) Close() error {
	s.close()
	return nil
}

func (s *Server) shutdown() {
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	_ = os.Remove(filepath.Join(s.dir, addressFile))
	_ = s.lock.Close()
}

// Find reports whether a server uses a directory, in this process or another, and returns its URL.
func Find(dir string) (address string, running bool, err error) {
	// A server that is starting has the lock before it has an address.
	for range 100 {
		isLocked, err := locked(filepath.Join(dir, lockFile))
		if err != nil || !isLocked {
			return "", false, err
		}
		content, err := os.ReadFile(filepath.Join(dir, addressFile))
		if err == nil {
			var at serverAddress
			if err := json.Unmarshal(content, &at); err != nil {
				return "", true, fmt.Errorf("%s is damaged: stop the program that runs the queue there, and start it again", filepath.Join(dir, addressFile))
			}
			return at.URL, true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", true, fmt.Errorf("the address of the queue: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", true, fmt.Errorf("the queue in %s has no address after 10 s: stop the program that runs it, and start it again", dir)
}

type serverAddress struct {
	URL string `json:"url"`
}

func writeAddress(dir, where string) error {
	content, err := json.Marshal(serverAddress{URL: where})
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(dir, addressFile+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), filepath.Join(dir, addressFile))
	}
	if err != nil {
		_ = os.Remove(draft.Name())
	}
	return err
}

// firstError keeps the first error that the embedded server logs, for the error of Start.
type firstError struct {
	mu   sync.Mutex
	text string
}

func (c *firstError) keep(format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text == "" {
		c.text = fmt.Sprintf(format, a...)
	}
}

func (c *firstError) message() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text == "" {
		return "it says nothing"
	}
	return c.text
}

func (c *firstError) Fatalf(format string, a ...any) { c.keep(format, a...) }
func (c *firstError) Errorf(format string, a ...any) { c.keep(format, a...) }
func (*firstError) Noticef(string, ...any)           {}
func (*firstError) Warnf(string, ...any)             {}
func (*firstError) Debugf(string, ...any)            {}
func (*firstError) Tracef(string, ...any)            {}
