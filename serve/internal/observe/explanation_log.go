package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// What a LogOptions of 0 stands for.
const (
	defaultLines = 100_000
	defaultAge   = 10 * time.Minute
	defaultFiles = 1008 // a week of them
	defaultBytes = 1 << 30
)

const (
	// queueRequests may wait to be made into lines, if they have no more lines than two files.
	queueRequests = 1024
	// retryAfter is how long a log waits after the disk failed it.
	retryAfter = 10 * time.Second
)

// LogOptions say what a log of explanations holds and keeps. The directory must be of one server alone, which removes what
// it takes for leftovers of its own.
type LogOptions struct {
	Dir    string
	Share  float64 // of the requests, from 0 to 1
	Values bool    // the cells of the callers' tables too

	Lines int           // of a file, which ends with the request that reaches it; 0 means 100,000
	Age   time.Duration // of a file's first line when it is written at the latest; 0 means 10 minutes
	Files int           // are kept, the newest; 0 means 1,008
	Bytes int64         // of all files that are kept; 0 means 1 GiB

	Report func(error) // is told what goes wrong, at most once a minute; may be nil
}

// ExplanationLog writes explanations of a share of the requests to Parquet files, a line for each row, output and
// player: time, model, version, request_id, and the columns of [explain.Explanation.Long]. A file appears when it is whole.
//
// It never makes a caller wait. Lines are gathered in memory and written by one goroutine; a disk that is full or
// away is tried again every ten seconds. Meanwhile there is room for three files of lines; what comes after is dropped
// and counted. It is a prometheus.Collector of its counts.
type ExplanationLog struct {
	o      LogOptions
	fault  complaint
	counts *prometheus.CounterVec

	mu     sync.RWMutex // held for writing by Close alone
	closed bool

	queue   chan logged
	waiting atomic.Int64 // lines in the queue
	done    chan struct{}

	// Of the goroutine alone.
	files *logFiles
	batch logBatch
	retry time.Time // no file is begun before; zero if all is well
	lost  error     // why the last batch was not written
}

// logged is the explanation of a request.
type logged struct {
	at                        time.Time
	model, version, requestID string
	explanation               *explain.Explanation
}

// logBatch is what the next file will hold.
type logBatch struct {
	tables      []*table.Table
	lines, rows int
	since       time.Time
}

// OpenExplanationLog makes the directory, clears it of drafts of an earlier run, and starts the log.
func OpenExplanationLog(o LogOptions) (*ExplanationLog, error) {
	if !(o.Share >= 0 && o.Share <= 1) {
		return nil, fmt.Errorf("a share of %v of the requests cannot be logged: give a number from 0 to 1", o.Share)
	}
	o.Lines, o.Age = cmp.Or(o.Lines, defaultLines), cmp.Or(o.Age, defaultAge)
	o.Files, o.Bytes = cmp.Or(o.Files, defaultFiles), cmp.Or(o.Bytes, defaultBytes)
	files, err := openLogFiles(o)
	if err != nil {
		return nil, err
	}
	l := &ExplanationLog{
		o: o, fault: complaint{report: o.Report}, files: files,
		queue: make(chan logged, queueRequests), done: make(chan struct{}),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "psi_explanation_log_rows_total",
			Help: "Rows chosen for the explanation log: in a whole file, dropped for want of room, or lost to an error.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{written, dropped, failed} {
		l.count(outcome, 0)
	}
	go l.run()
	return l, nil
}

// The outcomes.
const (
	written = "written"
	dropped = "dropped"
	failed  = "failed"
)

func (l *ExplanationLog) count(outcome string, rows int) {
	l.counts.WithLabelValues(outcome).Add(float64(rows))
}

// Describe is of prometheus.Collector.
func (l *ExplanationLog) Describe(to chan<- *prometheus.Desc) { l.counts.Describe(to) }

// Collect is of prometheus.Collector.
func (l *ExplanationLog) Collect(to chan<- prometheus.Metric) { l.counts.Collect(to) }

// Add logs the explanation if the request is among the share. With a request id that depends on the id alone, so that
// a request that is tried again is logged again. The explanation must not change any more. Differences from a row are
// not logged, for the columns do not tell them from attributions.
func (l *ExplanationLog) Add(model, version, requestID string, e *explain.Explanation) {
	if e.Against != "" || e.Rows == 0 || !chosen(requestID, l.o.Share) {
		return
	}
	if !l.enqueue(logged{time.Now(), model, version, requestID, e}) {
		l.count(dropped, e.Rows)
	}
}

