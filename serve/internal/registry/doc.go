// Package registry keeps the models that a server answers with: it finds them in files, directories and buckets, loads new ones
// beside old ones and swaps them without losing a request, chooses the version that answers, and lets requests share
// passes.
package registry
