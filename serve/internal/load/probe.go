package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// probed is what a caller saw who asked for one row at a steady pace.
type probed struct {
	HTTP       seen   `json:"http"` // attributions of a row
	GRPC       seen   `json:"grpc"`
	HealthHTTP seen   `json:"health_http"` // whether the server is ready, asked without a token
	HealthGRPC seen   `json:"health_grpc"`
	First      string `json:"first_failure"`
}

// seen counts requests of one kind; times are those of answered ones, from when they were to start.
type seen struct {
	Asked    int             `json:"asked"`
	Answered int             `json:"answered"`
	Outcomes map[outcome]int `json:"outcomes"`
	P50      float64         `json:"p50_ms"`
	P99      float64         `json:"p99_ms"`
	Max      float64         `json:"max_ms"`
}

// healthEvery is how many requests come between two questions for health.
const healthEvery = 5

// probe asks for one row's attributions over HTTP and gRPC until the standard input ends, and checks every answer. Requests
// count from the first byte of the input on.
func probe(ctx context.Context, s *settings, files []string) (any, error) {
	if s.http == "" || s.grpc == "" {
		return nil, errors.New("a probe needs --http and --grpc")
	}
	pools, err := probes(ctx, s, files)
	if err != nil {
		return nil, err
	}
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	start := time.Now()
	pacing, stop := context.WithTimeout(ctx, s.length)
	defer stop()
	counted := make(chan time.Duration, 1)
	go func() {
		defer stop()
		b := make([]byte, 1)
		for {
			if _, err := s.in.Read(b); err != nil {
				return
			}
			select {
			case counted <- time.Since(start):
			default:
			}
		}
	}()
	kinds := []struct {
		every time.Duration
		ask   func(ctx context.Context, i int) error
	}{
		{s.every, c.inTurn(pools[rowsForm])},
		{s.every, c.inTurn(pools[gRPC])},
		{healthEvery * s.every, func(ctx context.Context, _ int) error { return c.readyHTTP(ctx) }},
		{healthEvery * s.every, func(ctx context.Context, _ int) error { return c.readyGRPC(ctx) }},
	}
	logs := make([]log, len(kinds))
	var requests sync.WaitGroup
	for k, kind := range kinds {
		logs[k].start = start
		requests.Go(func() {
			rate := float64(time.Second) / float64(kind.every)
			paced(pacing, start.Add(s.length), func(time.Duration) float64 { return rate }, func(i int, scheduled time.Time) {
				ctx, cancel := context.WithDeadline(ctx, scheduled.Add(s.limit))
				defer cancel()
				logs[k].add(scheduled, kind.ask(ctx, i))
			})
		})
	}
	requests.Wait()
	from := time.Duration(0)
	select {
	case from = <-counted:
	default:
	}
	found := &probed{}
	for k, to := range []*seen{&found.HTTP, &found.GRPC, &found.HealthHTTP, &found.HealthGRPC} {
		*to = logs[k].seen(from)
		if found.First == "" && logs[k].first != nil {
			found.First = firstBytes(logs[k].first.Error())
		}
	}
	return found, nil
}

// probes are requests of one row in two forms, with what the model predicts for them.
func probes(ctx context.Context, s *settings, files []string) (map[form][]*request, error) {
	m, err := psi.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer m.Close()
	sheet, err := readSheet(ctx, m, files[1], s.seed)
	if err != nil {
		return nil, err
	}
	sheet.model = modelName(files[0])
	pools := map[form][]*request{}
	for _, f := range []form{rowsForm, gRPC} {
		for range pooled {
			r, err := sheet.checked(ctx, f, psi.Attributions, 1, m)
			if err != nil {
				return nil, err
			}
			pools[f] = append(pools[f], r)
		}
	}
	return pools, nil
}

// seen counts the requests that were to start after a time.
func (l *log) seen(from time.Duration) seen {
	later := log{}
	for _, e := range l.all {
		if e.scheduled >= from {
			later.all = append(later.all, e)
		}
	}
	r := later.result(0, 1<<62, 1)
	return seen{len(later.all), r.Outcomes[answered], r.Outcomes, r.P50, r.P99, r.Max}
}

// inTurn asks one request after the other.
func (c *client) inTurn(pool []*request) func(ctx context.Context, i int) error {
	return func(ctx context.Context, i int) error {
		_, err := c.sendChecked(ctx, pool[i%len(pool)])
		return err
	}
}

func (c *client) readyHTTP(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v2/health/ready", http.NoBody)
	if err != nil {
		return err
	}
	got, err := c.web.Do(q)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return &statusError{got.StatusCode, ""}
	}
	return nil
}

func (c *client) readyGRPC(ctx context.Context) error {
	var question, reply []byte
	return c.calls[0].Invoke(ctx, service+"ServerLive", &question, &reply)
}
