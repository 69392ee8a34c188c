package batch

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// parquetOf writes a table with row groups of that many rows, as other programs do.
func parquetOf(t *testing.T, rows *table.Table, group int64) []byte {
	t.Helper()
	var plain, cut bytes.Buffer
	sink := table.NewParquetSink(&plain)
	if err := errors.Join(sink.Write(t.Context(), rows), sink.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(plain.Bytes()), parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	if err := pqarrow.WriteTable(whole, &cut, group, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(group)), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return cut.Bytes()
}

// parts reads all rows of the result, in the order of the parts' names, and of which files they are.
func (s *scene) parts() (rows *table.Table, files []string) {
	s.Helper()
	names, err := filepath.Glob(filepath.Join(s.out, "part-*.parquet"))
	if err != nil {
		s.Fatal(err)
	}
	var all []*table.Table
	for _, name := range names {
		part, err := table.Read(s.Context(), name, table.Options{})
		if err != nil {
			s.Fatal(err)
		}
		for _, code := range part.Column("file").Codes {
			files = append(files, part.Column("file").Levels[code])
		}
		numbers, err := table.New(part.Columns[1:]...)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, numbers)
	}
	if rows, err = table.Concat(all); err != nil {
		s.Fatal(err)
	}
	return rows, files
}

// wantExplained sees that the result is, to the last bit, what explaining each file alone gives.
func (s *scene) wantExplained(files ...int) {
	s.Helper()
	s.wantExplainedAs(psi.ExplainOptions{}, files...)
}

// wantExplainedAs is wantExplained of files that were explained otherwise than by default.
func (s *scene) wantExplainedAs(how psi.ExplainOptions, files ...int) {
	s.Helper()
	m, err := psi.Open(s.model)
	if err != nil {
		s.Fatal(err)
	}
	defer m.Close()
	got, of := s.parts()
	line := 0
	for _, i := range files {
		rows, err := table.Open(s.file(i), m.ReadOptions())
		if err != nil {
			s.Fatal(err)
		}
		e, err := m.Explain(s.Context(), rows, how)
		_ = rows.Close()
		if err != nil {
			s.Fatal(err)
		}
		want, err := e.Wide()
		if err != nil {
			s.Fatal(err)
		}
		if of[line] != s.file(i) {
			s.Fatalf("line %d is of %s, not of %s", line, of[line], s.file(i))
		}
		for _, c := range want.Columns {
			for row := range want.Rows() {
				if a, b := got.Column(c.Name).Numbers[line+row], c.Numbers[row]; math.Float64bits(a) != math.Float64bits(b) {
					s.Fatalf("%s, row %d, column %s: %v, want %v", s.file(i), row, c.Name, a, b)
				}
			}
		}
		line += want.Rows()
	}
	if got.Rows() != line {
		s.Errorf("%d rows, want %d", got.Rows(), line)
	}
}

func (s *scene) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.out, name))
	return err == nil
}

