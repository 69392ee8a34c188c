// Package report describes a model and its predictions for a table, in one document and one HTML file.
//
// [Gather] reads the table once: it measures the predictions of all rows, describes the columns, and explains a random
// sample of the rows. What it found is a [Report], the document psi.report/v1. [Write] makes of it a page that needs no
// network and no other file: the viewer, which web/ is the source of, with the document inside.
//
// Words that need the numbers to be judged, the verdicts and the warnings, are part of the document; how to read a
// picture is the viewer's to say.
package report
