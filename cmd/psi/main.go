// Command psi trains models on tables, predicts and explains with them, and reports how far to trust the results. It
// only connects packages: it parses flags, and prints results and exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(start()) }

// start runs the program in this process. The first interrupt stops it gracefully; a second one kills it.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	p := &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		screen: screen{
			stdout: term.IsTerminal(int(os.Stdout.Fd())), stderr: term.IsTerminal(int(os.Stderr.Fd())),
			colours: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		},
	}
	for _, file := range []*os.File{os.Stderr, os.Stdout} {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			p.screen.width = width
		}
	}
	return p.run(ctx, os.Args[1:])
}