// smallUnits makes units of one or two row groups, so that files have several.
func smallUnits(t *testing.T, s *scene) *Job {
	t.Helper()
	r := s.request()
	r.unitRows = 2 * groupRows
	job, _, err := s.job().Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestBatch(t *testing.T) {
	s := newScene(t, 3)
	job := smallUnits(t, s)
	if job.Units != 6 || job.Files != 3 || job.Rows != 3*fileRows {
		t.Fatalf("%d units of %d files with %d rows", job.Units, job.Files, job.Rows)
	}
	status, summary := s.run(2)
	if status.State != Finished || status.Done != 6 || !s.exists(successKey) {
		t.Fatalf("%s, %d done", status.State, status.Done)
	}
	s.wantExplained(0, 1, 2)
	wantSummary(s, summary)
}

// wantSummary compares a summary with plain sums over the rows of the parts and the files.
func wantSummary(s *scene, summary *Summary) {
	s.Helper()
	rows, _ := s.parts()
	if summary.Rows != rows.Rows() || summary.Audit == nil || *summary.Audit.RelativeRMSE > 1e-5 {
		s.Errorf("%d rows of %d, audit %+v", summary.Rows, rows.Rows(), summary.Audit)
	}
	for _, p := range summary.Outputs[0].Players {
		size, std := 0.0, 0.0
		for i, v := range rows.Column(p.Player).Numbers {
			size += math.Abs(v) / float64(rows.Rows())
			std += rows.Column(p.Player + "__std").Numbers[i] / float64(rows.Rows())
		}
		if math.Abs(size-p.Size) > 1e-9*size || p.Std == nil || math.Abs(std-*p.Std) > 1e-9*std || p.Trained == nil {
			s.Errorf("%s: %+v, want %v ± %v", p.Player, p, size, std)
		}
	}
	gaps := 0
	for i := range 3 {
		rented, err := table.Read(s.Context(), s.file(i), table.Options{})
		if err != nil {
			s.Fatal(err)
		}
		for _, here := range rented.Column("age").Observed {
			if !here {
				gaps++
			}
		}
	}
	if i := slices.IndexFunc(summary.Missing, func(m MissingOf) bool { return m.Player == "age" }); math.Abs(summary.Missing[i].Ratio-float64(gaps)/float64(rows.Rows())) > 1e-12 {
		s.Errorf("age is missing in %v of the rows, want %d of %d", summary.Missing[i].Ratio, gaps, rows.Rows())
	}
}

// A unit that is done twice leaves the same bytes.
func TestUnitWritesTheSameBytes(t *testing.T) {
	s := newScene(t, 1)
	job := s.plan()
	task, err := open(t.Context(), s.out, "auto")
	if err != nil {
		t.Fatal(err)
	}
	defer task.close()
	var before []byte
	for range 2 {
		for u, err := range job.units(t.Context(), task.out) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := task.do(t.Context(), &u); err != nil {
				t.Fatal(err)
			}
		}
		now, err := os.ReadFile(filepath.Join(s.out, job.partKey(0)))
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !bytes.Equal(before, now) {
			t.Error("the second time, the part is another")
		}
		before = now
	}
}

