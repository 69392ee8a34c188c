package serve

import (
	"github.com/prometheus/client_golang/prometheus"
)

// shadowCounts measures the distance of the predictions of shadows from those that callers got.
type shadowCounts struct{ rows, distance *prometheus.CounterVec }

func newShadowCounts() *shadowCounts {
	labels := []string{"model", "version"}
	return &shadowCounts{
		rows:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_shadow_predictions_total", Help: "Predictions that a shadow made too."}, labels),
		distance: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "psi_shadow_distance_total", Help: "Sum of their distances from the predictions that callers got."}, labels),
	}
}

// drop removes a version that is unloaded.
func (c *shadowCounts) drop(model, version string) {
	c.rows.DeleteLabelValues(model, version)
	c.distance.DeleteLabelValues(model, version)
}

func (c *shadowCounts) add(model, version string, predictions int, distance float64) {
	c.rows.WithLabelValues(model, version).Add(float64(predictions))
	c.distance.WithLabelValues(model, version).Add(distance)
}
