package main

import (
	"bytes"
	"context"

	"github.com/psi-shapley/psi/explain"
)

// explanationSink writes explanations to one of three outputs.
type explanationSink struct {
	table tableSink

	stage *stage
	json  *explain.JSONWriter

	text *textSink

	long     bool
	withFile bool // rows include their file
	count    int  // rows written
	others   others
	empty    *explain.Explanation
}

func (p *program) explanationSink(ctx context.Context, to destination, f *explainFlags, withFile bool, none *explain.Explanation) (*explanationSink, error) {
	s := &explanationSink{long: f.layout.word == "long", withFile: withFile, empty: none}
	var err error
	switch {
	case to.json:
		if s.stage, err = p.stage(ctx, to); err == nil {
			s.json = explain.NewJSONWriter(s.stage)
		}
	case to.format == textFormat:
		s.text = &textSink{program: p, withFile: withFile, reasons: f.reasons}
	default:
		s.table, err = p.tableSink(ctx, to)
	}
	return s, err
}

func (s *explanationSink) write(ctx context.Context, of ofFile[*explain.Explanation]) error {
	s.count += of.rows.Rows
	s.others.add(of.rows)
	if s.withFile {
		of.rows.File = of.file
	}
	switch {
	case s.json != nil:
		return s.json.Write(of.rows)
	case s.text != nil:
		s.text.add(of)
		return nil
	}
	tabulate := of.rows.Wide
	if s.long {
		tabulate = of.rows.Long
	}
	t, err := tabulate()
	if err != nil {
		return err
	}
	return s.table.Write(ctx, t)
}

// Close completes the output; a table without rows still has its columns.
func (s *explanationSink) Close() error {
	if s.count == 0 && s.text == nil {
		if err := s.write(context.Background(), ofFile[*explain.Explanation]{s.empty.File, s.empty}); err != nil {
			return err
		}
	}
	switch {
	case s.json != nil:
		if err := s.json.Close(); err != nil {
			return err
		}
		return s.stage.Close()
	case s.text != nil:
		return s.text.close()
	}
	return s.table.Close()
}

// Abort discards incomplete output; after Close it does nothing.
func (s *explanationSink) Abort() error {
	switch {
	case s.stage != nil:
		return s.stage.Abort()
	case s.table != nil:
		return s.table.Abort()
	}
	return nil
}

// textSink prints explanations for people once all are computed.
type textSink struct {
	program  *program
	withFile bool
	reasons  int
	files    []string
	parts    map[string][]*explain.Explanation
}

func (s *textSink) add(of ofFile[*explain.Explanation]) {
	if s.parts == nil {
		s.parts = map[string][]*explain.Explanation{}
	}
	if s.parts[of.file] == nil {
		s.files = append(s.files, of.file)
	}
	s.parts[of.file] = append(s.parts[of.file], of.rows)
}

func (s *textSink) close() error {
	var text bytes.Buffer
	if len(s.files) == 0 {
		text.WriteString("The table has no rows.\n")
	}
	for i, file := range s.files {
		whole, err := explain.Join(s.parts[file])
		if err != nil {
			return err
		}
		if i > 0 {
			text.WriteString("\n")
		}
		if s.withFile {
			text.WriteString(file + "\n\n")
		}
		screen := s.program.screen
		options := explain.TextOptions{
			Width: s.program.stdoutWidth(), Reasons: s.reasons, Colour: screen.stdout && screen.colours,
			Others: "--output CLASS shows another; with --against CLASS it is compared with that class.",
		}
		if err := explain.Text(&text, whole, options); err != nil {
			return err
		}
	}
	_, err := s.program.stdout.Write(text.Bytes())
	return err
}
