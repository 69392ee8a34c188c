// Command simulate puts empty units through a cluster of three real servers, each a process. Many workers take them and
// crash at random. It counts the fate of every unit: what the queue costs, and that it loses nothing.
//
//	go run ./batch/internal/queue/simulate -units 1000000 -workers 200 -crash 0.001
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/batch/internal/queue/cluster"
)

func main() {
	was, err := cluster.Main()
	if !was {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// trial holds the settings of a simulation.
type trial struct {
	Units   int     `json:"units"`
	Workers int     `json:"workers"`
	Crash   float64 `json:"crash"` // probability that a worker crashes on a unit
	Body    int     `json:"body_bytes"`
	AckWait float64 `json:"ack_wait_s"`
	Kill    bool    `json:"kill_leaders"`
	Seed    uint64  `json:"seed"`
}

func run() error {
	var t trial
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.IntVar(&t.Units, "units", 1_000_000, "units")
	flags.IntVar(&t.Workers, "workers", 200, "workers, each with a connection of its own")
	flags.Float64Var(&t.Crash, "crash", 0.001, "probability that a worker crashes on a unit that it has begun")
	flags.IntVar(&t.Body, "body", 300, "bytes of a unit")
	flags.Float64Var(&t.AckWait, "ack-wait", 30, "seconds after which a crashed worker's unit comes back")
	flags.BoolVar(&t.Kill, "kill", true, "kill -9 the leader of the stream after a third of the units, that of the consumer after two, and start them again 10 s later")
	flags.Uint64Var(&t.Seed, "seed", rand.Uint64(), "seed of the crashes")
	dir := flags.String("dir", "", "directory for the servers' state; a temporary one if empty")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "simulate")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	servers, err := cluster.Start(starting, *dir, 3)
	if err != nil {
		return err
	}
	defer servers.Stop()
	r, err := t.simulate(ctx, servers)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(r); err != nil {
		return err
	}
	if r.Lost > 0 {
		return fmt.Errorf("%d units were lost", r.Lost)
	}
	return nil
}

// simulate puts all units into the queue, runs the workers, and reports.
func (t *trial) simulate(ctx context.Context, servers *cluster.Cluster) (*report, error) {
	options := queue.Options{URL: servers.URL(), Name: "simulate", AckWait: time.Duration(t.AckWait * float64(time.Second))}
	q, err := queue.Connect(ctx, options)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := &report{Trial: *t}
	meter := watch(servers)
	defer meter.end()

	began, cost := time.Now(), meter.cpu()
	if r.Put, err = q.Put(ctx, job, t.bodies()); err != nil {
		return nil, err
	}
	r.Putting = stage(r.Put, began, cost, meter.cpu())
	r.DiskPut = meter.disk()
	r.ClientPut, _ = peakMemory(os.Getpid())
	note("put %d units: %.0f/s", r.Put, r.Putting.Rate)

	began = time.Now()
	if r.LeftPut, err = q.Left(ctx, job); err != nil {
		return nil, err
	}
	r.LeftSeconds = time.Since(began).Seconds()
	if err := t.cancelled(ctx, q, r); err != nil {
		return nil, err
	}

	f := newFloor(t, options)
	began, cost = time.Now(), meter.cpu()
	if err := f.work(ctx, q, servers); err != nil {
		return nil, err
	}
	r.Working = stage(t.Units, began, cost, meter.cpu())
	if r.LeftEnd, err = q.Left(ctx, job); err != nil {
		return nil, err
	}
	f.summarise(r)
	r.Memory = meter.end()
	return r, nil
}

// cancelled puts a job of a tenth of the units behind the first, and removes it again.
func (t *trial) cancelled(ctx context.Context, q *queue.Queue, r *report) error {
	const other = "cancelled"
	few := *t
	few.Units /= 10
	if _, err := q.Put(ctx, other, few.bodies()); err != nil {
		return err
	}
	began := time.Now()
	if err := q.Clear(ctx, other); err != nil {
		return err
	}
	r.ClearSeconds = time.Since(began).Seconds()
	left, err := q.Left(ctx, other)
	if err == nil && left != 0 {
		err = fmt.Errorf("%d units of a job that was cleared are left", left)
	}
	return err
}

func note(format string, a ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", a...)
}
