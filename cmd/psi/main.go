// Command psi trains models on tables, predicts and explains with them, and reports how far to trust the results. It
// only connects packages: it parses flags, and prints results and exit codes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
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

// program is psi with its interfaces to the system besides files.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	screen         screen
	bottom         bottomLine
}

// screen describes the terminals of the output.
type screen struct {
	stdout, stderr bool // whether they are terminals
	width          int  // 0 if unknown
	colours        bool // supported and wanted
}

// run runs one command line and returns its exit code.
func (p *program) run(ctx context.Context, args []string) int {
	began := false
	root := p.rootCommand()
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		f := failureOf(err, began)
		p.report(f, wantsJSON(args))
		return f.code
	}
	return 0
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "psi",
		Short: "Predictions with each column's Shapley attribution, as mean and standard deviation",
		Long: `psi trains a neural network on a table. One forward pass per row then gives the prediction
and a Shapley attribution for every column: how much the column raised or lowered this
prediction. Each attribution has a spread, how much it varies among similar rows, and an
uncertainty, how far other training rows would have moved it.

psi never overwrites a file that it reads, under any name or link. It replaces any other file
only by the same kind of file, unless you add --force. A model replaces a model, a report a
report, a picture a picture, and a table a table of the same format. psi recognises its own
models, reports and pictures by a mark in the file.

Exit codes: 0 success, 1 failure, 2 wrong usage.`,
		Example: `  psi sample bike -o bike.csv
  psi train bike.csv --target cnt -o bike.psi
  psi explain bike.psi bike.csv
  psi explain bike.psi bike.csv -o attributions.parquet`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableAutoGenTag:          true,
		SuggestionsMinimumDistance: 2,
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		remedy := "psi --help lists the commands"
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			remedy = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return &usageError{fmt.Sprintf("there is no command %q", args[0]), remedy}
	}
	asJSON, asksVersion := false, false
	root.Flags().BoolVar(&asJSON, "json", false, "")
	_ = root.Flags().MarkHidden("json") // hidden; it lets errors about a mistyped command be JSON too
	// Not cobra's own flag: its template makes the linker keep every method of every type, a sixth of the program.
	root.Flags().BoolVarP(&asksVersion, "version", "v", false, "version for psi")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if asksVersion {
			return p.printVersion()
		}
		if asJSON {
			return &usageError{"the command is missing", "psi --help lists the commands"}
		}
		return cmd.Help()
	}
	root.SetFlagErrorFunc(flagError)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Make a model:", []*cobra.Command{p.sampleCommand(), p.trainCommand(), p.importCommand(), p.mixCommand(), p.recalibrateCommand()}},
		{"Use it:", []*cobra.Command{p.predictCommand(), p.explainCommand(), p.askCommand(), p.plotCommand(), p.reportCommand()}},
		{"Deploy it:", []*cobra.Command{p.serveCommand(), p.tokenCommand(), p.batchCommand(), p.exportCommand()}},
		{"Check it:", []*cobra.Command{p.evaluateCommand(), p.cvCommand(), p.auditCommand(), p.inspectCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(p.doctorCommand(), p.versionCommand(), p.pipeCommand(), docsCommand())
	p.addCompletions(root)
	return root
}

// wantsJSON reports whether a command line requests JSON, even one that cannot be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// stdoutWidth and stderrWidth return the maximum width of text.
func (p *program) stdoutWidth() int { return p.screen.fit(p.screen.stdout) }
func (p *program) stderrWidth() int { return p.screen.fit(p.screen.stderr) }

func (s screen) fit(watched bool) int {
	const defaultWidth, widest = 80, 120
	if !watched || s.width == 0 {
		return defaultWidth
	}
	return min(s.width, widest)
}

// logf writes a message for people to stderr.
func (p *program) logf(format string, values ...any) { p.print(fmt.Sprintf(format, values...) + "\n") }

// document writes the JSON document of a command.
func (p *program) document(content any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(content)
}
