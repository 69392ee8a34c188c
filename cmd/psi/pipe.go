package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
)

// pipeCommand answers requests of a parent process, such as Python, until its standard input ends (ADR 40).
func (p *program) pipeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "pipe",
		Short:  "Answer the requests of a parent process through standard input and output",
		Hidden: true,
		Args:   arguments(),
		RunE:   func(cmd *cobra.Command, _ []string) error { return p.pipe(cmd.Context()) },
	}
}

// A frame is 16 bytes, little-endian: a number that request and answer have in common, 32 bits; the length of the
// header, 32 bits; the length of the body, 64 bits. The header follows, a JSON document, and then the body.
type frame struct {
	id           uint32
	header, body []byte
}

// Limits of a frame. The largest bodies are models, and the rows of a request.
const (
	maxHeader = 16 << 20
	maxBody   = 4 << 30
)

func readFrame(r io.Reader) (frame, error) {
	var lengths [16]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return frame{}, err
	}
	f := frame{id: binary.LittleEndian.Uint32(lengths[:])}
	header, body := binary.LittleEndian.Uint32(lengths[4:]), binary.LittleEndian.Uint64(lengths[8:])
	if header > maxHeader || body > maxBody {
		return frame{}, fmt.Errorf("a frame has %d bytes of header and %d of body: the maximum is %d and %d", header, body, maxHeader, int64(maxBody))
	}
	f.header = make([]byte, header)
	if _, err := io.ReadFull(r, f.header); err != nil {
		return frame{}, err
	}
	const growth = 1 << 20 // bytes that a length may claim before they arrive
	content := bytes.NewBuffer(make([]byte, 0, min(body, growth)))
	if _, err := io.CopyN(content, r, int64(body)); err != nil {
		return frame{}, err
	}
	f.body = content.Bytes()
	return f, nil
}

func writeFrame(w *bufio.Writer, f frame) error {
	var lengths [16]byte
	binary.LittleEndian.PutUint32(lengths[:], f.id)
	binary.LittleEndian.PutUint32(lengths[4:], uint32(len(f.header)))
	binary.LittleEndian.PutUint64(lengths[8:], uint64(len(f.body)))
	for _, part := range [][]byte{lengths[:], f.header, f.body} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Flush()
}

// pipe reads a model from the body of the first frame and answers it with the document of psi inspect. It answers all
// other frames in the order in which their results are ready. It never stops reading: the parent may send requests
// before it reads answers.
func (p *program) pipe(ctx context.Context) error {
	in, out := bufio.NewReaderSize(p.stdin, 1<<16), bufio.NewWriterSize(p.stdout, 1<<16)
	first, err := readFrame(in)
	if err != nil {
		return err
	}
	model, err := psi.OpenOptions{}.Decode("the model", first.body)
	if err != nil {
		return refuse(out, first.id, err)
	}
	defer model.Close()
	about, err := json.Marshal(inspect(model, ""))
	if err != nil {
		return err
	}
	if err := writeFrame(out, frame{id: first.id, header: about}); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := answerer{model: model, in: in, out: out, ended: make(chan error, 1), computing: make(chan struct{}, runtime.GOMAXPROCS(0))}
	a.running.Go(func() { a.next(ctx) })
	err = <-a.ended
	cancel() // nobody reads answers any more
	a.running.Wait()
	return err
}

// answerer answers the frames of a pipe.
type answerer struct {
	model     *psi.Model
	in        *bufio.Reader
	running   sync.WaitGroup
	computing chan struct{} // limits the answers that are computed at a time
	writing   sync.Mutex
	out       *bufio.Writer
	ended     chan error
}

// next reads a frame, starts the goroutine that reads the following one, and answers the frame itself. So a single
// request waits for no other thread.
func (a *answerer) next(ctx context.Context) {
	request, err := readFrame(a.in)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		a.end(err)
		return
	}
	a.running.Go(func() { a.next(ctx) })
	a.computing <- struct{}{}
	answer, err := answerFrame(ctx, a.model, request)
	<-a.computing
	a.writing.Lock()
	defer a.writing.Unlock()
	if err != nil {
		err = refuse(a.out, request.id, err)
	} else {
		err = writeFrame(a.out, answer)
	}
	if err != nil {
		a.end(err)
	}
}

// end notes the first reason to end.
func (a *answerer) end(err error) {
	select {
	case a.ended <- err:
	default:
	}
}

// refuse answers with a psi.error/v1 document.
func refuse(out *bufio.Writer, id uint32, err error) error {
	f := failureOf(err, true)
	document, jsonErr := json.Marshal(f.document())
	if jsonErr != nil {
		return jsonErr
	}
	return writeFrame(out, frame{id: id, header: document})
}
