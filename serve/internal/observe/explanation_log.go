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

// Defaults of LogOptions.
const (
	defaultLines = 100_000
	defaultAge   = 10 * time.Minute
	defaultFiles = 1008 // a week of them
	defaultBytes = 1 << 30
)

const (
	// queueRequests is the maximum number of requests that wait for the log, if they have no more lines than two files.
	queueRequests = 1024
	// retryAfter is the pause after an error of the disk.
	retryAfter = 10 * time.Second
)

// LogOptions configure an explanation log. The directory must belong to one server alone, which removes unfinished files.
type LogOptions struct {
	Dir    string
	Share  float64 // share of the requests to log, from 0 to 1
	Values bool    // include the cells of callers' tables

	Lines int           // lines of a file, which ends with the request that reaches them; 0 means 100,000
	Age   time.Duration // maximum age of the first line before its file is written; 0 means 10 minutes
	Files int           // maximum number of files, of which the newest are kept; 0 means 1,008
	Bytes int64         // maximum bytes of all files; 0 means 1 GiB

	Report func(error) // called with errors, at most once a minute; may be nil
}

// ExplanationLog writes explanations of a share of the requests to Parquet files. Each row, output and player is a line:
// time, model, version, request_id, game, and the columns of [explain.Explanation.Long]. A file appears when it is complete.
//
// The log never makes a caller wait. It gathers lines in memory, and one goroutine writes them. If the disk is full or
// missing, it tries again every ten seconds. Meanwhile memory holds the lines of three files; later lines are dropped and
// counted. The log is a prometheus.Collector of its counts.
type ExplanationLog struct {
	o      LogOptions
	fault  throttledReport
	counts *prometheus.CounterVec

	mu     sync.RWMutex // held for writing by Close alone
	closed bool

	queue   chan logged
	waiting atomic.Int64 // lines in the queue
	done    chan struct{}

	// Used by the writing goroutine alone.
	files *logFiles
	batch logBatch
	retry time.Time // no file is begun before; zero if all is well
	lost  error     // why the last batch was not written
}

// logged is the explanation of one request.
type logged struct {
	at                        time.Time
	model, version, requestID string
	explanation               *explain.Explanation
}

// logBatch holds the lines of the next file.
type logBatch struct {
	tables      []*table.Table
	lines, rows int
	since       time.Time
}

// OpenExplanationLog creates the directory, removes unfinished files of an earlier run, and starts the log. Close ends it.
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
		o: o, fault: throttledReport{report: o.Report}, files: files,
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

// Describe implements prometheus.Collector.
func (l *ExplanationLog) Describe(to chan<- *prometheus.Desc) { l.counts.Describe(to) }

// Collect implements prometheus.Collector.
func (l *ExplanationLog) Collect(to chan<- prometheus.Metric) { l.counts.Collect(to) }

// Add logs an explanation if the request belongs to the share. If it has an id, that alone decides, so a repeated request is
// logged again. The caller must not change the explanation afterwards. Differences between rows are not logged, since the
// columns cannot tell them from attributions.
func (l *ExplanationLog) Add(model, version, requestID string, e *explain.Explanation) {
	if e.Against != "" || e.Rows == 0 || !chosen(requestID, l.o.Share) {
		return
	}
	if !l.enqueue(logged{time.Now(), model, version, requestID, e}) {
		l.count(dropped, e.Rows)
	}
}

// chosen reports whether a request is logged.
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

// Close writes the remaining lines. It returns an error if that fails or takes longer than the context.
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

// due returns when the batch must be written or tried again.
func (l *ExplanationLog) due() time.Time {
	if !l.retry.IsZero() {
		return l.retry
	}
	return l.batch.since.Add(l.o.Age)
}

// take adds a request to the batch.
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
		l.fault.add(fmt.Errorf("an explanation of model %q cannot be logged: %w", x.model, err))
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

// flush writes the batch, and has reported the error that it returns. After an error of the disk the batch is kept and tried
// again, unless it is the last.
func (l *ExplanationLog) flush(last bool) error {
	if l.batch.rows == 0 || !last && time.Now().Before(l.retry) {
		return nil
	}
	err := l.files.write(l.batch.tables)
	if err != nil {
		l.fault.add(err)
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
	l.fault.add(l.files.prune())
	return err
}

// ofDisk reports whether an error is one of the disk, which may pass or which an operator can fix, and not of the batch.
func ofDisk(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &number)
}

// table returns the lines of a request.
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
		constant(table.CategoryColumn("game", []string{string(cmp.Or(e.Game, explain.Observational))}, nil), lines),
	}
	columns := long.Columns
	if e.ModelStd == nil { // requests with it and without it lie in one file
		after := 1 + slices.IndexFunc(columns, func(c *table.Column) bool { return c.Name == "std" })
		columns = slices.Insert(columns, after, table.NumberColumn("model_std", make([]float64, lines), make([]bool, lines)))
	}
	return table.New(slices.Concat(front, columns)...)
}

// constant makes a column of one repeated cell.
func constant(c *table.Column, lines int) *table.Column {
	return (&table.Table{Columns: []*table.Column{c}}).Select(make([]int, lines)).Columns[0]
}
