package batch_test

import (
	"context"
	"fmt"
	"log"

	"github.com/psi-shapley/psi/batch"
)

// All Parquet files of a directory are explained with the cores of this machine. If the program is stopped, running it again
// continues the job.
func Example() {
	ctx := context.Background()
	r := &batch.Runner{Out: "explained/"}
	job, _, err := r.Plan(ctx, batch.Request{Model: "model.psi", In: "tables/*.parquet"})
	if err != nil {
		log.Fatal(err)
	}
	status, err := r.Run(ctx, batch.Local{
		Progress: func(s *batch.Status) { log.Printf("%d of %d units", s.Done, s.Units) },
		Log:      func(line string) { log.Print(line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range status.Failures {
		log.Printf("%s: %s; %s", f.File, f.Message, f.Remedy)
	}
	summary, err := r.Summary(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d files, %d rows\n", job.Files, summary.Rows)
}

// A job runs on many machines: one program submits it to a queue, workers on any machine take its units.
func Example_queue() {
	ctx := context.Background()
	queue := batch.Queue{URL: "nats://queue:4222", Credentials: "batch.creds"}

	r := &batch.Runner{Out: "s3://explained/2026/", Queue: queue}
	if _, _, err := r.Plan(ctx, batch.Request{Model: "model.psi", In: "s3://tables/2026/"}); err != nil {
		log.Fatal(err)
	}
	if _, _, err := r.Submit(ctx); err != nil {
		log.Fatal(err)
	}

	worker := &batch.Worker{Queue: queue, UntilEmpty: true} // on other machines
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
