//go:build onnx

package engine

import (
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	onnxbackend "github.com/gomlx/compute-onnx"
)

// LibraryEnv is the environment variable with the path of ONNX Runtime's shared library. Without it the library is
// searched beside the program.
const LibraryEnv = "ONNXRUNTIME_SHARED_LIBRARY_PATH"

func openONNX() (compute.Backend, error) {
	onnxbackend.EnableAutoInstall(false)
	if os.Getenv(LibraryEnv) != "" {
		return onnxbackend.New("")
	}
	return onnxbackend.New(besideProgram())
}

// besideProgram returns the library in the program's own directory; "" if there is none.
func besideProgram() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	library := filepath.Join(filepath.Dir(program), "libonnxruntime.so.1")
	if _, err := os.Stat(library); err != nil {
		return ""
	}
	return library
}
