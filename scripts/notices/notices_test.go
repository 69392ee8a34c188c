package main

import (
	"strings"
	"testing"
)

const mit = `Copyright (c) 2020 The Authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

const mpl = `This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not distributed with
this file, You can obtain one at http://mozilla.org/MPL/2.0/.`

var names = strings.Join([]string{
	"Go standard library", "example.com/a v1.2.3", "example.com/b v0.1.0 (psi-cloud)", "font Serif (example.com/a v1.2.3)",
	"plot 4.5.6 (viewer of reports)", "table adult (https://creativecommons.org/licenses/by/4.0/)",
}, "\n")

// whole is a file of notices without faults for the program below.
var whole = "Third-party notices\n" + between + names + below + mit + "\n"

func TestCheckFindsFaults(t *testing.T) {
	program := inside{
		modules: map[string]module{
			"example.com/a": {version: "v1.2.3", dir: t.TempDir()},
			"example.com/b": {version: "v0.1.0", cloud: true, dir: t.TempDir()},
		},
		viewer:  map[string]string{"plot": "4.5.6"},
		bundled: map[string]string{"plot": "4.5.6"},
		fonts:   []string{"Serif"},
		tables:  []string{"adult"},
	}
	for _, test := range []struct{ change, to, want string }{
		{"", "", ""},
		{"a v1.2.3\n", "a v1.2.4\n", "no notice: module example.com/a v1.2.3"},
		{"a v1.2.3\n", "a v1.2.4\n", "not in a program: module example.com/a v1.2.4"},
		{"example.com/a v1.2.3\n", "", "no notice: module example.com/a v1.2.3"},
		{"example.com/a", "example.com/c v1.0.0\nexample.com/a", "not in a program: module example.com/c v1.0.0"},
		{" (psi-cloud)", "", "no notice: module example.com/b v0.1.0 (psi-cloud)"},
		{"plot 4.5.6", "plot 4.5.7", "no notice: package plot 4.5.6"},
		{"plot 4.5.6", "zoom 4.5.6", "not in a program: package zoom 4.5.6"},
		{"font Serif", "font Sans", "no notice: font Serif"},
		{"font Serif (example.com/a v1.2.3)", "font Serif (example.com/a v1.2.4)", "no module has this version: font Serif v1.2.4"},
		{"table adult", "table bike", "no notice: table adult"},
		{"example.com/a v1.2.3", "something else", `neither a module, a package, a font nor a table: "something else`},
		{mit, "", "an empty text: module example.com/a v1.2.3"},
		{mit, "All rights reserved.", "no licence: module example.com/a v1.2.3"},
		{mit, mpl, "module example.com/a v1.2.3 is under MPL-2.0"},
		{mit, strings.Repeat("Ask us first. ", 50), "module example.com/a v1.2.3: no licence is known"},
	} {
		found, faults := parse(strings.Replace(whole, test.change, test.to, 1))
		faults = append(faults, compare(found, program)...)
		_, unfit := classify(found)
		all := strings.Join(append(faults, unfit...), "; ")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) {
			t.Errorf("%.40q to %.40q: found %q, want %q", test.change, test.to, all, test.want)
		}
	}
	program.bundled["plot"] = "4.5.5"
	found, _ := parse(whole)
	if faults := compare(found, program); len(faults) != 1 {
		t.Errorf("a viewer of another version: found %q", faults)
	}
}
