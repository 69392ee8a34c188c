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

// seeOpenAPI is the remedy for an invalid document.
const seeOpenAPI = "see /openapi.json for what a request looks like"

// Limits of a document.
const (
	maxFields = 10_000 // of an object
	maxNames  = 10_000 // of columns in a list
)

// object parses a body that is one JSON object. If closed, unknown fields are an error; else they are ignored, since other
// protocols have fields that this server does not use.
func (x *exchange) object(into any, closed bool) error {
	body, err := x.body()
	if err != nil {
		return err
	}
	return object(body, into, closed, x.budget.Reserve)
}

// object parses a document into a struct without copying raw values. Field names are case sensitive, and a duplicate is an
// error. reserve is called for the memory of copies.
func object(body []byte, into any, closed bool, reserve func(n int64) error) error {
	if err := jsonrows.Check(body); err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if body[0] != '{' {
		return &requestError{"the body is not a JSON object", seeOpenAPI}
	}
	d := reading{closed: closed, reserve: reserve}
	return d.object(body, reflect.ValueOf(into).Elem(), "")
}

// reading is the state of parsing a document.
type reading struct {
	closed  bool
	reserve func(bytes int64) error
}

// object parses the fields of a struct.
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
			return &requestError{"there is no field " + strconv.Quote(path+string(name[:min(len(name), 100)])), seeOpenAPI}
		case !known:
			return nil
		case seen[i]:
			return &requestError{"the field " + path + string(name) + " is there twice", "send it once"}
		}
		seen[i] = true
		return d.value(value, into.Field(i), path+string(name))
	})
}

// value parses one field.
func (d *reading) value(text []byte, into reflect.Value, path string) error {
	if raw, is := reflect.TypeAssert[interface{ Keep(text json.RawMessage) }](into.Addr()); is {
		raw.Keep(text)
		return nil
	}
	misfit := &requestError{"the field " + path + " cannot be " + kindOf(text), seeOpenAPI}
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
	case reflect.Map: // of any values, which need many times the memory of their text
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

// kindOf names the kind of a JSON value.
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
