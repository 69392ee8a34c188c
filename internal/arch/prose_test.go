package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of docs/style.md that a program can check, over the words that users read: Markdown pages, the pages of
// commands and of the Python package, and the strings of the command line and of errors.

// maxWords is the length of a sentence from which it is split in two.
const maxWords = 30

// rule is a phrase to avoid, and what to write in its place.
type rule struct {
	phrase *regexp.Regexp
	better string
}

func avoid(phrase, better string) rule {
	return rule{regexp.MustCompile(`(?i)\b(` + phrase + `)\b`), better}
}

// Phrases that puzzle readers.
var dialect = []rule{
	avoid(`(is|are|was|were|been) told`, "name who says it: psi reports, you set"),
	avoid(`(tells|tell) (no|none|of|how|what|which)`, "shows, lists, reports"),
	avoid(`be it`, "even if, whether"),
	avoid(`of those (that|which)`, "name the noun"),
	avoid(`lets itself`, "can be"),
	avoid(`there is none of`, "there is no"),
	avoid(`(is|are) no (input|inputs|number|numbers|probability|columns|pattern|format|time|list|player)`, "is not a …; not used as a feature"),
	avoid(`makes no sense`, "is invalid"),
	avoid(`what is no`, "what is not a"),
	avoid(`(hold|holds|held) (it|each|every|the one|them|\w+ row) against`, "compare with"),
	avoid(`(go|goes|going|went) on (with|from)`, "continue"),
	avoid(`(does|do) not go with|goes with neither`, "cannot be combined"),
	avoid(`(is|are) of no use`, "does not apply"),
	avoid(`taken for`, "treated as"),
	avoid(`to take for`, "to treat as"),
	avoid(`stand(s)? behind|behind each stands`, "give the measurement"),
	avoid(`by heart`, "overfitted"),
	avoid(`who may ask`, "authentication"),
	avoid(`who (they|you) (are|is)`, "authentication"),
	avoid(`what came of`, "the results of"),
	avoid(`what came true`, "observed"),
	avoid(`doubt (is )?granted`, "interval width"),
	avoid(`one player`, "one attribution"),
	avoid(`under way`, "in progress"),
	avoid(`(set|starts?|made|make|makes|trains?|built?|done) anew`, "again"),
	avoid(`give yourself`, "check the permissions"),
	avoid(`tell of`, "report"),
	avoid(`troubles`, "warnings and errors"),
	avoid(`all the same`, "anyway"),
	avoid(`otherwise than`, "different from"),
	avoid(`hold(s)? what (it|they) promise`, "calibration"),
	avoid(`hardly knew`, "saw rarely"),
	avoid(`mend`, "fix"),
	avoid(`rightly`, "correctly"),
	avoid(`rows that validate|validating rows`, "validation rows"),
	avoid(`players? who|who (is|are) absent`, "players that are missing"),
	avoid(`(at most|no more than) so many`, "at most the given number of"),
	avoid(`commonest`, "most frequent"),
	avoid(`learned of`, "learned from, informative"),
	avoid(`has (no )?use for`, "needs, benefits from"),
	avoid(`what becomes of`, "what happens to"),
	avoid(`what is to be`, "name the noun"),
	avoid(`lets? go of`, "releases"),
	avoid(`lest`, "so that … not"),
}

// Spellings that are not British, which most of the repository is.
var american = []rule{
	avoid(`colors?|colored|coloring`, "colour"),
	avoid(`behaviors?`, "behaviour"),
	avoid(`centers?|centered`, "centre"),
	avoid(`neighbors?`, "neighbour"),
	avoid(`labeled|labeling`, "labelled"),
	avoid(`canceled|canceling`, "cancelled"),
	avoid(`(standard|normal|recogn|summar|organ|initial|serial|minim|maxim|general)iz(e|es|ed|ing|ation)`, "-ise"),
	avoid(`gray`, "grey"),
	avoid(`favor(s|ed|ite)?`, "favour"),
}

// held reports whether the rules are about a file: pages for users and contributors, and code whose strings users read.
func held(f file) bool {
	switch dir := path.Dir(f.path); {
	case dir == ".", dir == "docs", dir == ".github", f.path == "python/README.md":
		if path.Ext(f.path) == ".md" {
			return true
		}
	}
	return f.ast != nil && !f.isTest() && !ast.IsGenerated(f.ast)
}

func TestProse(t *testing.T) {
	for _, f := range house(t) {
		if !held(f) {
			continue
		}
		for _, fault := range faults(proseOf(t, f)) {
			t.Errorf("%s: %s", f.path, fault)
		}
	}
}

