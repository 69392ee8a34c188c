// Package serve answers requests with predictions and their Shapley attributions, over HTTP and gRPC.
//
// A [Server] either listens itself, at the addresses of its [Config], or is mounted in a program's own [net/http.Server] by
// [Server.Handler]. It watches files, directories and buckets for models and swaps new versions in without interrupting
// requests. Callers speak the Open Inference Protocol (HTTP and gRPC), KServe's V1 protocol, MLflow's /invocations, or plain
// JSON and Arrow at /explain and /predict; /openapi.json describes all HTTP routes.
//
// docs/architecture.md lists the functions that a request passes through.
package serve
