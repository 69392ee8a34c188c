package batch

import (
	"testing"
	"time"
)

// A worker of a job of its own ends when all is done, and not before what another worker has is settled too.
func TestUntilEmpty(t *testing.T) {
	s := newScene(t, 3)
	s.plan()
	if _, _, err := s.job().Submit(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, err := s.at().connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	other, err := q.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		w := &Worker{Queue: s.at(), Drain: time.Second, UntilEmpty: true}
		ended <- w.Run(t.Context())
	}()
	for left := 0; left != 2; { // the other's unit, and the word to finish
		if left, err = q.Left(t.Context(), other.Job); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("ended while another worker has a unit: %v", err)
	case <-time.After(5 * time.Second):
	}
	if err := other.Again(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil || !s.exists(successKey) {
			t.Errorf("ended with %v before the job was finished", err)
		}
	case <-time.After(time.Minute):
		t.Error("does not end although the queue is empty")
	}
}
