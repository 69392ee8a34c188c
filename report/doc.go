// Package report describes a model and its predictions for a table, as a document and as an HTML file.
//
// [Gather] reads the table once. It measures the predictions of all rows, describes the columns, and explains a random
// sample of the rows. The result is a [Report], the document psi.report/v1. [Write] turns it into a single HTML page
// that needs no network and no other file: the viewer, built from web/, with the document inside. [GatherBatch] and
// [WriteBatch] do the same for the results of a batch.
//
// Texts that depend on the numbers, such as verdicts and warnings, are part of the document. The viewer explains how to
// read the pictures.
package report
