package observe

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

func openLog(t testing.TB, o LogOptions) *ExplanationLog {
	t.Helper()
	if o.Report == nil {
		o.Report = func(err error) { t.Error(err) }
	}
	l, err := OpenExplanationLog(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func closeLog(t testing.TB, l *ExplanationLog) {
	t.Helper()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// logFilesIn are the names of the whole files, the oldest first.
func logFilesIn(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, logPrefix+"*"+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// readLog is all files, one after the other.
func readLog(t testing.TB, dir string) []*table.Table {
	t.Helper()
	var list []*table.Table
	for _, name := range logFilesIn(t, dir) {
		whole, err := table.Read(t.Context(), name, table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, whole)
	}
	return list
}

// expectRows holds the counts to what became of the rows.
func expectRows(t *testing.T, l *ExplanationLog, want map[string]float64) {
	t.Helper()
	all := map[string]float64{}
	for _, outcome := range []string{written, dropped, failed} {
		all["psi_explanation_log_rows_total "+outcome] = want[outcome]
	}
	expectGauges(t, l, all)
}

func TestLogHoldsWhatWasSaid(t *testing.T) {
	for _, values := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "not", "there")
		l := openLog(t, LogOptions{Dir: dir, Share: 1, Values: values})
		e := rowsOf([][]float64{{1, -2}, {math.NaN(), 3}})
		e.FirstRow = 5
		e.Interactions = make([]float64, 2*2*2)
		before := time.Now()
		l.Add("adult", "2", "id-1", e)
		doubted := rowsOf([][]float64{{7, 8}})
		doubted.Bags, doubted.ModelStd = 2, []float64{.5, .25}
		l.Add("adult", "", "", doubted)
		against := rowsOf([][]float64{{7, 8}})
		against.Against = "row 8"
		l.Add("adult", "", "", against)
		closeLog(t, l)
		expectRows(t, l, map[string]float64{written: 3})

		files := readLog(t, dir)
		if len(files) != 1 {
			t.Fatalf("%d files, want 1", len(files))
		}
		whole := files[0]
		var names []string
		for _, c := range whole.Columns {
			names = append(names, c.Name)
		}
		if want := "time model version request_id game row output player value observed mean std model_std lower upper p_positive p_top"; strings.Join(names, " ") != want {
			t.Errorf("columns %s, want %s", strings.Join(names, " "), want)
		}
		var got []string
		for line := range whole.Rows() {
			cells := make([]string, 0, len(names))
			for _, name := range []string{"model", "version", "request_id", "row", "output", "player", "value", "observed", "mean", "std", "model_std"} {
				cells = append(cells, whole.Column(name).Text(line))
			}
			got = append(got, strings.Join(cells, ","))
			if at := whole.Column("time").Numbers[line]; math.Abs(at-float64(before.UnixMicro())/1e6) > 60 {
				t.Errorf("line %d: time %v, want about %v", line, at, before)
			}
		}
		want := []string{
			"adult,2,id-1,5,y,x0,1001,true,1,0.1,",
			"adult,2,id-1,5,y,x1,998,true,-2,0.2,",
			"adult,2,id-1,6,y,x0,,false,0,0,",
			"adult,2,id-1,6,y,x1,1003,true,3,0.3,",
			"adult,,,0,y,x0,1007,true,7,0.7,0.5",
			"adult,,,0,y,x1,1008,true,8,0.8,0.25",
		}
		if !values {
			for i, line := range want {
				cells := strings.Split(line, ",")
				cells[6] = ""
				want[i] = strings.Join(cells, ",")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("values %v:\n%s\nwant\n%s", values, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if e.Interactions == nil || e.Values[0] == nil {
			t.Error("the caller's explanation was changed")
		}
	}
}

func TestLogRotates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := openLog(t, LogOptions{Dir: dir, Share: 1, Lines: 10, Files: 4})
		one := rowsOf([][]float64{{1, 2}}) // two lines
		add := func(requests int) {
			for range requests {
				l.Add("m", "", "", one)
				synctest.Wait()
			}
		}
		add(4)
		if n := len(logFilesIn(t, dir)); n != 0 {
			t.Errorf("%d files after 8 lines, want none yet", n)
		}
		add(1)
		if n := len(logFilesIn(t, dir)); n != 1 {
			t.Errorf("%d files after 10 lines, want 1", n)
		}
		add(1)
		time.Sleep(9*time.Minute + 59*time.Second)
		synctest.Wait()
		if n := len(logFilesIn(t, dir)); n != 1 {
			t.Errorf("%d files before ten minutes, want 1", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		files := readLog(t, dir)
		if len(files) != 2 || files[1].Rows() != 2 {
			t.Errorf("%d files after ten minutes, want 2, the second of 2 lines", len(files))
		}
		oldest := logFilesIn(t, dir)[0]
		for range 3 {
			time.Sleep(time.Second)
			add(5)
		}
		if kept := logFilesIn(t, dir); len(kept) != 4 || slices.Contains(kept, oldest) {
			t.Errorf("files %v, want four without %s", kept, oldest)
		}
		closeLog(t, l)
		expectRows(t, l, map[string]float64{written: 21})
	})
}

// Files of earlier runs count for what is kept; those of others are left alone.
func TestLogKeepsSoManyBytes(t *testing.T) {
	dir := t.TempDir()
	for name, bytes := range map[string]int{
		"explanations-20200101T000000.000Z-aaaaaa.parquet": 1000, "explanations-20200102T000000.000Z-aaaaaa.parquet": 1000,
		"other.parquet": 1 << 20, ".explanations-20200101T000000.000Z-aaaaaa.parquet.ABCDEFGH.tmp": 50,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := openLog(t, LogOptions{Dir: dir, Share: 1, Bytes: 1500})
	closeLog(t, l)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"explanations-20200102T000000.000Z-aaaaaa.parquet", "other.parquet"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestLogChoosesItsShare(t *testing.T) {
	const n = 20_000
	for _, share := range []float64{0, .01, .3, 1} {
		for _, named := range []bool{true, false} {
			hits := 0
			for i := range n {
				id := ""
				if named {
					id = fmt.Sprint("request-", i)
					// A random decision would contradict itself somewhere; and a larger share holds the smaller one.
					if first := chosen(id, share); first != chosen(id, share) || first && !chosen(id, (1+share)/2) {
						t.Fatalf("%s is not always decided alike", id)
					}
				}
				if chosen(id, share) {
					hits++
				}
			}
			// Six standard deviations: once in five hundred million.
			if got := float64(hits) / n; math.Abs(got-share) > 6*math.Sqrt(share*(1-share)/n) {
				t.Errorf("share %v, with ids %v: %v were chosen", share, named, got)
			}
		}
	}
	for _, share := range []float64{-.1, 1.1, math.NaN()} {
		if _, err := OpenExplanationLog(LogOptions{Dir: t.TempDir(), Share: share}); err == nil {
			t.Errorf("a share of %v is taken", share)
		}
	}
}

// Requests that come faster than the disk are dropped, no caller waits, and later ones are logged again.
func TestLogNeverBlocks(t *testing.T) {
	l := openLog(t, LogOptions{Dir: t.TempDir(), Share: 1, Lines: 100})
	rows := make([][]float64, 4)
	for i := range rows {
		rows[i] = make([]float64, 14)
	}
	e := rowsOf(rows)
	var wait sync.WaitGroup
	start := time.Now()
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				l.Add("m", "", "", e)
			}
		})
	}
	wait.Wait()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("16,000 calls took %v", took)
	}
	for deadline := time.Now().Add(10 * time.Second); l.waiting.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	before := gauges(t, l)
	l.Add("m", "", "", e)
	closeLog(t, l)
	l.Add("m", "", "", e) // after the end
	after := gauges(t, l)
	sum := 0.0
	for _, v := range after {
		sum += v
	}
	const name = "psi_explanation_log_rows_total "
	if sum != 16_002*4 || before[name+dropped] == 0 || after[name+dropped] != before[name+dropped]+4 || after[name+failed] != 0 {
		t.Errorf("%v and then %v, want %d in all, some dropped, the last but one written and the last dropped", before, after, 16_002*4)
	}
}

// Nor does one wait while the log itself is stuck.
func TestLogNeverBlocksWhenStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := openLog(t, LogOptions{Dir: t.TempDir(), Share: 1, Report: func(error) { <-free }})
		one := rowsOf([][]float64{{1}})
		wrong := rowsOf([][]float64{{1}})
		wrong.Mean = nil
		l.Add("m", "", "", wrong)
		synctest.Wait()
		for range 2 * queueRequests {
			l.Add("m", "", "", one)
		}
		expectRows(t, l, map[string]float64{dropped: queueRequests, failed: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); err == nil {
			t.Error("a log that is stuck is closed")
		}
		close(free)
		closeLog(t, l)
		expectRows(t, l, map[string]float64{written: queueRequests, dropped: queueRequests, failed: 1})
	})
}

func TestLogWithoutPermissionDoesNotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenExplanationLog(LogOptions{Dir: file, Share: 1}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a log in a file: %v", err)
	}
}

// A disk that stays full is said at the end, and the rows are counted.
func TestLogEndsOnALostDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, LogOptions{Dir: dir, Share: 1, Report: func(error) {}})
	l.Add("m", "", "", rowsOf([][]float64{{1, 2}}))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err == nil {
		t.Error("nothing is said of a batch that is lost")
	}
	expectRows(t, l, map[string]float64{failed: 1})
}

// An explanation that contradicts itself is counted, and those about it are logged.
func TestLogSurvivesAWrongExplanation(t *testing.T) {
	var said error
	l := openLog(t, LogOptions{Dir: t.TempDir(), Share: 1, Report: func(err error) { said = err }})
	one := rowsOf([][]float64{{1, 2}})
	wrong := rowsOf([][]float64{{1, 2}})
	wrong.Mean = nil
	for _, e := range []*explain.Explanation{one, wrong, one} {
		l.Add("m", "", "", e)
	}
	closeLog(t, l)
	expectRows(t, l, map[string]float64{written: 2, failed: 1})
	if said == nil || !strings.Contains(said.Error(), `model "m"`) {
		t.Errorf("reported: %v", said)
	}
}

