package psi

import (
	"strings"
	"testing"
)

func TestCheckpointSaysWhatDiffers(t *testing.T) {
	now := maker{Psi: "0.2", Backend: Native, CPU: "avx512"}
	for _, c := range []struct {
		made         maker
		says, advice string
	}{
		{maker{Psi: "0.2", Backend: Native, CPU: "avx2"}, "avx2 instructions", "PSI_CPU=avx2"},
		{maker{Psi: "0.2", Backend: "onnx"}, "backend onnx", "Config.Backend=onnx"},
		{maker{Psi: "0.1", Backend: Native, CPU: "avx512"}, "psi 0.1", "without Config.Resume"},
		{maker{}, "older version", "without Config.Resume"}, // written before checkpoints said it
		{now, "another training", "without Config.Resume"},
	} {
		message, remedy := c.made.differsFrom(now)
		if !strings.Contains(message, c.says) || !strings.Contains(remedy, c.advice) {
			t.Errorf("%+v: %q; %q", c.made, message, remedy)
		}
	}
}
