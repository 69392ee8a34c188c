//go:build onnx && linux

package engine_test

import (
	"os"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/engine"
)

// A session of twenty threads starts nineteen, one of one thread none. Go may start a few of its own meanwhile.
func TestThreadsOfSessions(t *testing.T) {
	started := func(threads int) int {
		t.Helper()
		b, _, err := engine.Open("onnx")
		if err != nil {
			t.Skip(err)
		}
		f, err := b.WithThreads(threads).Compile(model.NewStore(), engine.Final, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
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

// tasks is the number of the process's threads.
func tasks(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
