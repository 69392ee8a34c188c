package main

import (
	"strconv"
	"strings"
	"testing"
)

// classesOf is a table with that many classes, two rows of each.
func classesOf(n int) string {
	var text strings.Builder
	text.WriteString("a,y\n")
	for row := range 2 * n {
		text.WriteString(strconv.Itoa(row*7%13) + ",c" + strconv.Itoa(row%n) + "\n")
	}
	return text.String()
}

func badClasses() []trial {
	table := func(text string) map[string]string { return map[string]string{"t.csv": text} }
	two := "a,y\n" + strings.Repeat("1,red\n2,blue\n", 15)
	three := "a,b,y\n" + strings.Repeat("1,0,red\n2,1,blue\n3,1,green\n", 12)
	training := func(flags string) string { return toTrain + " " + flags }
	return []trial{
		{"target text", table(two), toTrain, 0, "predicts whether y is red from 1 column"},
		{"target true or false", table("a,y\n" + strings.Repeat("1,True\n2,False\n", 15)), toTrain, 0, "predicts whether y is True"},
		{"target of two numbers", table("a,y\n" + strings.Repeat("1,0\n2,1\n", 15)), toTrain, 0, "predicts whether y is 1"},
		{"target of two numbers as a number", table("a,y\n" + strings.Repeat("1,0\n2,1\n", 15)), training("--task regression"), 0, "predicts y from 1 column"},
		{"target of few whole numbers", table("a,y\n" + strings.Repeat("1,0\n2,1\n5,2\n", 12)), toTrain, 0, "--task multiclass takes them for classes"},
		{"regression of text", table(two), training("--task regression"), 1, `column "y": the target is a category, and only numbers have a regression; choose`},
		{"regression of true and false", table("a,y\n" + strings.Repeat("1,true\n2,false\n", 15)), training("--task regression"), 1, "the target is a boolean"},
		{"binary of three classes", table(three), training("--task binary"), 1, "the target has 3 different values, and --task binary needs two"},
		{"101 classes", table(classesOf(101)), toTrain, 1, "more than 100 different values, too many for classes; merge"},
		{"one class", table("a,y\n" + strings.Repeat("1,red\n2,red\n", 15)), toTrain, 1, "the target is red in every row: there is nothing to learn"},
		{"unknown positive label", table(two), training("--positive purple"), 1, `the target has no class "purple" to be the positive one; choose "blue" or "red"`},
		{"positive of three classes", table(three), training("--positive red"), 1, "but the task is multiclass"},
		{"positive of a number", table(two), training("--positive red --task regression"), 2, "--positive needs a target of two classes"},
		{"class that the model does not know", table("a,b,c,kind\n1,2,red,iris\n1,2,red,oak\n"), "evaluate KINDS @t.csv", 1, `row 1, column "kind": "oak" is not among the classes of the model, "iris", "lily" and "rose"`},
		{"number instead of a class", table("x1,x2,x3,y\n1,2,3,7\n"), "evaluate BINARY @t.csv", 1, `row 0, column "y": "7" is not among the classes`},

		{"--output unknown class", nil, "explain KINDS FLOWERS --output oak", 1, `the model has no class "oak"; its classes are iris, lily, rose`},
		{"--against unknown class", nil, "explain KINDS FLOWERS --output iris --against oak", 1, `the model has no class "oak"`},
		{"--against without --output", nil, "explain KINDS FLOWERS --against iris", 2, "add --output CLASS"},
		{"--against itself", nil, "explain KINDS FLOWERS --output iris --against iris", 2, "name two different classes"},
		{"--output of a number", nil, "explain MODEL DATA --output y", 1, `the model predicts the number "y" and has no classes, so --output does not apply; leave it out`},
		{"--output of the negative class", nil, "explain BINARY LABELS --output 0", 1, `with two classes, psi explains the positive one, "1"; leave --output out`},
		{"--against of two classes", nil, "explain BINARY LABELS --output 1 --against 0", 1, "leave --against out"},
	}
}

