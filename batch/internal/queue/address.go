package queue

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// address holds the servers. Only the field servers contains passwords and tokens; String is safe to show.
type address struct {
	servers string
	hosts   []string
	secrets []string
}

func (a address) String() string { return strings.Join(a.hosts, ",") }

// parseAddress parses a list of server URLs. It does not return errors of url.Parse, since they quote the password.
func parseAddress(text string) (address, error) {
	var a address
	var servers []string
	for i, server := range strings.Split(text, ",") {
		server = strings.TrimSpace(server)
		if server == "" {
			return address{}, errors.New("the queue has no address: give it as nats://host:4222")
		}
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Host == "" {
			return address{}, fmt.Errorf("address %d of the queue is not a URL such as nats://user:password@host:4222; letters of a password other than A-Z, a-z, 0-9 must be written as %%XX", i+1)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return address{}, fmt.Errorf("the queue at %s cannot be reached by %s: use nats:// or tls://", u.Host, u.Scheme)
		}
		if u.User != nil {
			password, _ := u.User.Password()
			if password == "" {
				password = u.User.Username() // alone it is a token
			}
			a.secrets = append(a.secrets, password, url.QueryEscape(password), url.PathEscape(password))
		}
		servers = append(servers, u.String())
		a.hosts = append(a.hosts, u.Scheme+"://"+u.Host)
	}
	a.servers = strings.Join(servers, ",")
	return a, nil
}

// Hosts returns the URL of a queue without passwords and tokens.
func Hosts(servers string) (string, error) {
	a, err := parseAddress(servers)
	return a.String(), err
}

// redact removes the secrets from an error text of the NATS library.
func (a address) redact(text string) string {
	for _, secret := range a.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return text
}

// settings returns the options of the connection. It buffers nothing while it is disconnected: callers repeat what must not
// be lost, and an old heartbeat is useless.
func (q *Queue) settings(o Options) ([]nats.Option, error) {
	for _, file := range []string{o.Credentials, o.CA, o.Certificate, o.Key} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("credentials for the queue: %w", err)
		}
	}
	if (o.Certificate == "") != (o.Key == "") {
		return nil, errors.New("a certificate for the queue needs its key, and a key its certificate: give both files")
	}
	settings := []nats.Option{
		nats.Name(o.Name), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second), nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				q.log(fmt.Sprintf("lost the queue at %s: %s; trying again", q.address, q.address.redact(err.Error())))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { q.log("found the queue again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				err = fmt.Errorf("the queue at %s does not allow it: %s; give this user the rights in docs/operations.md", q.address, q.address.redact(err.Error()))
				q.denied.Store(&err)
			}
		}),
	}
	if o.Credentials != "" {
		settings = append(settings, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		settings = append(settings, nats.RootCAs(o.CA))
	}
	if o.Certificate != "" {
		settings = append(settings, nats.ClientCert(o.Certificate, o.Key))
	}
	return settings, nil
}
