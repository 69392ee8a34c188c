package serve_test

import (
	"context"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/psi-shapley/psi/serve"
)

// A server listens on HTTP and gRPC until Ctrl-C, and loads models that appear in a directory.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	server, err := serve.New(ctx, serve.Config{
		Models: []string{"models/"},
		HTTP:   "127.0.0.1:8080",
		GRPC:   "127.0.0.1:8081",
		Log:    slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	err = server.Run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// A program serves a model below /psi/ of its own HTTP server.
func ExampleServer_Handler() {
	ctx, stop := context.WithCancel(context.Background())
	server, err := serve.New(ctx, serve.Config{Models: []string{"model.psi"}})
	if err != nil {
		log.Fatal(err)
	}
	routes := http.NewServeMux()
	routes.Handle("/psi/", http.StripPrefix("/psi", server.Handler()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	own := &http.Server{Addr: "127.0.0.1:8080", Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	if err := own.ListenAndServe(); err != nil { // until the program shuts it down
		log.Print(err)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}