func TestProseRulesFindFaults(t *testing.T) {
	long := strings.Repeat("and so on ", 11) + "to the end."
	for text, want := range map[string]string{
		"The column is no input.":                                 `"is no input"`,
		"A plain sentence. Then stop when the server is told to.": `"is told"`,
		"The color of a bar.":                                     `"color"`,
		long:                                                      "36 words",
		"# A page\n\nWords that\nare told over two lines.":                   `"are told"`,
		"- An item\n- another that be it short":                              `"be it"`,
		"| a | b |\n| --- | --- |\n| cell | what is no number |":             `"what is no"`,
		"```\nthe column is no input\n```\nGood. `is no input` is code too.": "",
		"Plain words: psi drops the column. See [a page](is-told.md).":       "",
	} {
		got := strings.Join(faults(markdown(text)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
	const code = `package p; var e = errors.New("the column is no input")`
	tree, err := parser.ParseFile(token.NewFileSet(), "", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := faults(literals(t, tree)); len(found) != 1 {
		t.Errorf("%s: found %q", code, found)
	}
}

// faults returns what is wrong with paragraphs of plain text.
func faults(paragraphs []string) []string {
	var found []string
	for _, text := range paragraphs {
		for _, r := range slices.Concat(dialect, american) {
			if phrase := r.phrase.FindString(text); phrase != "" {
				found = append(found, fmt.Sprintf("%q (better: %s) in %q", phrase, r.better, text))
			}
		}
		for _, sentence := range sentenceEnd.Split(text, -1) {
			if words := len(strings.Fields(sentence)); words > maxWords {
				found = append(found, fmt.Sprintf("a sentence of %d words, more than %d: %q", words, maxWords, sentence))
			}
		}
	}
	return found
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')*]*(\s+|$)`)

// proseOf returns the paragraphs of a file.
func proseOf(t *testing.T, f file) []string {
	t.Helper()
	if path.Ext(f.path) == ".md" {
		return markdown(f.text)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if path.Dir(f.path) == "cmd/psi" {
		return literals(t, tree)
	}
	return messages(t, tree)
}

// messages returns the words of the errors, log lines and metrics of a Go file.
func messages(t *testing.T, tree *ast.File) []string {
	t.Helper()
	var texts []string
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if reports(n.Fun) {
				for _, argument := range n.Args {
					texts = append(texts, literals(t, argument)...)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Message" || key.Name == "Remedy") {
				texts = append(texts, literals(t, n.Value)...)
			}
		}
		return true
	})
	return texts
}

// reports returns whether a function makes an error of its arguments (errors.New, fmt.Errorf, or a name that starts with wrong), logs
// them, or describes a metric by them.
func reports(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Errorf", "New", "Info", "Warn", "Error", "NewDesc", "gauges", "counters", "histograms"}, f.Sel.Name)
	case *ast.Ident:
		return strings.HasPrefix(f.Name, "wrong")
	}
	return false
}

// literals returns the strings below a node that are words: two or more.
func literals(t *testing.T, tree ast.Node) []string {
	t.Helper()
	var texts []string
	ast.Inspect(tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			// What is set off by spaces is a table or a command.
			if len(strings.Fields(paragraph)) > 1 && !strings.HasPrefix(paragraph, "  ") {
				texts = append(texts, strings.Join(strings.Fields(paragraph), " "))
			}
		}
		return true
	})
	return texts
}

var (
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
	indented = regexp.MustCompile(`(?m)^ {4}.*$`)
	fence    = regexp.MustCompile("(?ms)^ *```.*?\n *```")
	codeSpan = regexp.MustCompile("``[^`]+``|`[^`]+`")
	link     = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	// A heading, an item of a list, a row of a table and an empty line each start a paragraph.
	start = regexp.MustCompile(`(?m)^\s*(#+|[-*]|\d+\.|\|)\s|^\s*$`)
)

// markdown returns the paragraphs of a page without code, the addresses of links and tables' lines.
func markdown(text string) []string {
	text = fence.ReplaceAllString(comment.ReplaceAllString(text, ""), "\n")
	text = indented.ReplaceAllString(text, "")
	text = link.ReplaceAllString(codeSpan.ReplaceAllString(text, "code"), "$1")
	text = start.ReplaceAllString(text, "\n\n$0")
	var paragraphs []string
	for block := range strings.SplitSeq(text, "\n\n") {
		for cell := range strings.SplitSeq(block, " | ") {
			cell = strings.Trim(strings.Join(strings.Fields(cell), " "), "#-*| ")
			if cell != "" {
				paragraphs = append(paragraphs, cell)
			}
		}
	}
	return paragraphs
}
