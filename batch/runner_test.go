package batch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A job runs in one process, with a queue of its own; where it was stopped it goes on.
func TestRunInThisProcess(t *testing.T) {
	s := newScene(t, 3)
	r := &Runner{Out: s.out}
	job, _, err := r.Plan(t.Context(), s.request())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, Local{Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if status, err := r.Status(t.Context()); err != nil || status.State != Stopped {
		t.Errorf("%+v, %v", status, err)
	}
	last := 0
	status, err := r.Run(t.Context(), Local{Workers: 2, Progress: func(s *Status) { last = s.Units }, Log: func(line string) { t.Error(line) }})
	if err != nil || status.State != Finished || status.Done != job.Units || last != job.Units {
		t.Fatalf("%+v, %v", status, err)
	}
	s.wantExplained(0, 1, 2)
	summary, err := ReadSummary(t.Context(), filepath.Join(s.out, SummaryKey))
	if err != nil || summary.Rows != 3*fileRows {
		t.Errorf("%+v, %v", summary, err)
	}
	if status, err := r.Status(t.Context()); err != nil || status.State != Finished || status.Done != job.Units {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := r.Cancel(t.Context()); !errors.Is(err, ErrNoQueue) {
		t.Errorf("cancelled: %v", err)
	}
}

// Of a job whose queue is gone the parts are counted.
func TestStatusWithoutTheQueue(t *testing.T) {
	s := newScene(t, 2)
	job := s.plan()
	s.run(1)
	if err := os.Remove(filepath.Join(s.out, job.partKey(1))); err != nil {
		t.Fatal(err)
	}
	gone := &Runner{Out: s.out, Queue: Queue{URL: "nats://user:wrong@" + strings.SplitN(s.server.URL(), "@", 2)[1]}}
	status, err := gone.Status(t.Context())
	if !errors.Is(err, ErrUnreachable) || status == nil || status.State != Stopped || status.Done != 1 {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := gone.Await(t.Context(), 0, func(*Status) {}); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if _, _, err := gone.Submit(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

// A queue lists its jobs, and finds their results.
func TestQueueListsJobs(t *testing.T) {
	s := newScene(t, 1)
	job := s.plan()
	if _, _, err := s.job().Submit(t.Context()); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.at().Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].ID != job.ID || jobs[0].State != Running || jobs[0].Out != s.out {
		t.Errorf("%+v, %v", jobs, err)
	}
	if r, err := s.at().Find(t.Context(), job.ID); err != nil || r.Out != s.out || r.Queue.URL != s.server.URL() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.at().Find(t.Context(), "000000000000"); err == nil {
		t.Error("a job that is not there was found")
	}
}

// Metrics can be scraped before the worker runs.
func TestWorkerMetrics(t *testing.T) {
	answer := httptest.NewRecorder()
	(&Worker{}).Metrics().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `psi_batch_units_total{outcome="done"} 0`) {
		t.Errorf("%s, %v", text, err)
	}
}

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
	if err := other.Requeue(t.Context(), 0); err != nil {
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
