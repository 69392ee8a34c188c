package psi

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/table"
)

// Group is a set of columns that form a player: they are present or missing together and have a joint attribution. It
// is the Shapley value of the group, not the sum of its columns' attributions.
type Group struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// player is a column or a group of columns.
type player struct {
	name    string
	columns []int // indices among the model's columns
}

// grouped returns the players of a table's columns. A group takes the place of its first column.
func grouped(columns []string, groups []Group) ([]player, error) {
	wrong := func(name, message, remedy string) error {
		return &table.Error{Row: -1, Column: name, Message: message, Remedy: remedy}
	}
	of := map[string]int{} // index of each column's group
	names := map[string]bool{}
	for g, group := range groups {
		if group.Name == "" || len(group.Columns) == 0 {
			return nil, wrongSetting("a group lacks a name or columns", "give both")
		}
		if names[group.Name] || slices.Contains(columns, group.Name) && !slices.Contains(group.Columns, group.Name) {
			return nil, wrongSetting(fmt.Sprintf("two players would be called %q", group.Name), "give the group another name")
		}
		names[group.Name] = true
		for _, name := range group.Columns {
			if !slices.Contains(columns, name) {
				return nil, wrong(name, fmt.Sprintf("group %q names a column that is not a feature", group.Name), "check the spelling")
			}
			if _, twice := of[name]; twice {
				return nil, wrong(name, "the column is in two groups, or twice in one", "put it into one of them")
			}
			of[name] = g
		}
	}
	var players []player
	at := map[int]int{} // index of each group's player
	for j, name := range columns {
		g, is := of[name]
		if !is {
			players = append(players, player{name, []int{j}})
			continue
		}
		if _, met := at[g]; !met {
			at[g] = len(players)
			players = append(players, player{name: groups[g].Name})
		}
		p := &players[at[g]]
		p.columns = append(p.columns, j)
	}
	return players, nil
}

// view is a model with its columns grouped into players; all views share the model's weights.
type view struct {
	*form.Ensemble
	players []player
	places  []int // the network's index of each player
}

// names returns the names of players.
func names(players []player) []string {
	list := make([]string, len(players))
	for k, p := range players {
		list[k] = p.name
	}
	return list
}

// networkGroups returns the groups as indices of the encoder; nil if every column is a player.
func networkGroups(players []player, places []int) [][]int {
	if len(players) == len(places) {
		return nil
	}
	groups := make([][]int, len(players))
	for k, p := range players {
		for _, j := range p.columns {
			groups[k] = append(groups[k], places[j])
		}
	}
	return groups
}

// newView prepares the model's weights for players. The model's own players have a view already.
func (m *Model) newView(groups []Group) (*view, error) {
	players, err := grouped(m.Columns(), groups)
	if err != nil {
		return nil, err
	}
	v := &view{players: players, places: m.places}
	config := m.config
	if config.Inputs.Groups = networkGroups(players, m.places); config.Inputs.Groups != nil {
		v.places = make([]int, len(players))
		for k := range v.places {
			v.places[k] = k
		}
	}
	v.Ensemble, err = config.NewEnsemble(m.members, func(member form.Member) (form.Evaluator, error) {
		if config.Joined() > 2 && m.evaluators.backend != Native {
			return config.NewEnumerated(func(c form.Config) (form.Evaluator, error) { return m.evaluators.of(c, member) })
		}
		return m.evaluators.of(config, member)
	})
	if err != nil || len(m.bags) == 0 {
		return v, err
	}
	bag := config.Bag()
	if err := v.AddBags(m.bags, func(b form.Member) (form.Evaluator, error) { return kernel.New(bag, b.Weights, b.Nodes) }); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// viewOf returns the model's own view, or a new one if there are groups. The caller must call done when it no longer
// needs the view.
func (m *Model) viewOf(groups []Group) (v *view, done func(), err error) {
	if len(groups) == 0 {
		return m.own, func() {}, nil
	}
	if v, err = m.newView(groups); err != nil {
		return nil, nil, err
	}
	return v, v.Close, nil
}

func equalGroups(a, b Group) bool { return a.Name == b.Name && slices.Equal(a.Columns, b.Columns) }
