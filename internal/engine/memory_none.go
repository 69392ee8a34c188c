//go:build !onnx || !linux

package engine

// GiveBack returns memory that was freed outside Go's heap to the system. Here there is none that is kept.
func GiveBack() {}
