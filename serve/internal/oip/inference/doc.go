// Package inference is the gRPC service of the Open Inference Protocol and of Triton's extensions to it, as protoc
// writes it from the files beside it. README.md says where those are from.
package inference
