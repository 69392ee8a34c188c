// Package batch explains tables of any size, with the cores of one machine or with workers on many.
//
// A [Runner] stands for one job. [Runner.Plan] splits the input files into units of a few seconds, each some row groups of one
// file. [Runner.Run] then explains them on this machine. For several machines, [Runner.Submit] puts the units into a shared
// [Queue], and any number of [Worker] processes run them. [Runner.Status] reports the progress, and
// [Runner.Summary] the totals.
//
// The location of the results, OUT, holds the whole state of a job: plan, model, parts, failures and summary. The queue only
// holds the units that are still to do. A unit without a part is run again, even if workers are killed or the queue and its
// data are lost.
//
//	OUT/part-00000012-<job>.parquet  explained rows; sorted by name, the parts are in the order of the input
//	OUT/_summary.json                totals and failures
//	OUT/_SUCCESS                     present if no unit failed
//	OUT/_psi/job.json                the job; written last, so that a plan is either complete or absent
//	OUT/_psi/plan/000000.jsonl       units, in pages
//	OUT/_psi/model.psi               copy of the model, checked by its digest
//	OUT/_psi/reference.parquet       copy of the reference rows of a game, checked by its digest
//	OUT/_psi/failed/00000012.json    why a unit failed
package batch
