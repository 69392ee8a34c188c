//go:build !(onnx && linux)

package engine

func limitThreads(string) bool { return false }

func withThreads(_ int, f func() error) error { return f() }
