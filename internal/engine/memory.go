//go:build onnx && linux

package engine

// #include <malloc.h>
import "C"

// GiveBack returns memory that was freed outside Go's heap to the system. The C library keeps it otherwise, apart for each
// thread that ever asked for some: models that are opened and closed again and again would seem to leak.
func GiveBack() { C.malloc_trim(0) }
