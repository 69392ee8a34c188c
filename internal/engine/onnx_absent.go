//go:build !onnx

package engine

import "github.com/gomlx/compute"

var openONNX func() (compute.Backend, error)
