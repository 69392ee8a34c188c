// Package oip is version 2 of the Open Inference Protocol as psi speaks it: requests become tables, results become
// responses. It knows neither servers nor models.
//
// A Request is parsed by ParseHTTP from JSON, with or without the binary tensor data extension, or by FromGRPC from a
// message. Its tensors stay in the form they came in until Request.Table turns them into columns of the kinds that a
// Signature names. Request.Depth says what has to be computed, and Request.AppendHTTP and Request.GRPC write the Results
// that were asked for.
//
// # Inputs
//
// Either one tensor per column, named as the column, of shape [n] or [n, 1]; or, if no column is a category, one tensor
// "rows" of shape [n, D] with the columns in the model's order. A BOOL tensor "observed" of shape [n, D] may go with
// either: false takes the cell for missing. A column of one of these two names goes before.
//
// Missing are also NaN, a JSON null, and in text what CSV files have for it (nothing, NA, N/A, NaN, null, ?), unless the
// model knows a label of that text. Columns that the caller does not know are named in the request's parameter "unknown",
// separated by commas.
//
// # Errors
//
// Input is not trusted: nothing is allocated for a shape before its data is there, and what is wrong is an *Error that
// names the tensor and what to do.
package oip
