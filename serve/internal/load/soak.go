package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// soaked is what a soak found.
type soaked struct {
	Seconds   float64         `json:"seconds"`
	Capacity  float64         `json:"capacity_requests_per_second"` // of the same mixture, in a closed loop, for a few seconds
	Rate      float64         `json:"rate"`
	Bursts    int             `json:"bursts"`
	Swaps     int             `json:"swaps"`
	Outcomes  map[outcome]int `json:"outcomes"` // of the requests
	First     string          `json:"first_failure"`
	Aborted   int             `json:"aborted"` // requests that were to be broken off
	Slow      map[string]int  `json:"slow"`    // ends of the slow connections
	Silent    int             `json:"silent"`  // seconds in which the server did not tell its metrics
	P50       float64         `json:"p50_ms"`  // outside of bursts
	P99       float64         `json:"p99_ms"`
	Answers   [2]int          `json:"answers"` // of each model
	SamplesAt string          `json:"samples"`
}

const (
	burst      = 3 * time.Second
	burstTimes = 10
	calibrated = 5 * time.Second
)

// soak keeps a server busy with all kinds of requests while its model is replaced again and again, and checks every answer.
func soak(ctx context.Context, s *settings, files []string) (any, error) {
	if s.place == "" || s.csv == "" || s.http == "" || s.grpc == "" || s.metrics == "" {
		return nil, errors.New("a soak needs --http, --grpc, --metrics, --replace and --samples")
	}
	pool, err := mixture(ctx, s, files)
	if err != nil {
		return nil, err
	}
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	k := &soaking{s: s, client: c, pool: pool, random: rand.New(rand.NewPCG(s.seed, 1)), log: log{start: time.Now()}}
	found := &soaked{Seconds: s.length.Seconds(), Rate: s.rate, Bursts: s.bursts, SamplesAt: filepath.Base(s.csv)}
	if found.Capacity, err = k.capacity(ctx); err != nil {
		return nil, err
	}
	if found.Rate == 0 {
		found.Rate = s.share * found.Capacity
	}
	k.start = time.Now()
	beside, stop := context.WithCancel(ctx)
	defer stop()
	var others sync.WaitGroup
	others.Go(func() { found.Swaps, err = k.swap(beside, files[:2]) })
	var sampled error
	others.Go(func() { found.Silent, sampled = k.sample(beside) })
	crawl := crawlers{http: s.http, grpc: s.grpc, ends: map[string]int{}}
	for i := range s.slow {
		others.Go(func() { crawl.crawl(beside, i) })
	}
	paced(ctx, k.start.Add(s.length), func(since time.Duration) float64 {
		if s.inBurst(since) {
			return burstTimes * found.Rate
		}
		return found.Rate
	}, func(_ int, scheduled time.Time) { k.ask(ctx, scheduled) })
	stop()
	others.Wait()
	if err := errors.Join(err, sampled); err != nil {
		return nil, err
	}
	k.report(found)
	found.Slow = crawl.ends
	return found, nil
}

// inBurst tells whether a time lies in a burst; these divide the soak into equal parts.
func (s *settings) inBurst(since time.Duration) bool {
	for i := range s.bursts {
		at := s.length * time.Duration(i+1) / time.Duration(s.bursts+1)
		if since >= at && since < at+burst {
			return true
		}
	}
	return false
}

// mixture makes requests of all forms, depths and sizes, with what both models say to them.
func mixture(ctx context.Context, s *settings, files []string) ([]*request, error) {
	first, err := psi.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, err := psi.Open(files[1])
	if err != nil {
		return nil, err
	}
	defer second.Close()
	sheet, err := readSheet(ctx, first, files[2], s.seed)
	if err != nil {
		return nil, err
	}
	sheet.model = modelName(s.place)
	var pool []*request
	for _, f := range []form{gRPC, gRPC, jsonForm, binaryForm, rowsForm} {
		for _, depth := range append(depths(), psi.Attributions) {
			if f == rowsForm {
				depth = psi.Attributions
			}
			for _, rows := range []int{1, 1, 1, 8, 64} {
				r, err := sheet.checked(ctx, f, depth, rows, first, second)
				if err != nil {
					return nil, err
				}
				if near(r.right[0], r.right[1]) {
					return nil, errors.New("the two models predict the same, so answers would not show which of them gave them")
				}
				pool = append(pool, r)
			}
		}
	}
	return pool, nil
}

// soaking is a soak under way.
type soaking struct {
	s      *settings
	client *client
	pool   []*request
	log

	drawing sync.Mutex
	random  *rand.Rand
	aborted int
	answers [2]int
}

// capacity is how many requests of the mixture a second the server answers, with some always under way.
func (k *soaking) capacity(ctx context.Context) (float64, error) {
	var workers sync.WaitGroup
	for range min(k.s.connections, 8) {
		workers.Go(func() {
			for time.Since(k.start) < calibrated {
				k.log.add(time.Now(), k.once(ctx, k.draw()))
			}
		})
	}
	workers.Wait()
	r := k.result(calibrated/5, calibrated, 1)
	if len(r.Outcomes) != 1 || r.Requests == 0 {
		return 0, fmt.Errorf("requests failed before the soak began: %v %w", r.Outcomes, k.first)
	}
	k.log.all, k.aborted, k.answers = nil, 0, [2]int{}
	return r.Requests, nil
}

