package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
				took = append(took, e.done-e.meant)
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