// chosen tells whether a request is logged.
func chosen(requestID string, share float64) bool {
	if requestID == "" {
		return rand.Float64() < share
	}
	sum := sha256.Sum256([]byte(requestID))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) < math.Ldexp(share, 53)
}

func (l *ExplanationLog) enqueue(x logged) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false
	}
	lines := int64(len(x.explanation.Mean))
	if l.waiting.Add(lines) <= 2*int64(l.o.Lines) || lines > 2*int64(l.o.Lines) && len(l.queue) == 0 {
		select {
		case l.queue <- x:
			return true
		default:
		}
	}
	l.waiting.Add(-lines)
	return false
}

// Close writes what is left. It fails if that cannot be written, or not in time.
func (l *ExplanationLog) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	select {
	case <-l.done:
		return l.lost
	case <-ctx.Done():
		return fmt.Errorf("the explanation log was not written in time: %w", ctx.Err())
	}
}

func (l *ExplanationLog) run() {
	defer close(l.done)
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case x, more := <-l.queue:
			if !more {
				l.lost = l.flush(true)
				return
			}
			l.waiting.Add(-int64(len(x.explanation.Mean)))
			l.take(x)
		case <-alarm.C:
			if l.batch.rows > 0 && !time.Now().Before(l.due()) {
				_ = l.flush(false)
			}
		}
		if l.batch.rows > 0 {
			alarm.Reset(time.Until(l.due()))
		}
	}
}

// due is when the batch is written at the latest, or tried again.
func (l *ExplanationLog) due() time.Time {
	if !l.retry.IsZero() {
		return l.retry
	}
	return l.batch.since.Add(l.o.Age)
}

// take puts a request into the batch.
func (l *ExplanationLog) take(x logged) {
	rows := x.explanation.Rows
	if l.batch.lines >= l.o.Lines {
		if _ = l.flush(false); l.batch.lines >= l.o.Lines {
			l.count(dropped, rows)
			return
		}
	}
	t, err := x.table(l.o.Values)
	if err != nil {
		l.count(failed, rows)
		l.fault.about(fmt.Errorf("an explanation of model %q cannot be logged: %w", x.model, err))
		return
	}
	if l.batch.rows == 0 {
		l.batch.since = time.Now()
	}
	l.batch.tables = append(l.batch.tables, t)
	l.batch.lines += t.Rows()
	l.batch.rows += rows
	if l.batch.lines >= l.o.Lines {
		_ = l.flush(false)
	}
}

// flush writes the batch, and has reported the error it returns. What the disk refuses is kept and tried again, unless it is
// the last.
func (l *ExplanationLog) flush(last bool) error {
	if l.batch.rows == 0 || !last && time.Now().Before(l.retry) {
		return nil
	}
	err := l.files.write(l.batch.tables)
	if err != nil {
		l.fault.about(err)
		if ofDisk(err) && !last {
			l.retry = time.Now().Add(retryAfter)
			return err
		}
	}
	outcome := written
	if err != nil {
		outcome = failed
	}
	l.count(outcome, l.batch.rows)
	l.batch, l.retry = logBatch{}, time.Time{}
	l.fault.about(l.files.prune())
	return err
}

// ofDisk tells errors that go away by themselves or by an operator's hand from those of the batch.
func ofDisk(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &number)
}

// table is the lines of a request.
func (x *logged) table(values bool) (*table.Table, error) {
	e := *x.explanation
	e.Interactions, e.InteractionError = nil, nil // have no place in a table
	if !values {
		e.Values = make([]*table.Column, len(e.Players))
	}
	long, err := e.Long()
	if err != nil {
		return nil, err
	}
	lines := long.Rows()
	front := []*table.Column{
		constant(table.TimeColumn("time", []time.Time{x.at}, nil), lines),
		constant(table.CategoryColumn("model", []string{x.model}, nil), lines),
		constant(table.CategoryColumn("version", []string{x.version}, []bool{x.version != ""}), lines),
		constant(table.CategoryColumn("request_id", []string{x.requestID}, []bool{x.requestID != ""}), lines),
	}
	columns := long.Columns
	if e.ModelStd == nil { // requests with it and without it lie in one file
		after := 1 + slices.IndexFunc(columns, func(c *table.Column) bool { return c.Name == "std" })
		columns = slices.Insert(columns, after, table.NumberColumn("model_std", make([]float64, lines), make([]bool, lines)))
	}
	return table.New(slices.Concat(front, columns)...)
}

// constant repeats a column's only cell.
func constant(c *table.Column, lines int) *table.Column {
	return (&table.Table{Columns: []*table.Column{c}}).Select(make([]int, lines)).Columns[0]
}
