// Command passes times what a model does with rows that are in memory, without reading or writing files:
//
//	passes MODEL ROWS.csv N
//
// explains the first N rows, explains them with all pairwise interactions, and predicts ROWS over and over, and prints what
// that took as one line of JSON, in seconds and in CPU seconds: on one core they are the same unless the machine is busy.
// What is compiled on the first pass is not counted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "passes:", err)
		os.Exit(1) //nolint:forbidigo // a command, if not in cmd
	}
}

// costs of what was done.
type costs struct {
	Rows         int         `json:"rows"`
	Players      int         `json:"players"`
	Backend      psi.Backend `json:"backend"`
	Explain      cost        `json:"explain"`      // of all rows
	Interactions cost        `json:"interactions"` // of all rows, with all pairs
	Coalition    cost        `json:"coalition"`    // of one: a prediction
}

type cost struct {
	Wall float64 `json:"wall_seconds"`
	CPU  float64 `json:"cpu_seconds"`
}

// timed is what something costs, each of times of it.
func timed(do func() (times int, err error)) (cost, error) {
	before, err := cpu()
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	times, err := do()
	if err != nil {
		return cost{}, err
	}
	wall := time.Since(start)
	after, err := cpu()
	return cost{wall.Seconds() / float64(times), (after - before).Seconds() / float64(times)}, err
}

// cpu is the time that this process has had of all cores.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// predicted rows are at least this many, for a time that can be trusted.
const predicted = 20_000

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: passes MODEL ROWS.csv N")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of rows", args[2])
	}
	all, err := table.Read(ctx, args[1], table.Options{})
	if err != nil {
		return err
	}
	m, err := psi.Open(args[0])
	if err != nil {
		return err
	}
	defer m.Close()
	c := costs{Rows: min(n, all.Rows()), Players: len(m.Players()), Backend: m.Backend()}
	explain := func(o psi.ExplainOptions) (cost, error) {
		o.To = min(c.Rows, 60)
		if _, err := m.Explain(ctx, all.Source(), o); err != nil {
			return cost{}, err
		}
		o.To = c.Rows
		return timed(func() (int, error) {
			_, err := m.Explain(ctx, all.Source(), o)
			return 1, err
		})
	}
	if c.Explain, err = explain(psi.ExplainOptions{}); err != nil {
		return err
	}
	if c.Interactions, err = explain(psi.ExplainOptions{Interactions: true}); err != nil {
		return err
	}
	if _, err := m.Predict(ctx, all.Source()); err != nil {
		return err
	}
	c.Coalition, err = timed(func() (done int, err error) {
		for ; done < predicted && err == nil; done += all.Rows() {
			_, err = m.Predict(ctx, all.Source())
		}
		return done, err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(c)
}
