// Package arch holds the rules of the house that no linter knows, as tests:
// which package may import which, and what no file may hold.
package arch
