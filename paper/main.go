// Command paper measures again what the paper behind psi reports, item by item, and writes each answer as data, picture and text.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "paper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == trainCommand {
		return trainAlone(ctx, args[1], args[2])
	}
	flags := flag.NewFlagSet("paper/run", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "small trainings on one fold: shows that every item runs, not what it measures")
	jobs := flags.Int("jobs", 1, "trainings at a time")
	dir := flags.String("dir", ".", "directory of results, measured answers and trained models")
	png := flags.String("png", "", "also draw the pictures as PNG into this directory")
	flags.Usage = func() { usage(flags) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		flags.Usage()
		return err
	}
	l := newLab(*dir, *jobs, *quick)
	out := &output{dir: l.dir, png: *png}
	start := time.Now()
	for _, item := range chosen {
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%s: %s\n", item.Name, item.Title)
		a, err := item.Run(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", item.Name, err)
		}
		if err := out.write(l, item, a); err != nil {
			return fmt.Errorf("%s: %w", item.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s in %s\n", item.Name, a.Verdict, time.Since(began).Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "%s is written, after %s\n", filepath.Join(l.dir, resultsFile), time.Since(start).Round(time.Second))
	return nil
}

// choose are the items that the names stand for.
func choose(names []string) ([]Item, error) {
	if len(names) == 0 {
		return nil, errors.New("which item?")
	}
	var chosen []Item
	for _, name := range names {
		found := false
		for _, item := range items() {
			if strings.EqualFold(name, item.Name) || name == "all" {
				chosen, found = append(chosen, item), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no item %q", name)
		}
	}
	return chosen, nil
}

func usage(flags *flag.FlagSet) {
	b := &strings.Builder{}
	b.WriteString("Usage: paper/run [flags] all|ITEM…\n\nItems:\n")
	for _, item := range items() {
		fmt.Fprintf(b, "  %-10s %s\n", item.Name, item.Title)
	}
	fmt.Fprintf(os.Stderr, "%s\nFlags:\n", b)
	flags.PrintDefaults()
}
