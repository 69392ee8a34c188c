// Package onnx writes a model as one ONNX graph, from the cells of a table's columns to predictions and attributions.
//
// The graph is the one that an engine evaluates: the same functions of package network build it, on a backend that
// records each operation as an ONNX node and runs nothing (record.go). What packages encode, link and the root compute
// on the host becomes further nodes: encode.go and calendar.go before it, answer.go after it. file.go prepends the
// labels of categories, which the engine does not support.
package onnx
