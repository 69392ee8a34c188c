// Command load asks a server for predictions and attributions and says what that took:
//
//	load bare MODEL ROWS.csv            what passes cost without a server
//	load closed MODEL ROWS.csv          so many requests are always under way
//	load open MODEL ROWS.csv            requests come at a rate, whether the last are answered or not
//	load soak MODEL OTHER ROWS.csv      mixed requests for long, while MODEL's file is replaced by OTHER and back
//	load probe MODEL ROWS.csv           one row every -every over HTTP and gRPC, until the standard input ends
//	load hostile KIND                   a message over gRPC that is to be refused, -calls times at once
//	load hold METHOD                    calls over gRPC whose messages never end
//
// Each prints one line of JSON. Requests are made of random rows before the clock starts. Times count from when a request
// was to start, so that a server which falls behind cannot hide it. bench/serving.py runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:forbidigo // a command, if not in cmd
	}
}

// settings of all commands; each reads some.
type settings struct {
	http, grpc, metrics string
	form                form
	depth               string
	rows, connections   int
	rate                float64
	length, warm, limit time.Duration
	pid                 int
	seed                uint64

	place, csv     string
	every          time.Duration
	share, aborted float64
	bursts, slow   int

	in           io.Reader // of a probe
	token        string
	calls        int
	bytes, claim int64
}

// authorization is the header of requests; "" if there is no token.
func (s *settings) authorization() string {
	if s.token == "" {
		return ""
	}
	return "Bearer " + s.token
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	commands := map[string]struct {
		files int
		do    func(ctx context.Context, s *settings, files []string) (any, error)
	}{
		"bare": {2, bare}, "closed": {2, closed}, "open": {2, open}, "soak": {3, soak}, "probe": {2, probe}, "hostile": {1, hostile}, "hold": {1, hold},
	}
	if len(args) == 0 || commands[args[0]].do == nil {
		return errors.New("usage: load bare|closed|open|soak|probe|hostile|hold …")
	}
	command := commands[args[0]]
	s := settings{in: in}
	tokenFile := ""
	flags := flag.NewFlagSet("load "+args[0], flag.ContinueOnError)
	flags.StringVar(&s.http, "http", "", "the server's address for HTTP")
	flags.StringVar(&s.grpc, "grpc", "", "the server's address for gRPC")
	flags.StringVar(&s.metrics, "metrics", "", "the server's address for metrics")
	flags.TextVar(&s.form, "form", gRPC, "grpc (raw tensors), json (V2), binary (V2) or rows (JSON rows to /explain)")
	flags.StringVar(&s.depth, "ask", "attributions", "values, spread or attributions")
	flags.IntVar(&s.rows, "rows", 64, "rows of a request")
	flags.IntVar(&s.connections, "connections", 8, "to the server; of a closed loop also requests in progress")
	flags.Float64Var(&s.rate, "rate", 0, "requests a second of an open loop; of a soak, 0 is a share of what the server can do")
	flags.DurationVar(&s.length, "for", 10*time.Second, "how long it is measured")
	flags.DurationVar(&s.warm, "warm", 2*time.Second, "how long it runs before that")
	flags.DurationVar(&s.limit, "timeout", 10*time.Second, "of a request")
	flags.IntVar(&s.pid, "pid", 0, "the server's process, whose CPU time counts")
	flags.Uint64Var(&s.seed, "seed", 1, "of the rows")
	flags.StringVar(&s.place, "replace", "", "model file that a soak replaces; the server serves it")
	flags.StringVar(&s.csv, "samples", "", "file for what a soak sees each second")
	flags.DurationVar(&s.every, "every", 10*time.Second, "time between a soak's replacements of the model file, or between a probe's requests")
	flags.Float64Var(&s.share, "share", .7, "of what the server can do: the rate of a soak")
	flags.Float64Var(&s.aborted, "aborted", .02, "share of a soak's requests that are broken off by the caller")
	flags.IntVar(&s.bursts, "bursts", 2, "of a soak: for 3 s, ten times the rate")
	flags.IntVar(&s.slow, "slow", 20, "connections of a soak that send a byte a second")
	flags.Int64Var(&s.bytes, "bytes", 1<<30, "of a hostile message; for columns, their number; of a held call, those that are sent")
	flags.StringVar(&tokenFile, "token-file", "", "file with the bearer token that requests send")
	flags.IntVar(&s.calls, "calls", 1, "hostile or held calls at once")
	flags.Int64Var(&s.claim, "claim", 0, "length that the message of a held call claims; 0 sends nothing at all")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() != command.files {
		return fmt.Errorf("load %s takes %d arguments after its flags", args[0], command.files)
	}
	if s.rows < 1 || s.connections < 1 || s.length <= 0 {
		return errors.New("rows, connections and the time to measure must be above 0")
	}
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return err
		}
		s.token = strings.TrimSpace(string(token))
	}
	answer, err := command.do(ctx, &s, flags.Args())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer)
}
