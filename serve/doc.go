// Package serve answers requests with predictions and their attributions: over the Open Inference Protocol, HTTP and gRPC,
// over KServe's first protocol, MLflow's, plain JSON and Arrow.
//
// A request passes these functions, whatever it speaks:
//
//	auth.Guard.Admit         who asks, and may they?
//	registry.Registry.Lease  which version of which model answers
//	(decoding)               the request as a table.Table of the model's columns
//	registry.Version.Ask     waits for a pass, with rows of other requests
//	(encoding)               the answer, at the depth that was wanted
package serve