func (k *soaking) draw() *request {
	k.drawing.Lock()
	defer k.drawing.Unlock()
	return k.pool[k.random.IntN(len(k.pool))]
}

// abort says when to break a request off, if it is one of those.
func (k *soaking) abort() (after time.Duration, is bool) {
	k.drawing.Lock()
	defer k.drawing.Unlock()
	if k.random.Float64() >= k.s.aborted {
		return 0, false
	}
	k.aborted++
	return time.Duration(k.random.Int64N(int64(10 * time.Millisecond))), true
}

// ask sends one request, perhaps breaks it off, and checks the answer.
func (k *soaking) ask(ctx context.Context, scheduled time.Time) {
	ctx, cancel := context.WithDeadline(ctx, scheduled.Add(k.s.limit))
	defer cancel()
	if after, is := k.abort(); is {
		time.AfterFunc(after, cancel)
	}
	k.log.add(scheduled, k.once(ctx, k.draw()))
}

func (k *soaking) once(ctx context.Context, r *request) error {
	which, err := k.client.sendChecked(ctx, r)
	if err != nil {
		return err
	}
	k.drawing.Lock()
	defer k.drawing.Unlock()
	k.answers[which]++
	return nil
}

// swap replaces the model file again and again, each time in one step.
func (k *soaking) swap(ctx context.Context, files []string) (swaps int, err error) {
	var contents [2][]byte
	for i, file := range files {
		if contents[i], err = os.ReadFile(file); err != nil {
			return 0, err
		}
	}
	for tick := time.NewTicker(k.s.every); ; swaps++ {
		select {
		case <-ctx.Done():
			tick.Stop()
			return swaps, nil
		case <-tick.C:
		}
		next := k.s.place + ".next"
		if err := errors.Join(os.WriteFile(next, contents[(swaps+1)%2], 0o600), os.Rename(next, k.s.place)); err != nil {
			return swaps, err
		}
	}
}

// report counts how requests ended.
func (k *soaking) report(found *soaked) {
	calm := log{start: k.start}
	for _, e := range k.log.all {
		if !k.s.inBurst(e.scheduled) && !k.s.inBurst(e.scheduled-burst) { // nor while a burst's requests still wait
			calm.all = append(calm.all, e)
		}
	}
	r := calm.result(0, k.s.length, 1)
	found.P50, found.P99 = r.P50, r.P99
	found.Outcomes = k.result(0, 1<<62, 1).Outcomes
	found.Aborted, found.Answers = k.aborted, k.answers
	if k.first != nil {
		found.First = k.first.Error()
	}
}

// watched are the server's metrics that a soak writes down each second, and what it calls them; several of one name are summed.
func watched() [][2]string {
	return [][2]string{
		{"process_resident_memory_bytes", "resident_bytes"},
		{"go_memstats_heap_inuse_bytes", "heap_bytes"},
		{"go_goroutines", "goroutines"},
		{"process_open_fds", "files"},
		{"process_cpu_seconds_total", "cpu_seconds"},
		{"psi_model_loads_total", "loads"},
		{"psi_inflight_requests", "inflight"},
	}
}

// sample writes down each second what the server is like and how requests of that second ended. It returns in how many
// seconds the server's metrics could not be read; their cells are empty.
func (k *soaking) sample(ctx context.Context) (silent int, err error) {
	file, err := os.Create(k.s.csv)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	head := []string{"second", "ok", "refused", "cancelled", "other", "p99_ms"}
	for _, m := range watched() {
		head = append(head, m[1])
	}
	if err := w.Write(head); err != nil {
		return 0, err
	}
	seen := 0
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			w.Flush()
			return silent, w.Error()
		case <-tick.C:
		}
		second := time.Since(k.start)
		k.log.mu.Lock()
		counts, took := map[outcome]int{}, []time.Duration(nil)
		for _, e := range k.log.all[seen:] {
			counts[e.outcome]++
			if e.outcome == answered {
				took = append(took, e.done-e.scheduled)
			}
		}
		total := len(k.log.all) - seen
		seen = len(k.log.all)
		k.log.mu.Unlock()
		slices.Sort(took)
		line := []string{fmt.Sprintf("%.0f", second.Seconds())}
		for _, o := range []outcome{answered, refused, cancelled} {
			line = append(line, strconv.Itoa(counts[o]))
			total -= counts[o]
		}
		line = append(line, strconv.Itoa(total), fmt.Sprintf("%.1f", quantile(took, .99)))
		values, err := k.s.scrape(ctx)
		if ctx.Err() != nil {
			continue
		}
		if err != nil { // a server that is gone may come back
			silent++
		}
		for _, m := range watched() {
			cell := ""
			if err == nil {
				cell = strconv.FormatFloat(values[m[0]], 'f', -1, 64)
			}
			line = append(line, cell)
		}
		if err := w.Write(line); err != nil {
			return silent, err
		}
		w.Flush()
	}
}

// scrape reads the server's metrics, summed over labels.
func (s *settings) scrape(ctx context.Context) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	if s.token != "" {
		q.Header.Set("Authorization", s.authorization())
	}
	got, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return nil, &statusError{got.StatusCode, ""}
	}
	values := map[string]float64{}
	lines := bufio.NewScanner(got.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(line[:space], "{")
		if v, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			values[name] += v
		}
	}
	return values, lines.Err()
}
