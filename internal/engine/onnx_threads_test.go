//go:build onnx && linux

package engine_test

import (
	"os"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/engine"
)

// A session of twenty threads starts nineteen, one of one thread none. Go may start a few of its own meanwhile.
func TestThreadsOfSessions(t *testing.T) {
	started := func(threads int) int {
		t.Helper()
		b, err := engine.OpenThreads("onnx", threads)
		if err != nil {
			t.Skip(err)
		}
		f, err := b.Compile(model.NewStore(), engine.Final, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Mul(in[0], in[0])}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		before := tasks(t)
		out, err := f.Call(engine.Tensor([]float32{3}, 1))
		if err != nil || out[0][0] != 9 {
			t.Fatalf("%v %v", out, err)
		}
		return tasks(t) - before
	}
	one, twenty := started(1), started(20)
	t.Logf("one thread: %d started; twenty: %d", one, twenty)
	if one > 9 || twenty < 19 {
		t.Errorf("sessions of one and of twenty threads started %d and %d", one, twenty)
	}
}

// A short call need not wait for a long one of another session.
func TestSessionsRunAtOnce(t *testing.T) {
	// products is a call that multiplies matrices, so many times and of such a size.
	products := func(times, side int) func() {
		b, err := engine.OpenThreads("onnx", 1)
		if err != nil {
			t.Skip(err)
		}
		f, err := b.Compile(model.NewStore(), engine.Final, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			x := in[0]
			for range times {
				x = graph.Tanh(graph.MatMul(x, x))
			}
			return []*graph.Node{graph.ReduceAllSum(x)}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		call := func() {
			if _, err := f.Call(engine.Tensor(make([]float32, side*side), side, side)); err != nil {
				t.Error(err)
			}
		}
		call() // compiles it
		return call
	}
	long, short := products(60, 1024), products(1, 8)
	ended := make(chan struct{})
	go func() { long(); close(ended) }()
	time.Sleep(100 * time.Millisecond) // it has begun, and takes a second
	meanwhile := 0
	for running := true; running; meanwhile++ {
		short()
		select {
		case <-ended:
			running = false
		default:
		}
	}
	t.Logf("%d short calls during a long one", meanwhile)
	if meanwhile < 100 {
		t.Error("short calls wait for the long one")
	}
}

// tasks is the number of the process's threads.
func tasks(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
