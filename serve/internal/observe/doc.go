// Package observe is what a server shows of itself: [Metrics] for Prometheus, [Drift] of attributions against those of
// training, an [ExplanationLog] for auditors, [Traces] by OpenTelemetry, and the form of log lines ([NewLogger]).
//
// Nothing here is kept outside the values it makes, and nothing here makes a request wait or fail.
package observe
