package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue/cluster"
)

// report is the result of a simulation.
type report struct {
	Trial trial `json:"trial"`

	Put          int     `json:"put"`
	Putting      span    `json:"putting"`
	DiskPut      []int64 `json:"disk_bytes_when_put"` // by server
	ClientPut    int64   `json:"client_peak_rss_bytes_when_put"`
	LeftPut      int     `json:"left_when_put"`
	LeftSeconds  float64 `json:"left_call_s"`
	ClearSeconds float64 `json:"clear_a_tenth_s"`
	Working      span    `json:"working"`
	LeftEnd      int     `json:"left_at_the_end"`

	Lost         int   `json:"lost"`          // units never begun
	NotConfirmed int   `json:"not_confirmed"` // units whose end was never confirmed to a worker
	Twice        int   `json:"begun_again"`   // units begun more than once
	ConfirmedTwo int   `json:"confirmed_twice"`
	Crashes      int64 `json:"crashes"`
	Redeliveries int64 `json:"redeliveries"`
	Unconfirmed  int64 `json:"done_unanswered"`

	Memory []int64 `json:"server_peak_rss_bytes"` // by server
}

// span is the cost of a stage: time, and CPU of the clients (one process) and of the servers (three).
type span struct {
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"units_per_s"`
	ClientCPU  float64 `json:"client_cpu_us_per_unit"`
	ServersCPU float64 `json:"servers_cpu_us_per_unit"`
}

func stage(units int, began time.Time, before, after [2]float64) span {
	s := span{Seconds: time.Since(began).Seconds()}
	s.Rate = float64(units) / s.Seconds
	s.ClientCPU = (after[0] - before[0]) * 1e6 / float64(units)
	s.ServersCPU = (after[1] - before[1]) * 1e6 / float64(units)
	return s
}

// summarise adds up the records.
func (f *floor) summarise(r *report) {
	for i := range f.begun {
		switch f.begun[i].Load() {
		case 0:
			r.Lost++
		case 1:
		default:
			r.Twice++
		}
		switch f.confirmed[i].Load() {
		case 0:
			r.NotConfirmed++
		case 1:
		default:
			r.ConfirmedTwo++
		}
	}
	r.Crashes, r.Redeliveries, r.Unconfirmed = f.crashes.Load(), f.redeliveries.Load(), f.unconfirmed.Load()
}

// meter reads the resources of the servers twice a second, so that killed ones count too.
type meter struct {
	servers *cluster.Cluster
	mu      sync.Mutex
	peak    []int64
	ticks   map[int]float64 // seconds of CPU by process
	stop    func()
}

func watch(servers *cluster.Cluster) *meter {
	m := &meter{servers: servers, peak: make([]int64, len(servers.Nodes)), ticks: map[int]float64{}}
	end := make(chan struct{})
	m.stop = sync.OnceFunc(func() { close(end) })
	go func() {
		for {
			m.read()
			select {
			case <-end:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return m
}

func (m *meter) read() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, node := range m.servers.Nodes {
		pid := node.Process()
		if pid == 0 {
			continue
		}
		if peak, ok := peakMemory(pid); ok {
			m.peak[i] = max(m.peak[i], peak)
		}
		if seconds, ok := cpuTime(pid); ok {
			m.ticks[pid] = seconds
		}
	}
}

// cpu returns the CPU time of this process and of all servers so far, in seconds.
func (m *meter) cpu() (used [2]float64) {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil {
		used[0] = seconds(own.Utime) + seconds(own.Stime)
	}
	m.read()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.ticks {
		used[1] += s
	}
	return used
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func (m *meter) disk() []int64 {
	sizes := make([]int64, 0, len(m.servers.Nodes))
	for _, node := range m.servers.Nodes {
		var size int64
		_ = filepath.WalkDir(node.Dir(), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // files come and go
			}
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
			return nil
		})
		sizes = append(sizes, size)
	}
	return sizes
}

// end stops the meter and returns the peak memory of each server.
func (m *meter) end() []int64 {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak
}

func peakMemory(pid int) (int64, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(content) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kilobytes, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kilobytes << 10, err == nil
		}
	}
	return 0, false
}

// cpuTime reads fields 14 and 15 of /proc/pid/stat. It counts them behind the process name, which may contain blanks. A tick
// is 10 ms on Linux.
func cpuTime(pid int) (float64, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	user, err := strconv.ParseFloat(string(fields[11]), 64)
	if err != nil {
		return 0, false
	}
	system, err := strconv.ParseFloat(string(fields[12]), 64)
	return (user + system) / 100, err == nil
}
