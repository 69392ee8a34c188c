// Package batch explains tables of any size on any number of workers.
//
// A job is cut into units, each some row groups of one object. Units travel through a queue; a worker that takes one reads
// the columns that the model needs, explains the rows and writes a part of the result under a name that the plan gives it.
// The place of the result is the truth: plan, model, parts, failures and summary lie there. The queue only knows what is
// still to do, so whatever dies, and be it the queue with all it holds, what is left is found by looking which parts are missing.
//
//	OUT/part-00000012-<job>.parquet  explained rows; sorted by name, the rows are in order
//	OUT/_summary.json, OUT/_SUCCESS  what came of it; the latter only if nothing failed
//	OUT/_psi/job.json                what the job is; written last, so that a plan is complete or is not there
//	OUT/_psi/plan/000000.jsonl       units, in pages
//	OUT/_psi/model.psi               the model, known by its digest
//	OUT/_psi/failed/00000012.json    why a unit was given up
package batch