func TestBadClasses(t *testing.T) { tryAll(t, badClasses()) }

func badRoles() []trial {
	table := func(text string) map[string]string { return map[string]string{"t.csv": text} }
	sound := table(rowsOf("a,b,c,y", 30))
	training := func(flags string) string { return toTrain + " " + flags }
	weighed := func(cell string) map[string]string {
		return table("a,w,y\n" + strings.Repeat("1,1,3\n2,0.5,4\n5,2,9\n", 10) + "7," + cell + ",5\n")
	}
	return []trial{
		{"--group without =", sound, training("--group a,b"), 2, `--group is "a,b": it has no =; give NAME=A,B`},
		{"--group without a name", sound, training("--group =a,b"), 2, "the group has no name"},
		{"--group without columns", sound, training("--group g="), 2, "the list of columns is not valid"},
		{"--group with an empty column", sound, training("--group g=a,,b"), 2, "the list of columns is not valid"},
		{"two groups of one name", sound, training("--group g=a --group g=b"), 2, "another group has this name"},
		{"column in two groups", sound, training("--group g=a,b --group h=b,c"), 2, `column "b" is in the group "g" and in the group "h"; list the column once, in one group`},
		{"column twice in a group", sound, training("--group g=a,a"), 2, `column "a" is in the group "g" and in the group "g"`},
		{"group of an unknown column", sound, training("--group g=a,z"), 1, `column "z": a group names this column, but the table does not have it`},
		{"group of the target", sound, training("--group g=a,y"), 2, `the target, "y", is in the group "g"`},
		{"group of a dropped column", sound, training("--drop b --group g=a,b"), 2, `column "b" of the group "g" is dropped`},
		{"group named as a column", sound, training("--group c=a,b"), 1, `two players would be called "c"`},
		{"explained group without =", nil, "explain MODEL DATA --group x1", 2, "it has no ="},
		{"explained group of an unknown column", nil, "explain MODEL DATA --group g=x1,x9", 1, `column "x9": group "g" names a column`},
		{"--group of a learned head", nil, "explain DEEP WIDE --group g=ca,cb", 1, "deep.psi: the learned head knows only the players it was trained with; use --mode exact, or train with these groups"},

		{"negative weight", weighed("-1"), training("--weight w"), 1, `t.csv, row 30, column "w": the weight -1 is not a finite number from 0 up; write how much`},
		{
			"negative weight of a validation row",
			map[string]string{"t.csv": weighed("1")["t.csv"], "v.csv": "a,w,y\n1,2,3\n1,-2,4\n"},
			training("--weight w --validation @v.csv"), 1, `v.csv, row 1, column "w": the weight -2 is not`,
		},
		{"missing weight", weighed(""), training("--weight w"), 1, `row 30, column "w": the weight is missing`},
		{"weight of text", weighed("much"), training("--weight w"), 1, `column "w": the weights are a category, not numbers`},
		{"unknown weight", sound, training("--weight z"), 1, `column "z": the table has no such column`},
		{"weight is the target", sound, training("--weight y"), 2, "--weight is the target"},
		{"weight is dropped", sound, training("--weight a --drop a"), 2, `the weight "a" is dropped`},
		{"weight in a group", sound, training("--weight a --group g=a,b"), 2, `the weight, "a", is in the group`},
		{"only a weight beside the target", table(rowsOf("w,y", 30)), training("--weight w"), 1, "no feature column is left"},
		{"--missing-as-level of an unknown column", sound, training("--missing-as-level z"), 1, `column "z": --missing-as-level names this column, but it is not a feature`},
		{"--missing-as-level of the target", sound, training("--missing-as-level y"), 2, "--missing-as-level names the target"},
	}
}

func TestBadRoles(t *testing.T) { tryAll(t, badRoles()) }
