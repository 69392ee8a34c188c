package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/jsonrows"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/table"
)

// Limits of requests with reference rows. Each pair of a row and a reference row costs about as much as a row does in the
// model's own game.
const (
	maxReferences = 100
	maxPairs      = 10   // times Config.MaxRows: pairs of a request
	pairsAtOnce   = 1000 // until the deadline of the request is checked
)

// limitError refuses a request that exceeds a limit of the server.
type limitError struct{ message, remedy string }

func (e *limitError) Error() string { return e.message }

// maxRows returns the maximum number of rows of a request.
func (s *Server) maxRows(how psi.ExplainOptions) int {
	if how.Reference == nil {
		return s.config.MaxRows
	}
	return max(1, min(s.config.MaxRows, maxPairs*s.config.MaxRows/how.Reference.Rows()))
}

// setGame sets the game that a request asks for, and its reference rows in JSON. The model's own game needs neither, so that
// the request shares passes with others. As in psi explain, reference rows alone mean the interventional game.
func (s *Server) setGame(v *registry.Version, how *psi.ExplainOptions, name string, reference json.RawMessage, reserve func(int64) error) error {
	const longest = 40 // of a name, for messages quote it
	o := psi.ExplainOptions{Game: psi.Game(name[:min(len(name), longest)])}
	if len(reference) > 0 && string(reference) != "null" {
		if err := jsonrows.Check(reference); err != nil {
			return ofReference(err)
		}
		shape := s.shape(v, nil, maxReferences, reserve)
		shape.Whole = true
		var err error
		if o.Reference, err = shape.Rows(reference); err != nil {
			return ofReference(err)
		}
		if o.Game == "" {
			o.Game = psi.InterventionalGame
		}
	}
	if _, err := v.Model.NoRows(o); err != nil {
		return inFields(err)
	}
	if o.Reference != nil {
		how.Game, how.Reference = o.Game, o.Reference
	}
	return nil
}

// ofReference says that an error is one of the reference rows.
func ofReference(err error) error {
	if many, is := errors.AsType[*jsonrows.TooManyError](err); is {
		return &limitError{fmt.Sprintf("there are more than %d reference rows", many.Limit), "send a sample of them"}
	}
	cell, is := errors.AsType[*table.Error](err)
	if !is {
		return err
	}
	where := "reference"
	if cell.Row >= 0 {
		where = fmt.Sprintf("reference row %d", cell.Row)
	}
	return &table.Error{Row: -1, Column: cell.Column, Message: where + ": " + cell.Message, Remedy: cell.Remedy}
}

// fields are the names of a request for settings that errors of the library name.
var fields = strings.NewReplacer("ExplainOptions.Game=", "game ", "ExplainOptions.Reference", "reference")

// inFields names the fields of a request in an error of the library.
func inFields(err error) error {
	e, is := errors.AsType[*psi.Error](err)
	if !is || !errors.Is(err, psi.ErrSetting) {
		return err
	}
	return &psi.Error{Row: e.Row, Column: e.Column, Message: fields.Replace(e.Message), Remedy: fields.Replace(e.Remedy), Err: e.Err}
}

// askAlone explains rows in a game of reference rows, which no other request shares.
func (s *Server) askAlone(ctx context.Context, v *registry.Version, q question) (*explain.Explanation, error) {
	rows, references := q.rows.Rows(), q.how.Reference.Rows()
	held := workBytes(of(v).signature, references, psi.Values)
	if err := q.budget.Reserve(held); err != nil {
		return nil, err
	}
	var parts []*explain.Explanation
	err := v.Run(ctx, registry.Alone{Rows: rows, Work: rows * references, Depth: q.depth, Do: func(ctx context.Context) error {
		how, step := q.how, max(1, pairsAtOnce/references)
		how.Unknown = q.unknown
		for how.From = 0; how.From < rows; how.From = how.To {
			how.To = min(how.From+step, rows)
			e, err := v.Model.Explain(ctx, q.rows.Source(), how)
			if err != nil {
				return err
			}
			parts = append(parts, e)
		}
		return nil
	}})
	if err != nil {
		return nil, inFields(err)
	}
	e, err := explain.Join(parts)
	if err != nil {
		return nil, err
	}
	return e, q.budget.Reserve(-held)
}
