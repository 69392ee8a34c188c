// Command psi trains models on tables, predicts and explains with them, and says how far
// to trust what they say. It only joins packages: flags in, results and exit codes out.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(start()) }

// start runs the program in this process. The first interrupt asks it to stop, a second
// one finds the system's own handling again and kills.
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
