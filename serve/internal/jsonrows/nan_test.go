package jsonrows

import (
	"encoding/json"
	"testing"
)

func TestNullForNaN(t *testing.T) {
	for text, want := range map[string]string{
		``:                              ``,
		`NaN`:                           `null`,
		`[1, NaN,NaN ,"NaN"]`:           `[1, null,null ,"NaN"]`,
		`{"NaN":NaN}`:                   `{"NaN":null}`,
		`["a\"NaN",NaN,"\\",NaN]`:       `["a\"NaN",null,"\\",null]`,
		`["NaN is text", "é NaN"]`:      `["NaN is text", "é NaN"]`,
		`[-NaN]`:                        `[-NaN]`,
		`[NaNa, aNaN, NaN1, éNaN, NaN]`: `[NaNa, aNaN, NaN1, éNaN, null]`,
		`[NaN, "`:                       `[null, "`,
		`[NaN, "\`:                      `[null, "\`,
		`[Infinity]`:                    `[Infinity]`,
	} {
		if got := string(NullForNaN([]byte(text))); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func FuzzNullForNaN(f *testing.F) {
	f.Add(`[1, null, "NaN \" null", {"null": null}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			_ = NullForNaN([]byte(text))
			return
		}
		if got := string(NullForNaN([]byte(text))); got != text {
			t.Errorf("%s is JSON, and becomes %s", text, got)
		}
		// A list that has a NaN beside what is JSON is that JSON and null.
		if got, want := string(NullForNaN([]byte("[NaN,"+text+"]"))), "[null,"+text+"]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
