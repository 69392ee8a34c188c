package main

import (
	"context"
	"time"

	"github.com/psi-shapley/psi"
)

// bareCost is what a row of a pass costs, by depth.
type bareCost struct {
	Backend string             `json:"backend"`
	Rows    int                `json:"rows"` // of a pass
	CPU     map[string]float64 `json:"cpu_us_per_row"`
	Wall    map[string]float64 `json:"wall_us_per_row"`
}

// bare passes rows through the model in this process, over and over: the least that a server can cost.
func bare(ctx context.Context, s *settings, files []string) (any, error) {
	m, err := psi.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer m.Close()
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
	c := &bareCost{Backend: m.Backend(), Rows: s.rows, CPU: map[string]float64{}, Wall: map[string]float64{}}
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

func depths() []psi.Depth { return []psi.Depth{psi.Values, psi.Spread, psi.Attributions} }

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
