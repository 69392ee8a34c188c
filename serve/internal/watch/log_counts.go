package watch

import "github.com/prometheus/client_golang/prometheus"

// logCounts are rows of the explanation log, by what became of them.
type logCounts struct {
	*prometheus.CounterVec
	written, dropped, failed prometheus.Counter
}

func newLogCounts() *logCounts {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "psi_explanation_log_rows_total",
		Help: "Rows chosen for the explanation log: in a whole file, dropped before, or lost in one that could not be written.",
	}, []string{"outcome"})
	return &logCounts{v, v.WithLabelValues("written"), v.WithLabelValues("dropped"), v.WithLabelValues("failed")}
}
