package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func badUsage() []trial {
	sound := map[string]string{"t.csv": rowsOf("a,b,y", 30)}
	training := func(flags string) string { return toTrain + " " + flags }
	explaining := func(flags string) string { return "explain MODEL DATA " + flags }
	return []trial{
		{"unknown command", nil, "trian", 2, `there is no command "trian"; did you mean train?`},
		{"unknown flag", nil, "predict MODEL DATA --speed 9", 2, "psi predict has no flag --speed"},
		{"unknown short flag", nil, "predict MODEL DATA -x", 2, "psi predict has no flag -x"},
		{"flag without its value", nil, "predict MODEL DATA -o", 2, "--out needs a value"},
		{"no argument", nil, "predict", 2, "psi predict needs MODEL and DATA; for example psi predict model.psi new.csv"},
		{"one argument of two", nil, "explain MODEL", 2, "psi explain needs DATA"},
		{"one argument too many", nil, "explain MODEL DATA DATA", 2, "quote their pattern"},
		{"unknown effort", nil, "train @t.csv --target y --effort much -o @m.psi", 2, "choose fast, normal or best"},
		{"unknown table", nil, "sample moon -o @t.csv", 2, `there is no table "moon"; choose synth1`},
		{"sample without -o", nil, "sample synth1", 2, "psi sample needs -o; name the file for the table: -o synth1.csv"},
		{"sample of no rows", nil, "sample synth1 --rows 0 -o @t.csv", 2, "--rows is 0"},
		{"sample of too many rows", nil, "sample bike --rows 20000 -o @t.csv", 2, "bike has only 17,379 rows"},
		{"truth of a real table", nil, "sample bike --truth @t.csv -o @b.csv", 2, "so its true attributions are unknown"},
		{"truth of million", nil, "sample million --truth @t.csv -o @b.csv", 2, "choose synth1"},
		{"correlation of independent columns", nil, "sample synth1 --rho .5 -o @t.csv", 2, "synth1 does not take a correlation; leave --rho out, or choose gauss, copy, null or logit"},
		{"correlation of a real table", nil, "sample bike --rho .5 -o @t.csv", 2, "bike does not take a correlation"},
		{"correlation of gaps", nil, "sample gaps --rho .5 -o @t.csv", 2, "gaps does not take a correlation"},
		{"correlation of 1", nil, "sample gauss --rho 1 -o @t.csv", 2, "--rho is 1; give a number of at least 0 and below 1"},
		{"correlation below 0", nil, "sample logit --rho -0.1 -o @t.csv", 2, "--rho is -0.1"},
		{"correlation of no number", nil, "sample null --rho NaN -o @t.csv", 2, "--rho is NaN"},
		{"sample as JSON", nil, "sample synth1 -o - --format json", 2, "psi cannot write this table as JSON"},
		{"sample to an unknown suffix", nil, "sample synth1 -o @t.xlsx", 2, "cannot infer the format"},

		{"no --target", sound, "train @t.csv -o @m.psi", 2, "psi train needs --target"},
		{"no -o", sound, "train @t.csv --target y", 2, "psi train needs -o"},
		{"model to standard output", sound, "train @t.csv --target y -o -", 2, "cannot be written to standard output"},
		{"unknown setting", sound, training("--set speed=9"), 2, `there is no setting "speed"`},
		{"bad value of a setting", sound, training("--set lr=fast"), 2, `setting lr: "fast" is not a number`},
		{"impossible value of a setting", sound, training("--set average=2"), 2, "average must be in [0, 1)"},
		{"setting without a value", sound, training("--set lr"), 2, "give KEY=VALUE"},
		{"setting given twice", sound, training("--members 2 --set members=3"), 2, "members is set twice"},
		{"broken YAML", map[string]string{"t.csv": sound["t.csv"], "c.yaml": "steps: [1\n"}, training("--config @c.yaml"), 2, "c.yaml"},
		{"YAML of something else", map[string]string{"t.csv": sound["t.csv"], "c.yaml": "- steps\n"}, training("--config @c.yaml"), 2, "not a list of settings"},
		{"unknown setting in YAML", map[string]string{"t.csv": sound["t.csv"], "c.yaml": "lr: 0.1\nspeed: 3\n"}, training("--config @c.yaml"), 2, "c.yaml, line 2: there is no setting"},
		{"no such YAML", sound, training("--config @c.yaml"), 1, "c.yaml: cannot be read"},
		{"--head nonsense", sound, training("--head big"), 2, `--head is "big"; choose exact or learned`},
		{"--backend nonsense", sound, training("--backend abacus"), 2, `--backend is "abacus"; choose auto, native, go, onnx or xla`},
		{"--task nonsense", sound, training("--task ranking"), 2, `--task is "ranking"; choose auto, regression, binary or multiclass`},
		{"--time-budget nonsense", sound, training("--time-budget soon"), 2, "give a time such as 10m"},
		{"--time-budget negative", sound, training("--time-budget -3s"), 2, "give a time such as 10m"},
		{"--seed -1", sound, training("--seed -1"), 2, `--seed is "-1"; give a whole number from 0 up`},
		{"--members 0", sound, training("--members 0"), 2, "members is 0"},
		{"--members many", sound, training("--members many"), 2, "give a whole number"},
		{"--validation-fraction 2", sound, training("--validation-fraction 2"), 2, "between 0 and 1"},
		{"two ways to validate", sound, training("--validation @t.csv --validation-by a"), 2, "leave one of them out"},
		{"--validation-by an absent column", sound, training("--validation-by z"), 1, `column "z": the table has no such column`},
		{"--validation-by the target", sound, training("--validation-by y"), 2, "name another column"},
		{"--validation-after without --order-by", sound, training("--validation-after 3"), 2, "name the column: --order-by COLUMN"},
		{"--validation-after of nothing", sound, training("--order-by a --validation-after="), 2, "--validation-after is empty"},
		{"--validation-after and a share", sound, training("--order-by a --validation-after 3 --validation-fraction .2"), 2, "leave one of them out"},
		{"--validation-after that is no number", sound, training("--order-by a --validation-after soon"), 1, "write it as in the table"},
		{"--validation-after all rows", sound, training("--order-by a --validation-after 1e9"), 1, "no row is after --validation-after"},
		{"--order-by and --validation-by", sound, training("--order-by a --validation-by b"), 2, "leave one of them out"},
		{"--order-by and --validation", sound, training("--order-by a --validation @t.csv"), 2, "leave one of them out"},
		{"--order-by an absent column", sound, training("--order-by z"), 1, `column "z": the table has no such column`},
		{"--order-by the target", sound, training("--order-by y"), 2, "name another column"},
		{"--order-by of the only input", sound, training("--drop a,b --order-by b"), 1, "no feature column is left"},
		{"cv without --target", sound, "cv @t.csv", 2, "psi cv needs --target"},
		{"cv without DATA", nil, "cv --target y", 2, "psi cv needs DATA; for example psi cv houses.csv"},
		{"cv of one fold", sound, "cv @t.csv --target y --folds 1", 2, "--folds is 1; give 2 or more"},
		{"cv by two columns", sound, "cv @t.csv --target y --by a --order-by b", 2, "leave one of them out"},
		{"cv by the target", sound, "cv @t.csv --target y --by y", 2, "--by is the target"},
		{"cv by an absent column", sound, "cv @t.csv --target y --by z", 1, `column "z": the table has no such column`},
		{"cv by one value", map[string]string{"t.csv": strings.ReplaceAll(rowsOf("a,b,y", 30), "\n", ",c\n")}, "cv @t.csv --target y --by c", 1, "name another column in --by"},
		{"cv in an order of too few values", map[string]string{"t.csv": strings.ReplaceAll(rowsOf("a,b,y", 30), "\n", ",1\n")}, "cv @t.csv --target y --order-by 1", 1, "give fewer --folds, or name another column"},
		{"cv of too many folds", sound, "cv @t.csv --target y --folds 31", 1, "give fewer --folds"},
		{"cv with bags", sound, "cv @t.csv --target y --bags 2", 2, "psi cv has no flag --bags"},
		{"cv of no share", sound, "cv @t.csv --target y --validation-fraction 0", 2, "between 0 and 1"},
		{"--validation of no file", sound, training("--validation @v.csv"), 1, "v.csv: there is no such file"},
		{"--drop all inputs", sound, training("--drop a,b"), 1, "no feature column is left"},
		{"--drop the target", sound, training("--drop y"), 2, `the target "y" is dropped`},
		{"--drop an absent column", sound, training("--drop z"), 1, `column "z": the table has no such column to drop; choose among a, b, y`},
		{"--categorical an absent column", sound, training("--categorical z"), 1, `column "z": the column is declared a category but the table has no such column`},
		{"model into no directory", sound, "train @t.csv --target y -o @no/m.psi", 1, "the directory does not exist; create it: mkdir -p"},
		{"--resume with other settings", map[string]string{"t.csv": sound["t.csv"], "m.psi.checkpoint": "no checkpoint"}, training("--resume"), 1, "not a psi"},

		{"a directory as DATA", nil, "predict MODEL @.", 1, "this is a directory; give a file, or a quoted pattern"},
		{"no such file", nil, "predict MODEL @none.csv", 1, "none.csv: there is no such file"},
		{"pattern that matches nothing", nil, "predict MODEL @none-*.csv", 1, "no file matches the pattern"},
		{"broken pattern", nil, "predict MODEL @none-[.csv", 2, "close its brackets"},
		{"unknown suffix", map[string]string{"t.txt": "a"}, "predict MODEL @t.txt", 1, "cannot infer the format from the file name; use .csv"},
		{"spreadsheet", map[string]string{"t.xlsx": "a"}, "predict MODEL @t.xlsx", 1, "psi neither reads nor writes spreadsheets; use .csv"},
		{"a URL of no store", nil, "predict MODEL http://host/t.csv", 2, "http:// is no store that is known; use s3://, gs://, azblob:// or file://"},
		{"a URL of no full path", nil, "predict MODEL file://t.csv", 2, "this is no URL of a file; write file:// and the full path"},
		{"a URL with nonsense", nil, "predict MODEL s3://bucket/t.csv?colour=red", 2, "colour"},
		{"a URL of no file", nil, "predict MODEL file://@none.csv", 1, "there is no such file or object; check the URL"},
		{"a URL of an empty directory", nil, "predict MODEL file://@", 1, "there are no tables under this prefix"},
		{"a broken pattern in a URL", nil, "predict MODEL file://@[.csv", 2, "this is no pattern of names; close its brackets"},
		{"result to a URL", nil, "predict MODEL DATA -o s3://bucket/r.csv", 2, "psi cannot write results to a URL; write to a file, then copy it there"},
		{"model to a URL", sound, "train @t.csv --target y -o s3://bucket/m.psi", 2, "psi cannot write results to a URL"},
		{"standard input of no format", nil, "predict MODEL -", 2, "add --format"},
		{"standard input as JSON", nil, "predict MODEL - --format json", 2, "psi cannot read JSON tables"},
		{"unknown format", nil, "predict MODEL DATA --format xml", 2, `psi cannot write the format "xml"`},
		{"unknown input format", nil, "evaluate MODEL - --format xml", 2, `psi cannot read the format "xml"`},
		{"result to an unknown suffix", nil, "predict MODEL DATA -o @r.xlsx", 2, "cannot infer the format"},
		{"result into no directory", nil, "predict MODEL DATA -o @no/r.csv", 1, "the directory does not exist"},
		{"result is a directory", map[string]string{"t.csv": "a"}, "predict MODEL DATA -o @.", 1, "this is a directory"},
		{"model is a directory", sound, "train @t.csv --target y -o @.", 1, "this is a directory"},
		{"--format of no use", nil, "predict MODEL DATA -o @r.csv --format arrow", 2, "--format does not apply here"},
		{"--format of no use to measure", nil, "evaluate MODEL DATA --format arrow", 2, "--format does not apply here"},

		{"--threshold beyond 1", nil, "evaluate BINARY LABELS --threshold 0.2,20", 2, "--threshold is 20, which is not a probability"},
		{"--threshold of no number", nil, "evaluate BINARY LABELS --threshold high", 2, "--threshold"},
		{"--threshold of a number", nil, "evaluate MODEL DATA --threshold 0.2", 1, "a threshold needs a target of two classes"},
		{"--threshold of three classes", nil, "evaluate KINDS FLOWERS --threshold 0.2", 1, "a threshold needs a target of two classes"},

		{"--rows backwards", nil, explaining("--rows 5:2"), 2, `--rows is "5:2": it contains no row`},
		{"--rows not numbers", nil, explaining("--rows a:b"), 2, "these are not row numbers"},
		{"--rows negative", nil, explaining("--rows -3:2"), 2, "these are not row numbers"},
		{"--rows none", nil, explaining("--rows 0"), 2, "it contains no row"},
		{"--rows beyond the end", nil, explaining("--rows 1000:1001"), 1, "it has no rows 1000:1001"},
		{"--z negative", nil, explaining("--z -1"), 2, "--z is -1; give a positive number"},
		{"--z nonsense", nil, explaining("--z wide"), 2, `--z is "wide"; give a number`},
		{"--top 0", nil, explaining("--top 0"), 2, "--top is 0"},
		{"--mode unknown", nil, explaining("--mode slow"), 2, `--mode is "slow"; choose fast, refined or exact`},
		{"--layout unknown", nil, explaining("--layout tall"), 2, "choose wide or long"},
		{"--mode exact with 20 columns", nil, "explain DEEP WIDE --mode exact", 1, "at most 16 columns"},
		{"--tolerance of mode fast", nil, explaining("--tolerance 0.1"), 2, "--tolerance and --budget do not work with --mode fast; add --mode refined"},
		{"--tolerance negative", nil, explaining("--mode refined --tolerance -1"), 2, "--tolerance is -1"},
		{"--budget negative", nil, explaining("--mode refined --budget -1"), 2, "--budget is -1"},
		{"--interactions of a learned head", nil, "explain DEEP WIDE --interactions", 1, "--mode exact"},
		{"--interactions in a long table", nil, explaining("--interactions --layout long -o @r.csv"), 2, "--interactions does not work with the long layout; use --layout wide"},
		{"--unknown an absent column", nil, explaining("--unknown x9"), 1, `column "x9": the model has no such column`},
		{"audit of --rows 0", nil, "audit MODEL DATA --rows 0", 2, "--rows is 0"},
	}
}