const logDirVariable = "WATCH_TEST_LOG_DIR"

// TestMain writes a log without end if it is the program that TestLogAfterKill kills.
func TestMain(m *testing.M) {
	dir := os.Getenv(logDirVariable)
	if dir == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what a TestMain does
	}
	l, err := OpenExplanationLog(LogOptions{Dir: dir, Share: 1, Lines: 2000})
	if err != nil {
		panic(err)
	}
	rows := make([][]float64, 100)
	for i := range rows {
		rows[i] = []float64{float64(i), 2, 3, 4, 5}
	}
	for e := rowsOf(rows); ; {
		l.Add("m", "", "", e)
		time.Sleep(100 * time.Microsecond)
	}
}

// A server that is killed leaves whole files, and at most a draft that the next one removes.
func TestLogAfterKill(t *testing.T) {
	drafts := func(dir string) []string {
		list, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for try := range 30 {
		dir := t.TempDir()
		program := exec.CommandContext(t.Context(), os.Args[0])
		program.Env = append(os.Environ(), logDirVariable+"="+dir)
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); (len(logFilesIn(t, dir)) < 2 || len(drafts(dir)) == 0) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if err := program.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = program.Wait() // it was killed
		files := readLog(t, dir)
		for _, whole := range files {
			if whole.Rows() != 2000 {
				t.Errorf("a file of %d lines, want 2000", whole.Rows())
			}
		}
		if len(files) < 2 {
			t.Fatalf("%d files in 20 seconds", len(files))
		}
		left := drafts(dir)
		closeLog(t, openLog(t, LogOptions{Dir: dir}))
		if still := drafts(dir); len(still) > 0 {
			t.Errorf("drafts %v are still there", still)
		}
		if n := len(logFilesIn(t, dir)); n != len(files) {
			t.Errorf("%d files after the next start, %d before", n, len(files))
		}
		if len(left) > 0 {
			t.Logf("try %d: killed with %d files and a draft, %s", try, len(files), filepath.Base(left[0]))
			return
		}
	}
	t.Error("no kill left a draft: the test has not shown that drafts are removed")
}
