// Package arch holds the rules of the house that no linter knows, as tests:
// which package may import which, what no file may hold, and how prose reads.
package arch
