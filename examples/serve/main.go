// Serve answers requests over HTTP until Ctrl-C: go run ./examples/serve 127.0.0.1:8080 model.psi, then
// curl localhost:8080/explain -d '{"rows": [{"age": 30}]}'
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/psi-shapley/psi/serve"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(address string, models []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := serve.New(ctx, serve.Config{Models: models, HTTP: address, UI: true, Log: slog.Default()})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
