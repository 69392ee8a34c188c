// Package observe makes a server observable: [Metrics] for Prometheus, [Drift] of attributions against those of training, an
// [ExplanationLog] for auditors, [Traces] by OpenTelemetry, and log lines without cells ([NewHandler]).
//
// The package has no global state, and it never makes a request wait or fail.
package observe
