package examples

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The programs train a model, explain with it, stream, report and serve, one after the other.
func TestExamplesRun(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rng, rows := rand.New(rand.NewPCG(1, 1)), "size,garden,price\n"
	for i := range 200 {
		size := 20 + rng.IntN(180)
		rows += fmt.Sprintf("%d,%s,\"$%d,000\"\n", size, []string{"yes", "no"}[i%2], 1000+2*size)
	}
	if err := os.WriteFile(in("rows.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), in(name), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	run("train", in("rows.csv"), "price", in("model.psi"))
	if text := run("explain", in("model.psi"), in("rows.csv")); !strings.Contains(text, "prediction ") || !strings.Contains(text, "size = ") {
		t.Error(text)
	}
	run("stream", in("model.psi"), in("rows.csv"), in("explained.csv"))
	if text, err := os.ReadFile(in("explained.csv")); err != nil || strings.Count(string(text), "\n") != 201 {
		t.Errorf("explained.csv: %v\n%.300s", err, text)
	}
	run("report", in("model.psi"), in("rows.csv"), in("report.html"))
	if page, err := os.Stat(in("report.html")); err != nil || page.Size() < 100_000 {
		t.Errorf("report.html: %v, %v", page, err)
	}
	serves(t, in("serve"), in("model.psi"))
}

// serves asks the server for an explanation and ends it by an interrupt.
func serves(t *testing.T, program, model string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, program, address, model)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for ctx.Err() == nil && !strings.Contains(string(text), `"attributions"`) {
		time.Sleep(50 * time.Millisecond)
		if answer, err := http.Post("http://"+address+"/explain", "application/json", strings.NewReader(`{"rows": [[90, "yes"]]}`)); err == nil {
			text, _ = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
	}
	if ctx.Err() != nil {
		t.Errorf("no explanation in a minute: %s", text)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server did not end well: %v", err)
	}
}
