package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"
)

// shipped is the configuration of the users in deploy/nats, as the NATS chart hands it to the servers.
func shipped(t *testing.T) *server.Options {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Config struct {
			Merge map[string]any `yaml:"merge"`
		} `yaml:"config"`
	}
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the servers do not know \u003e
	if err := encoder.Encode(values.Config.Merge); err != nil {
		t.Fatal(err)
	}
	// The chart takes the quotes off what stands between << and >>.
	variables := regexp.MustCompile(`"<< (\$[A-Z_]+) >>"`)
	for _, found := range variables.FindAllSubmatch(text.Bytes(), -1) {
		name := strings.TrimPrefix(string(found[1]), "$")
		t.Setenv(name, secretOf(strings.ToLower(strings.TrimSuffix(name, "_PASSWORD"))))
	}
	o, err := server.ProcessConfigFile(write(t, "nats.conf", variables.ReplaceAll(text.Bytes(), []byte("$1"))))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func secretOf(user string) string { return "secret0of0" + user }

// as connects as one of the users.
func as(t *testing.T, at *url.URL, user string) *Queue {
	t.Helper()
	return connect(t, asUser(at, user))
}

func asUser(at *url.URL, user string) Options {
	u := *at
	u.User = url.UserPassword(user, secretOf(user))
	return Options{URL: u.String(), AckWait: 2 * time.Second}
}

// denied checks that the servers refuse, at once.
func denied(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "does not allow") {
		t.Errorf("%s: %v; want to be refused", what, err)
	}
}

// All that submit, status, resume and cancel do.
func submits(t *testing.T, q *Queue, job string) {
	t.Helper()
	if err := q.Clear(t.Context(), job); err != nil {
		t.Fatalf("clear: %v", err)
	}
	remembers(t, q, job, "running")
	put(t, q, job, 4)
	watches(t, q, job, 4)
}

// All that status does.
func watches(t *testing.T, q *Queue, job string, units int) {
	t.Helper()
	left(t, q, job, units)
	if known, err := q.Job(t.Context(), job); err != nil || known.ID != job {
		t.Errorf("job: %+v, %v", known, err)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) != 1 {
		t.Errorf("jobs: %v, %v; want one", jobs, err)
	}
	if _, err := q.Job(t.Context(), "other"); !errors.Is(err, ErrNoJob) {
		t.Errorf("a job that is not there: %v", err)
	}
	if _, err := q.State(t.Context()); err != nil {
		t.Errorf("state: %v", err)
	}
	if refusal := q.denied.Load(); refusal != nil { // of what nobody waits for: the end of a reading
		t.Error(*refusal)
	}
}

func remembers(t *testing.T, q *Queue, job, state string) {
	t.Helper()
	if err := q.Remember(t.Context(), Job{ID: job, Out: "s3://explained/", State: state}); err != nil {
		t.Fatalf("remember: %v", err)
	}
}

// All that a worker does: of four units one is done under heartbeats, one comes back and is given up; and it finishes the job.
func works(t *testing.T, q *Queue, job string) {
	t.Helper()
	first := take(t, q)
	time.Sleep(3 * time.Second) // longer than the queue waits for a heartbeat
	done(t, first)
	if err := take(t, q).Requeue(t.Context(), 0); err != nil {
		t.Fatalf("again: %v", err)
	}
	for range 3 {
		d := take(t, q)
		if string(d.Body) != "1" {
			done(t, d)
		} else if err := d.Drop(t.Context(), "broken"); err != nil || d.Attempt != 2 {
			t.Fatalf("drop at attempt %d: %v", d.Attempt, err)
		}
	}
	left(t, q, job, 0)
	none(t, q, 200*time.Millisecond)
	put(t, q, job, 1) // a part that was lost
	done(t, take(t, q))
	if _, err := q.State(t.Context()); err != nil {
		t.Errorf("state: %v", err)
	}
	remembers(t, q, job, "finished")
}

// The rights that deploy/nats gives are enough, whoever comes first and makes the queue.
func TestShippedRightsAreEnough(t *testing.T) {
	for _, first := range []string{"submit", "worker"} {
		t.Run(first+" first", func(t *testing.T) {
			at := guarded(t, shipped(t))
			as(t, at, first)
			submits(t, as(t, at, "submit"), "a")
			watches(t, as(t, at, "watch"), "a", 4)
			works(t, as(t, at, "worker"), "a")
			if err := as(t, at, "submit").Clear(t.Context(), "a"); err != nil {
				t.Errorf("clear: %v", err)
			}
		})
	}
}

// And they are not more than that.
func TestShippedRightsAreNotMore(t *testing.T) {
	at := guarded(t, shipped(t))
	_, err := Connect(t.Context(), asUser(at, "watch"))
	denied(t, "watch makes the queue", err)
	submits(t, as(t, at, "submit"), "a")

	type attempt func(context.Context, *Queue) error
	takes := func(ctx context.Context, q *Queue) error { _, err := q.Take(ctx); return err }
	puts := func(ctx context.Context, q *Queue) error { _, err := q.Put(ctx, "a", numbered(1)); return err }
	lists := func(ctx context.Context, q *Queue) error { return q.Remember(ctx, Job{ID: "a"}) }
	clears := func(ctx context.Context, q *Queue) error { return q.Clear(ctx, "a") }
	deletes := func(ctx context.Context, q *Queue) error {
		return q.try(ctx, func(ctx context.Context) error { return q.js.DeleteStream(ctx, stream) })
	}
	changes := func(ctx context.Context, q *Queue) error {
		return q.try(ctx, func(ctx context.Context) error { _, err := q.js.UpdateStream(ctx, streamConfig(1)); return err })
	}
	settles := func(ctx context.Context, q *Queue) error {
		return q.try(ctx, func(ctx context.Context) error {
			_, err := q.connection.RequestWithContext(ctx, "$JS.ACK.PSI_WORK.workers.1.1.1.1.1", []byte("+ACK"))
			return err
		})
	}
	var all sync.WaitGroup // each takes as long as an answer may
	for user, attempts := range map[string]map[string]attempt{
		"submit": {"takes": takes, "settles": settles, "deletes": deletes, "changes": changes},
		"worker": {"clears": clears, "deletes": deletes, "changes": changes},
		"watch":  {"takes": takes, "settles": settles, "puts": puts, "lists": lists, "clears": clears, "deletes": deletes, "changes": changes},
	} {
		for what, do := range attempts {
			q := as(t, at, user)
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				denied(t, user+" "+what, do(ctx, q))
			})
		}
	}
	all.Wait()
	left(t, as(t, at, "watch"), "a", 4)
}
