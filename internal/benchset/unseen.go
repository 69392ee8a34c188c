package benchset

import "fmt"

// UnseenNames returns the names of the sets on which no recipe of psi was chosen, and on which none may be. bench/unseen.py
// writes their files. Load knows them; Names does not.
func UnseenNames() []string { return namesOf(unseenRecipes()) }

// unseenRecipes returns the sets, regression first, then two classes, then more.
func unseenRecipes() []recipe {
	return []recipe{
		unseen("diabetes", Regression, 0),
		unseen("diamonds", Regression, 0, "cut", "color", "clarity"),
		unseen("randhie", Regression, 0),
		unseen("friedman2", Regression, 0),
		unseen("fair", Binary, 2, "occupation", "occupation_husb"),
		unseen("hastie", Binary, 2),
		unseen("wine", Multiclass, 3),
		unseen("digits", Multiclass, 10),
	}
}

// unseen returns the recipe of a file that has the target in its final form: a number, or c0, c1, ….
func unseen(name string, task Task, classes int, categories ...string) recipe {
	r := recipe{
		name: name, task: task,
		files:      []file{{path: "unseen/" + name + ".csv"}},
		target:     Target,
		categories: categories,
	}
	if classes > 0 {
		r.classes = make(map[string]string, classes)
	}
	for k := range classes {
		label := fmt.Sprintf("c%d", k)
		r.classes[label] = label
	}
	return r
}
