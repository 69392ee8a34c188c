//go:build !xla

package engine

import "github.com/gomlx/compute"

var openXLA func() (compute.Backend, error)
