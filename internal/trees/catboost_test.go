package trees

import (
	"reflect"
	"strings"
	"testing"
)

func catboostCase(t testing.TB, name string) library {
	t.Helper()
	for _, c := range libraries(t, "catboost") {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("testdata has no case %q", name)
	return library{}
}

// What no split of single columns can express is refused with a remedy, and so is what the file does not tell.
func TestCatBoostRefused(t *testing.T) {
	statistics, number := catboostCase(t, "statistics of labels").Model, catboostCase(t, "number").Model
	for _, c := range []struct{ name, content, want string }{
		{"combined columns", catboostCase(t, "combined columns").Model, "max_ctr_complexity=1"},
		{"no texts", strings.ReplaceAll(statistics, "cat_features_hash", "unknown"), "pool=POOL"},
		{"a text less", strings.Replace(statistics, `"cat_features_hash":[{"hash":`, `"cat_features_hash":[{"hash":1`, 1), "pool=POOL"},
		{"no tables", strings.ReplaceAll(statistics, "ctr_data", "unknown"), "ctr_data lacks"},
		{"texts", strings.Replace(number, `"float_features"`, `"text_features":[{}],"float_features"`, 1), "text_features"},
		{"loss", strings.Replace(number, `"RMSE"`, `"RMSEWithUncertainty"`, 1), "RMSEWithUncertainty"},
		{"split", strings.Replace(number, `"FloatFeature"`, `"EstimatedFeature"`, 1), "EstimatedFeature"},
		{"values", strings.Replace(number, `"leaf_values":[`, `"leaf_values":[1,`, 1), "9 values"},
		{"outputs", strings.Replace(number, `"scale_and_bias":[1,[`, `"scale_and_bias":[1,[],[`, 1), "two elements"},
	} {
		if _, err := ReadCatBoost([]byte(c.content)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, without %q", c.name, err, c.want)
		}
	}
}

func TestCatBoostClasses(t *testing.T) {
	for name, want := range map[string][]string{"number": nil, "two classes": {"no", "yes"}, "three classes": {"0", "1", "2"}, "each class": {"0", "1", "2"}} {
		m, err := ReadCatBoost([]byte(catboostCase(t, name).Model))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m.Classes, want) {
			t.Errorf("%s: the classes are %q, not %q", name, m.Classes, want)
		}
	}
}

// A column without a name has its number.
func TestCatBoostNames(t *testing.T) {
	content := strings.ReplaceAll(catboostCase(t, "number").Model, `"feature_id":"e"`, `"feature_id":""`)
	m, err := ReadCatBoost([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Columns {
		names = append(names, c.Name)
	}
	if want := []string{"a", "b", "c d", "3", "f"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the names are %q, not %q", names, want)
	}
}

// A number above a border goes right, not one that equals it: a statistic of 1/2 at the border 0.5.
func TestCatBoostBorder(t *testing.T) {
	file := &catboostFile{}
	r := catboost{file: file, list: []Column{{Name: "a", Labels: []string{"u", "v", "w"}}}, codes: []map[uint32]Code{{1: 0, 2: 1, 3: 2}}}
	s := catboostStatistic{Kind: "Counter", Borders: []float64{0.5}, Denominator: 0, Prior: 0.25, Scale: 1}
	table := catboostTable{Denominator: 4}
	rows := map[uint64][]float32{tableHash(1): {1}, tableHash(2): {1.75}, tableHash(3): {3}}
	if err := r.readStatistic(&s, 0, 7, &table, rows); err != nil {
		t.Fatal(err)
	}
	// (1 + 1/4)/4, (7/4 + 1/4)/4, (3 + 1/4)/4, and (0 + 1/4)/0 of a label that is not known.
	if want := []Code{2, 3}; !reflect.DeepEqual(r.sets[7].codes, want) {
		t.Errorf("the codes %v go right, not %v", r.sets[7].codes, want)
	}
}

// A missing label goes where an unknown one goes.
func TestCatBoostMissingLabels(t *testing.T) {
	met := false
	for _, c := range libraries(t, "catboost") {
		m, err := ReadCatBoost([]byte(c.Model))
		if err != nil {
			continue
		}
		for _, tree := range m.Trees {
			for _, n := range tree.Nodes {
				if n.Column == Leaf || m.Columns[n.Column].Labels == nil {
					continue
				}
				unknown := n.left(Code(len(m.Columns[n.Column].Labels)), Missing)
				if met = met || !unknown; n.left(Missing, Missing) != unknown {
					t.Errorf("%s: missing labels of column %d go elsewhere than unknown ones", c.Name, n.Column)
				}
			}
		}
	}
	if !met {
		t.Error("no split sends unknown labels to the right")
	}
}

func FuzzReadCatBoost(f *testing.F) { fuzz(f, "catboost", ReadCatBoost) }
