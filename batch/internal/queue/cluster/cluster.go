// Package cluster runs NATS servers as processes of their own, so that tests and measurements can kill them.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// environment is the variable that makes a process a server of a cluster.
const environment = "PSI_QUEUE_NODE"

// plan is the configuration of a server.
type plan struct {
	Name   string
	Dir    string
	Port   int
	Route  int
	Routes []string
}

// Main runs a server if this process is meant to be one, and reports whether it was. Programs that call Start must call it
// first.
func Main() (bool, error) {
	text := os.Getenv(environment)
	if text == "" {
		return false, nil
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return true, err
	}
	o := &server.Options{
		ServerName: p.Name, Host: "127.0.0.1", Port: p.Port, JetStream: true, StoreDir: p.Dir, NoSigs: true,
		LogFile: filepath.Join(p.Dir, "log"),
	}
	if len(p.Routes) > 1 {
		o.Cluster = server.ClusterOpts{Name: "psi", Host: "127.0.0.1", Port: p.Route}
		o.Routes = server.RoutesFromStr(strings.Join(p.Routes, ","))
	}
	s, err := server.NewServer(o)
	if err != nil {
		return true, err
	}
	s.ConfigureLogger()
	go s.Start()
	// It ends with the process that started it.
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return true, err
}

// Cluster is a set of servers.
type Cluster struct{ Nodes []*Node }

// Node is one server, running or killed.
type Node struct {
	plan    plan
	command *exec.Cmd
	leash   io.Closer
}

// Start starts n servers with their state below a directory, and waits until they accept streams.
func Start(ctx context.Context, dir string, n int) (*Cluster, error) {
	ports, err := freePorts(ctx, 2*n)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, port := range ports[n:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	c := &Cluster{}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		p := plan{Name: name, Dir: filepath.Join(dir, name), Port: ports[i], Route: ports[n+i], Routes: routes}
		node := &Node{plan: p}
		c.Nodes = append(c.Nodes, node)
		if err := node.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.await(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// await waits until the cluster answers that it is ready for streams.
func (c *Cluster) await(ctx context.Context) error {
	for {
		_, err := c.Leader(ctx, "ANY", "")
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the servers do not get ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Leader returns the server that leads a stream or, if one is named, a consumer of it. The two may differ.
func (c *Cluster) Leader(ctx context.Context, stream, consumer string) (*Node, error) {
	connection, err := nats.Connect(c.URL(), nats.Timeout(time.Second))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info := s.CachedInfo().Cluster
	if consumer != "" {
		w, err := s.Consumer(ctx, consumer)
		if err != nil {
			return nil, err
		}
		info = w.CachedInfo().Cluster
	}
	if info != nil {
		for _, node := range c.Nodes {
			if node.plan.Name == info.Leader {
				return node, nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s has no leader", stream, consumer)
}

// URL returns the addresses of the servers.
func (c *Cluster) URL() string {
	all := make([]string, 0, len(c.Nodes))
	for _, node := range c.Nodes {
		all = append(all, (&url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", node.plan.Port)}).String())
	}
	return strings.Join(all, ",")
}

// Stop kills all servers.
func (c *Cluster) Stop() {
	for _, node := range c.Nodes {
		node.Kill()
	}
}

// Start starts a server, also after Kill.
func (n *Node) Start() error {
	if err := os.MkdirAll(n.plan.Dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(n.plan)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(program) //nolint:noctx // it ends by Kill, or with this process
	command.Env = append(os.Environ(), environment+"="+string(text))
	command.Stderr = os.Stderr
	leash, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	n.command, n.leash = command, leash
	return nil
}

// Kill ends a server as kill -9 does.
func (n *Node) Kill() {
	if n.command == nil {
		return
	}
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
	_ = n.leash.Close()
	n.command = nil
}

// Process returns the process id of the server; 0 if it was killed.
func (n *Node) Process() int {
	if n.command == nil {
		return 0
	}
	return n.command.Process.Pid
}

// Dir returns the directory of the server's state.
func (n *Node) Dir() string { return n.plan.Dir }

func (n *Node) String() string { return n.plan.Name }

// freePorts chooses free ports. All stay open until the last is chosen, so that none is chosen twice.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for range n {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
