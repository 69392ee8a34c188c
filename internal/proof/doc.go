// Package proof holds no code but tests: it trains models from tables to attributions,
// with the default recipe, and holds what comes out against the truth, against
// enumeration and against the bars the project has set itself. The tests train for
// minutes, so they run only with PSI_SLOW set; see .ci/slow.
package proof