func TestBadUsage(t *testing.T) { tryAll(t, badUsage()) }

// zipOf is a zip of one entry.
func zipOf(t *testing.T, name, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDamagedFiles(t *testing.T) {
	content, err := os.ReadFile(fixtures.model)
	if err != nil {
		t.Fatal(err)
	}
	sound := string(content)
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	arrow := mustRun(t, "sample", "synth1", "--rows", "50", "-o", "-", "--format", "arrow")
	parquet := mustRun(t, "sample", "synth1", "--rows", "50", "-o", "-", "--format", "parquet")
	model := func(text string) map[string]string { return map[string]string{"m.psi": text} }
	const opening = "inspect @m.psi"
	tryAll(t, []trial{
		{"no such model", nil, opening, 1, "m.psi: there is no such file"},
		{"truncated model", model(sound[:len(sound)*2/3]), opening, 1, "truncated"},
		{"model with a flipped byte", model(string(flipped)), opening, 1, "damaged"},
		{"model is text", model("hello"), opening, 1, "not a psi model"},
		{"model is empty", model(""), opening, 1, "the file is empty"},
		{"model is a zip without a manifest", model(zipOf(t, "a.txt", "b")), opening, 1, "it has no manifest.json"},
		{"model of another program", model(zipOf(t, "manifest.json", `{"name":"x"}`)), opening, 1, "not psi's"},
		{"model of a newer format", model(zipOf(t, "manifest.json", `{"kind":"psi.model","format":9,"content":{},"parts":{}}`)), opening, 1, "newer psi (format 9"},
		{"model is a checkpoint", model(zipOf(t, "manifest.json", `{"kind":"psi.checkpoint","format":1,"content":{},"parts":{}}`)), "predict @m.psi DATA", 1, "checkpoint"},
		{"model is a directory", nil, "inspect @.", 1, "this is a directory"},
		{"truncated Arrow", map[string]string{"t.arrow": arrow.stdout[:len(arrow.stdout)/2]}, "predict MODEL @t.arrow", 1, "damaged or not in its format"},
		{"truncated Parquet", map[string]string{"t.parquet": parquet.stdout[:len(parquet.stdout)/2]}, "predict MODEL @t.parquet", 1, "damaged or not in its format"},
		{"DATA and MODEL exchanged", nil, "predict DATA MODEL", 1, "not a psi model"},
	})
}

// A checkpoint of another training is refused.
func TestForeignCheckpoint(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.psi")
	checkpoint := interrupted(t, model)
	r := trial{"other settings", nil, "train DATA --target y --members 3 --resume --seed 2 -o " + model, 1, "another training"}
	r.run(t)
	r.runForProgram(t)
	if !exists(checkpoint) {
		t.Error("the refused checkpoint is gone")
	}
	o := mustRun(t, quick("train", fixtures.table, "--target", "y", "-o", model)...)
	wantText(t, o.stderr, "starting from scratch and replacing it")
	if strings.Contains(o.stderr, "resumed") {
		t.Error("resumed without being asked to")
	}
}
