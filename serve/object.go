package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/serve/internal/jsonrows"
)

// seeOpenAPI is the remedy of a document that is not what it should be.
const seeOpenAPI = "see /openapi.json for what a request looks like"

// What a document may have.
const (
	maxFields = 10_000 // of an object
	maxNames  = 10_000 // of columns in a list
)

// object reads a body that is one JSON object. Other fields than those of the struct are refused if it is closed; protocols of
// others have fields that are not for this server.
func (x *exchange) object(into any, closed bool) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	return object(body, into, closed, x.budget.Reserve)
}

// object reads a document into a struct, of whose raw values it does not make copies. Names of fields are as they are
// written, and none may be there twice: which of two counts would be a guess. reserve is asked for the memory of what is
// copied.
func object(body []byte, into any, closed bool, reserve func(n int64) error) error {
	if err := jsonrows.Check(body); err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if body[0] != '{' {
		return &wrong{"the body is not a JSON object", seeOpenAPI}
	}
	d := reading{closed: closed, reserve: reserve}
	return d.object(body, reflect.ValueOf(into).Elem(), "")
}

// reading is a document while it is read.
type reading struct {
	closed  bool
	reserve func(bytes int64) error
}

// object reads the fields of a struct.
func (d *reading) object(text []byte, into reflect.Value, path string) error {
	places := map[string]int{}
	for i := range into.NumField() {
		if name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ","); name != "-" {
			places[name] = i
		}
	}
	seen := make([]bool, into.NumField())
	return jsonrows.Fields(text, maxFields, func(name, value []byte) error {
		i, known := places[string(name)]
		switch {
		case !known && d.closed:
			return &wrong{"there is no field " + strconv.Quote(path+string(name[:min(len(name), 100)])), seeOpenAPI}
		case !known:
			return nil
		case seen[i]:
			return &wrong{"the field " + path + string(name) + " is there twice", "send it once"}
		}
		seen[i] = true
		return d.value(value, into.Field(i), path+string(name))
	})
}

// value reads one field.
func (d *reading) value(text []byte, into reflect.Value, path string) error {
	if raw, is := reflect.TypeAssert[interface{ keep(text json.RawMessage) }](into.Addr()); is {
		raw.keep(text)
		return nil
	}
	misfit := &wrong{"the field " + path + " cannot be " + kindOf(text), seeOpenAPI}
	null := text[0] == 'n'
	switch into.Kind() {
	case reflect.Pointer, reflect.Struct:
		if null {
			return nil
		}
		if text[0] != '{' {
			return misfit
		}
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.New(into.Type().Elem()))
			into = into.Elem()
		}
		return d.object(text, into, path+".")
	case reflect.Slice:
		if null {
			return nil
		}
		if text[0] != '[' {
			return misfit
		}
		if err := d.reserve(int64(len(text)) + 32*maxNames); err != nil {
			return err
		}
		names, err := jsonrows.Texts(text, path, maxNames)
		into.Set(reflect.ValueOf(names))
		return err
	case reflect.Map: // of anything, which holds many times its text
		if err := d.reserve(64 * int64(len(text))); err != nil {
			return err
		}
	default:
		if err := d.reserve(int64(len(text))); err != nil {
			return err
		}
	}
	err := json.Unmarshal(text, into.Addr().Interface())
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return misfit
	}
	return jsonrows.Syntax(err)
}

// kindOf says what a JSON value is.
func kindOf(text []byte) string {
	switch text[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "this number"
}
