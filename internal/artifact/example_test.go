package artifact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/internal/artifact"
)

// A model is written, read, and read again after a byte was lost on the way.
func Example() {
	weights, err := artifact.EncodeTensors(map[string]artifact.Tensor{
		"embedding": {Dims: []int{2, 3}, Floats: []float32{.1, .2, .3, .4, .5, .6}},
		"nodes":     {Ints: []int64{8}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	err = artifact.Write(&file, &artifact.File{
		Kind:    artifact.Model,
		Content: json.RawMessage(`{"target":"charges"}`),
		Parts:   map[string][]byte{"weights.safetensors": weights},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	model, err := artifact.Read(file.Bytes(), artifact.Model)
	if err != nil {
		fmt.Println(err)
		return
	}
	tensors, err := artifact.DecodeTensors(model.Parts["weights.safetensors"])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n%v %v\n", model.Content, tensors["embedding"].Dims, tensors["nodes"].Ints)

	file.Truncate(file.Len() - 1)
	_, err = artifact.Read(file.Bytes(), artifact.Model)
	fmt.Println(errors.Is(err, artifact.ErrDamaged))
	fmt.Println(err)
	// Output:
	// {"target":"charges"}
	// [2 3] [8]
	// true
	// the file is truncated: it does not end with the list of its parts; copy it again
}
