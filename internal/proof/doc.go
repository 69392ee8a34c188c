// Package proof contains only tests. They train models with the default settings and compare their attributions with
// the ground truth, with enumeration and with the project's thresholds. The tests train for minutes, so they run only
// with PSI_SLOW set; see .ci/slow.
package proof
