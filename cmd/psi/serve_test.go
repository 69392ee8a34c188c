package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server says where it listens, answers what psi predict says, and ends with 0 when it is told to.
func TestServe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	for _, web := range []string{"127.0.0.1:0", "unix:" + socket} {
		out, in := io.Pipe()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan int, 1)
		go func() {
			p := &program{stdin: strings.NewReader(""), stdout: in, stderr: io.Discard}
			ended <- p.run(ctx, []string{"serve", fixtures.model, "--json", "--http", web, "--grpc", "127.0.0.1:0", "--metrics", ""})
			_ = in.Close() // of a pipe: it never fails
		}()
		var ready serveDocument
		if err := json.NewDecoder(out).Decode(&ready); err != nil || ready.Schema != "psi.serving/v1" || len(ready.Models) != 1 || ready.Metrics != "" {
			t.Fatalf("%+v %v", ready, err)
		}
		client, address := http.DefaultClient, "http://"+ready.HTTP
		if web != "127.0.0.1:0" {
			if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v %v", info, err)
			}
			client, address = overSocket(socket), "http://localhost"
		}
		response, err := client.Post(address+"/v1/models/"+ready.Models[0]+":predict", "application/json", strings.NewReader(`{"instances": [[0.5, null, 1]]}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"predictions":[`) {
			t.Errorf("%d %s %v", response.StatusCode, answer, err)
		}
		_ = response.Body.Close()
		client.CloseIdleConnections()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}

// With --until-eof the end of standard input, which no process can fail to leave behind, is the end of the server.
func TestServeUntilEOF(t *testing.T) {
	stdin, parent := io.Pipe()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		p := &program{stdin: stdin, stdout: in, stderr: io.Discard}
		ended <- p.run(t.Context(), []string{"serve", fixtures.model, "--json", "--until-eof", "--http", "127.0.0.1:0", "--grpc", "", "--metrics", ""})
		_ = in.Close() // of a pipe: it never fails
	}()
	var ready serveDocument
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		t.Fatalf("it ended with %d while its input was open", code)
	case <-time.After(200 * time.Millisecond):
	}
	_ = parent.Close() // of a pipe: it never fails
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on after the end of its input")
	}
}

// overSocket asks a server that listens at a path.
func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

// What cannot be served is told before anything listens.
func TestServeRefuses(t *testing.T) {
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "needs a model", nil},
		{2, "64MiB", []string{fixtures.model, "--max-body", "large"}},
		{1, "no such file", []string{fixtures.model + ".none"}},
		{1, "--token-file", []string{fixtures.model, "--http", "0.0.0.0:0"}},
		{1, "key", []string{fixtures.model, "--tls-cert", fixtures.model}},
		{1, "nothing to listen", []string{fixtures.model, "--http", "", "--grpc", ""}},
	} {
		o := run(t, append([]string{"serve"}, c.args...)...)
		if o.code != c.code || !strings.Contains(inOneLine(o.stderr), c.want) {
			t.Errorf("%v: exit %d, want %d and %q\n%s", c.args, o.code, c.code, c.want, o.stderr)
		}
	}
}

// A token is two lines: one for the caller, one for the file.
func TestToken(t *testing.T) {
	o := mustRun(t, "token", "reports", "--allow", "infer,metrics")
	secret, line, _ := strings.Cut(strings.TrimSpace(o.stdout), "\n")
	if !strings.HasPrefix(secret, "psi_") || !strings.HasPrefix(line, "reports infer,metrics sha256:") || strings.Contains(line, secret) {
		t.Errorf("%q", o.stdout)
	}
	wantJSON(t, mustRun(t, "token", "reports", "--json"), "psi.token/v1")
	if o := run(t, "token", "reports", "--allow", "everything"); o.code != 2 {
		t.Errorf("%+v", o)
	}
}
