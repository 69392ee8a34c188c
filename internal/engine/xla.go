//go:build xla

package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
)

func openXLA() (compute.Backend, error) {
	xla.EnableAutoInstall(false)
	return xla.New("")
}
