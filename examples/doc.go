// Package examples holds programs of a page each that use psi as a library.
package examples