// Files that cannot be explained fail alone, say why, and are done when they are mended.
func TestFailuresAndResume(t *testing.T) {
	s := newScene(t, 5)
	if err := os.WriteFile(s.file(1), []byte("PAR1 this is no table PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	lacking, err := table.New(rentals(fileRows, 11).Columns[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	s.write(2, lacking)
	wrong := rentals(fileRows, 12)
	texts := slices.Repeat([]string{"3"}, fileRows)
	texts[120] = "three"
	wrong.Columns[0] = table.CategoryColumn("rooms", texts, nil)
	s.write(3, wrong)
	smallUnits(t, s)

	status, summary := s.run(2)
	if status.State != Failed || status.Failed != 4 || status.Done != 5 || s.exists(successKey) || summary.Rows != 2*fileRows+2*groupRows {
		t.Fatalf("%s: %d done, %d failed, %d rows", status.State, status.Done, status.Failed, summary.Rows)
	}
	for i, want := range []struct {
		file int
		Failure
	}{{1, Failure{Message: "damaged"}}, {2, Failure{Column: "rooms", Message: "column"}}, {2, Failure{Column: "rooms", Message: "column"}}, {3, Failure{Column: "rooms", Message: "three"}}} {
		f := status.Failures[i]
		if f.File != s.file(want.file) || f.Column != want.Column || !strings.Contains(f.Message, want.Message) || f.Remedy == "" || f.Attempts != failures {
			t.Errorf("failure %+v, want %+v", f, want)
		}
	}
	if row := status.Failures[3].Row; row == nil || *row != 120 {
		t.Errorf("row %v, want 120", row)
	}

	for i := 1; i <= 3; i++ {
		s.write(i, rentals(fileRows, uint64(10+i)))
	}
	_, put, err := s.job().Submit(t.Context())
	if err != nil || put != 5 {
		t.Fatalf("%d units of the three files are done again, %v", put, err)
	}
	stop := s.work(2)
	defer stop()
	if status, summary := s.await(); status.State != Finished || !s.exists(successKey) || summary.Rows != 5*fileRows {
		t.Fatalf("%s, %d rows: %+v", status.State, summary.Rows, status.Failures)
	}
	s.wantExplained(0, 1, 2, 3, 4)
}

func TestInputsThatChangeOrGo(t *testing.T) {
	s := newScene(t, 3)
	s.plan()
	s.write(1, rentals(fileRows+1, 99))
	if err := os.Remove(s.file(2)); err != nil {
		t.Fatal(err)
	}
	status, _ := s.run(1)
	if status.Failed != 2 || !strings.Contains(status.Failures[0].Message, "changed") || !strings.Contains(status.Failures[1].Message, "gone") {
		t.Errorf("%+v", status.Failures)
	}
	s.wantExplained(0)
}

// The same request is the same job; another one does not touch its result.
func TestPlanIsAFunctionOfTheRequest(t *testing.T) {
	s := newScene(t, 2)
	job := s.plan()
	again, old, err := s.job().Plan(t.Context(), s.request())
	if err != nil || !old || again.ID != job.ID {
		t.Fatalf("%v, %v, %v", again, old, err)
	}
	other := s.request()
	other.Options.Long = true
	if _, _, err := s.job().Plan(t.Context(), other); !errors.Is(err, ErrOtherBatch) {
		t.Errorf("another job in the same place: %v", err)
	}
	s.write(1, rentals(fileRows, 77))
	if _, _, err := s.job().Plan(t.Context(), s.request()); !errors.Is(err, ErrOtherBatch) {
		t.Errorf("the same files with other rows: %v", err)
	}
}

// A queue that lost all it held is filled again from what the place of the result says.
func TestLostQueue(t *testing.T) {
	s := newScene(t, 3)
	job := s.plan()
	s.run(1)
	if err := os.Remove(filepath.Join(s.out, job.partKey(1))); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(t.Context(), s.out, Queue{CA: "ca.pem"}); err != nil || strings.Contains(r.Queue.URL, "@") || !strings.HasPrefix(r.Queue.URL, "nats://127.0.0.1:") || r.Queue.CA != "ca.pem" {
		t.Errorf("the job was submitted to %+v, %v", r, err)
	}
	_, put, err := s.job().Submit(t.Context())
	if err != nil || put != 1 || s.exists(successKey) {
		t.Fatalf("%d units, %v", put, err)
	}
	stop := s.work(1)
	defer stop()
	if status, _ := s.await(); status.State != Finished {
		t.Error(status.State)
	}
	s.wantExplained(0, 1, 2)
}

// A part that vanishes behind the queue's back is noticed by whoever finishes the job.
func TestFinishLooksForAllParts(t *testing.T) {
	s := newScene(t, 2)
	job := s.plan()
	s.run(1)
	if err := os.Remove(filepath.Join(s.out, job.partKey(0))); err != nil {
		t.Fatal(err)
	}
	task, err := open(t.Context(), s.out, "auto")
	if err != nil {
		t.Fatal(err)
	}
	defer task.close()
	if _, err := task.finish(t.Context()); err == nil || !strings.Contains(err.Error(), "1 parts") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	s := newScene(t, 3)
	s.plan()
	if _, _, err := s.job().Submit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.job().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, err := s.job().Status(t.Context()); err != nil || status.State != Cancelled || status.Done != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	if status, _ := s.run(1); status.State != Finished {
		t.Error("a cancelled job does not go on")
	}
}

// A model that is not the one of the plan is refused.
func TestModelIsVerified(t *testing.T) {
	s := newScene(t, 1)
	s.plan()
	path := filepath.Join(s.out, filepath.FromSlash(modelKey))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), s.out, "auto"); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("got %v", err)
	}
}

// Text has no row groups: a file is a unit. A table without rows has its columns.
func TestTextAndEmptyTables(t *testing.T) {
	s := newScene(t, 0)
	for name, text := range map[string]string{"a.csv": "rooms,age,town\n2,30,Ayr\n3,,Bath\n", "b.csv": "rooms,age,town\n"} {
		if err := os.WriteFile(filepath.Join(s.in, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.plan()
	if status, summary := s.run(1); status.State != Finished || summary.Rows != 2 {
		t.Errorf("%s, %d rows", status.State, summary.Rows)
	}
	if rows, _ := s.parts(); rows.Rows() != 2 || rows.Column("rooms__std") == nil {
		t.Errorf("%d rows", rows.Rows())
	}
}

// Only what the notes say is in the footer.
func TestNotesComeBack(t *testing.T) {
	s := newScene(t, 1)
	job := s.plan()
	s.run(1)
	out, err := store.Create(context.Background(), s.out)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := file.OpenParquetFile(filepath.Join(s.out, job.partKey(0)), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if v := r.MetaData().KeyValueMetadata().FindValue(tallyNote); v == nil || !strings.Contains(*v, `"rows":170`) {
		t.Errorf("the footer says %v", v)
	}
}
