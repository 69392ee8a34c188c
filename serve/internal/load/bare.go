package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/psi-shapley/psi"
)

// bareCost is what opening a model costs, and a row of a pass, by depth.
type bareCost struct {
	Backend psi.Backend        `json:"backend"`
	Open    float64            `json:"open_ms"`  // least of a few
	Kept    float64            `json:"open_mib"` // least that an open model keeps
	Rows    int                `json:"rows"`     // of a pass
	CPU     map[string]float64 `json:"cpu_us_per_row"`
	Wall    map[string]float64 `json:"wall_us_per_row"`
}

// bare passes rows through the model in this process, over and over: the least that a server can cost.
func bare(ctx context.Context, s *settings, files []string) (any, error) {
	c := &bareCost{Rows: s.rows, CPU: map[string]float64{}, Wall: map[string]float64{}}
	m, err := c.open(files[0])
	if err != nil {
		return nil, err
	}
	defer m.Close()
	c.Backend = m.Backend()
	all, err := readSheet(ctx, m, files[1], s.seed)
	if err != nil {
		return nil, err
	}
	var tables []*psi.Rows
	for range pooled {
		t, err := all.table(all.draw(s.rows))
		if err != nil {
			return nil, err
		}
		rows, err := m.Read(t)
		if err != nil {
			return nil, err
		}
		tables = append(tables, rows)
	}
	for _, depth := range depths() {
		pass := func(length time.Duration) (rows int, err error) {
			for start := time.Now(); time.Since(start) < length && err == nil; rows += s.rows {
				_, err = m.Pass(ctx, depth, tables[rows/s.rows%len(tables)])
			}
			return rows, err
		}
		if _, err := pass(s.warm); err != nil {
			return nil, err
		}
		before, err := own()
		if err != nil {
			return nil, err
		}
		start := time.Now()
		rows, err := pass(s.length)
		if err != nil {
			return nil, err
		}
		wall := time.Since(start)
		after, err := own()
		if err != nil {
			return nil, err
		}
		c.CPU[depth.String()] = micro(after-before) / float64(rows)
		c.Wall[depth.String()] = micro(wall) / float64(rows)
	}
	return c, nil
}

// open opens the model a few times and keeps the last.
func (c *bareCost) open(path string) (m *psi.Model, err error) {
	c.Open, c.Kept = math.Inf(1), math.Inf(1)
	for range 7 {
		before, start := heap(), time.Now()
		if m, err = psi.Open(path); err != nil {
			return nil, err
		}
		c.Open = min(c.Open, micro(time.Since(start))/1e3)
		c.Kept = min(c.Kept, (heap()-before)/(1<<20))
	}
	return m, nil
}

// heap is what lives after pools have been emptied, which takes two collections.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

func depths() []psi.Depth { return []psi.Depth{psi.Values, psi.Spread, psi.Attributions} }

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// own is the time that this process has had of all cores.
func own() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// tick of the times in /proc, which Linux tells programs in hundredths of a second whatever it counts in itself.
const tick = 10 * time.Millisecond

// used is the time that a process has had of all cores; 0 for no process.
func used(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	total := time.Duration(0)
	for _, field := range fields[11:13] { // utime, stime
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ticks) * tick
	}
	return total, nil
}
