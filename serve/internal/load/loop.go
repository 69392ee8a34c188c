package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// result of a loop.
type result struct {
	Loop        string          `json:"loop"`
	Form        form            `json:"form"`
	Ask         string          `json:"ask"`
	RequestRows int             `json:"request_rows"`
	Connections int             `json:"connections"`
	Rate        float64         `json:"rate"` // that was asked for; 0 in a closed loop
	Seconds     float64         `json:"seconds"`
	Outcomes    map[outcome]int `json:"outcomes"` // of what ended within these seconds
	Requests    float64         `json:"requests_per_second"`
	Rows        float64         `json:"rows_per_second"`
	P50         float64         `json:"p50_ms"` // of answered requests, from when they were to start
	P99         float64         `json:"p99_ms"`
	P999        float64         `json:"p999_ms"`
	Max         float64         `json:"max_ms"`
	Server      float64         `json:"server_cpu_us_per_row"`
	Generator   float64         `json:"generator_cpu_us_per_row"`
}

// setup is what a loop needs: a client and requests.
func setup(ctx context.Context, s *settings, files []string) (*client, []*request, error) {
	if s.form == gRPC && s.grpc == "" || s.form != gRPC && s.http == "" {
		return nil, nil, fmt.Errorf("requests of the form %s need the server's address: --http or --grpc", s.form)
	}
	m, err := psi.OpenOptions{Backend: psi.Go}.Open(files[0])
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	sheet, err := readSheet(ctx, m, files[1], s.seed)
	if err != nil {
		return nil, nil, err
	}
	sheet.model = modelName(files[0])
	depth, err := depthOf(s.depth)
	if err != nil {
		return nil, nil, err
	}
	var pool []*request
	for range pooled {
		r, err := sheet.request(s.form, depth, sheet.draw(s.rows))
		if err != nil {
			return nil, nil, err
		}
		pool = append(pool, r)
	}
	c, err := dial(s)
	return c, pool, err
}

func modelName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".psi") }

func depthOf(word string) (psi.Depth, error) {
	for _, d := range depths() {
		if d.String() == word {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%q is none of values, spread and attributions", word)
}

// ended is a request that came to its end.
type ended struct {
	scheduled, done time.Duration // since the start
	outcome         outcome
}

// log gathers what ended.
type log struct {
	start time.Time
	mu    sync.Mutex
	all   []ended
	first error // that was no refusal
}

func (l *log) add(scheduled time.Time, err error) {
	e := ended{scheduled.Sub(l.start), time.Since(l.start), outcomeOf(err)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	if l.first == nil && e.outcome != answered && e.outcome != refused {
		l.first = err
	}
}

// closed keeps so many requests in progress.
func closed(ctx context.Context, s *settings, files []string) (any, error) {
	return measure(ctx, s, files, "closed", func(ctx context.Context, until time.Time, send func(i int, scheduled time.Time)) {
		var workers sync.WaitGroup
		for w := range s.connections {
			workers.Go(func() {
				for i := w; time.Now().Before(until); i += s.connections {
					send(i, time.Now())
				}
			})
		}
		workers.Wait()
	})
}

// open sends requests at a rate.
func open(ctx context.Context, s *settings, files []string) (any, error) {
	if s.rate <= 0 {
		return nil, errors.New("an open loop needs a --rate above 0")
	}
	return measure(ctx, s, files, "open", func(ctx context.Context, until time.Time, send func(i int, scheduled time.Time)) {
		paced(ctx, until, func(time.Duration) float64 { return s.rate }, send)
	})
}

// paced starts requests at a rate that may change with time, and waits until all have ended. It never waits for one of them
// to start the next.
func paced(ctx context.Context, until time.Time, rate func(since time.Duration) float64, send func(i int, scheduled time.Time)) {
	var under sync.WaitGroup
	start := time.Now()
	scheduled := start
	for i := 0; scheduled.Before(until) && ctx.Err() == nil; i++ {
		time.Sleep(time.Until(scheduled))
		at := scheduled
		under.Go(func() { send(i, at) })
		scheduled = scheduled.Add(time.Duration(float64(time.Second) / rate(scheduled.Sub(start))))
	}
	under.Wait()
}

type looping func(ctx context.Context, until time.Time, send func(i int, scheduled time.Time))

func measure(ctx context.Context, s *settings, files []string, name string, loop looping) (any, error) {
	c, pool, err := setup(ctx, s, files)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.send(ctx, pool[0]); err != nil {
		return nil, err
	}
	l := &log{start: time.Now()}
	var watching sync.WaitGroup
	var server, mine [2]time.Duration
	var failed error
	watching.Go(func() {
		for i, at := range []time.Duration{s.warm, s.warm + s.length} {
			time.Sleep(time.Until(l.start.Add(at)))
			var errs [2]error
			server[i], errs[0] = used(s.pid)
			mine[i], errs[1] = own()
			failed = errors.Join(failed, errs[0], errs[1])
		}
	})
	loop(ctx, l.start.Add(s.warm+s.length), func(i int, scheduled time.Time) {
		ctx, cancel := context.WithDeadline(ctx, scheduled.Add(s.limit))
		defer cancel()
		_, err := c.send(ctx, pool[i%len(pool)])
		l.add(scheduled, err)
	})
	watching.Wait()
	if failed != nil {
		return nil, failed
	}
	r := l.result(s.warm, s.warm+s.length, s.rows)
	r.Loop, r.Form, r.Ask, r.RequestRows, r.Connections, r.Rate = name, s.form, s.depth, s.rows, s.connections, s.rate
	rows := r.Rows * r.Seconds
	r.Server, r.Generator = micro(server[1]-server[0])/rows, micro(mine[1]-mine[0])/rows
	if rows == 0 {
		return nil, fmt.Errorf("no request was answered: %v %w", r.Outcomes, l.first)
	}
	return r, nil
}

// result of what lies between two times.
func (l *log) result(from, to time.Duration, rows int) *result {
	r := &result{Outcomes: map[outcome]int{}, Seconds: (to - from).Seconds()}
	var took []time.Duration
	for _, e := range l.all {
		if e.done >= from && e.done < to {
			r.Outcomes[e.outcome]++
		}
		if e.scheduled >= from && e.scheduled < to && e.outcome == answered {
			took = append(took, e.done-e.scheduled)
		}
	}
	r.Requests = float64(r.Outcomes[answered]) / r.Seconds
	r.Rows = r.Requests * float64(rows)
	slices.Sort(took)
	r.P50, r.P99, r.P999, r.Max = quantile(took, .5), quantile(took, .99), quantile(took, .999), quantile(took, 1)
	return r
}

// quantile of sorted times, in milliseconds: the smallest that so large a share does not exceed.
func quantile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return micro(sorted[max(at, 0)]) / 1000
}
