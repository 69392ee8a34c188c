// Package artifact reads and writes psi's files: models, and checkpoints of training.
//
// A file is a zip of manifest.json and named parts. The manifest contains the kind and format of the file, and the size
// and SHA-256 of every part:
//
//	{"kind":"psi.model","format":2,"requires":["product"],"content":{…},
//	 "parts":{"weights.safetensors":{"size":81920,"sha256":"…"}, …}}
//
// The caller defines the content, and the names of the features that a program must support to read it. New features
// need no new format; an older program refuses them by name. Weights are parts in the safetensors format:
// [EncodeTensors], [DecodeTensors].
//
// [Write] gives the same bytes for the same [File]. [Read] accepts any bytes: it executes nothing, checks sizes before
// it allocates memory, and returns an error if the file does not match its manifest. It never returns damaged content.
//
//nolint:misspell // the package has its name from the design
package artifact
