package trees

import (
	"bytes"
	"fmt"
)

// Format is the format of a file of trees.
type Format string

// Formats.
const (
	LightGBM Format = "lightgbm"
	XGBoost  Format = "xgboost"
)

// Read reads a file of any format, which the content tells.
func Read(content []byte) (*Model, Format, error) {
	format := XGBoost
	if bytes.HasPrefix(content, []byte("tree\n")) {
		format = LightGBM
	}
	m, err := ReadAs(format, content)
	return m, format, err
}

// ReadAs reads a file of a format.
func ReadAs(format Format, content []byte) (*Model, error) {
	switch format {
	case LightGBM:
		return ReadLightGBM(content)
	case XGBoost:
		return ReadXGBoost(content)
	}
	return nil, fmt.Errorf("the format %q is unknown", format)
}

// Formats returns all formats.
func Formats() []Format { return []Format{LightGBM, XGBoost} }
