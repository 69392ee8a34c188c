package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi"
)

// gameFlags choose what happens to absent columns in a picture or a report.
type gameFlags struct {
	game      choice
	reference string
}

func (f *gameFlags) add(flags *pflag.FlagSet) {
	f.game = optional(gameNames()...)
	flags.Var(&f.game, "game", "what happens to absent columns, as in psi explain (default the model's own game)")
	flags.StringVar(&f.reference, "reference", "", "`TABLE` of reference rows for the games baseline (one row) and interventional (at most 1,000)")
}

// chosen returns the game; "" means the model's own. Reference rows alone mean the interventional game.
func (f *gameFlags) chosen() psi.Game {
	if f.reference != "" && f.game.word == "" {
		return psi.InterventionalGame
	}
	return psi.Game(f.game.word)
}

// options returns options of the game, with its reference rows.
func (f *gameFlags) options(ctx context.Context, of *modelData) (o psi.ExplainOptions, err error) {
	o.Game = f.chosen()
	o.Reference, err = of.program.reference(ctx, of, f.reference)
	return o, err
}
