// Package onnx writes a model as one ONNX graph, from the cells of a table's columns to predictions and attributions.
//
// The graph is the one that passes of an engine run: the same functions of package network build it, on a backend that records
// each operation as a node of ONNX and runs nothing (record.go). What packages encode and link and the root do on the host stands
// before and after it, as further nodes: encode.go and calendar.go before, answer.go after. Labels of categories, which the engine does not know, are put in front by file.go.
package onnx
