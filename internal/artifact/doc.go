// Package artifact reads and writes psi's files: models, and checkpoints of training.
//
// A file is a zip of manifest.json and named parts. The manifest says what the file
// is, in which format, and the size and SHA-256 of every part:
//
//	{"kind":"psi.model","format":2,"requires":["product"],"content":{…},
//	 "parts":{"weights.safetensors":{"size":81920,"sha256":"…"}, …}}
//
// Content is the caller's. So are the names of the features that a program must have to read
// it: new ones are added without another format, and an older program refuses them by name. Weights are parts in the safetensors format:
// [EncodeTensors], [DecodeTensors].
//
// [Write] gives the same bytes for the same [File]. [Read] takes any bytes: nothing
// in a file is executed, a claim is checked before memory is given for it, and what
// does not fit the manifest is an error. What was damaged is never returned.
//
//nolint:misspell // the package has its name from the design
package artifact
