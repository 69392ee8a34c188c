package trees

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Format is a kind of file of trees.
type Format string

// Formats.
const (
	FormatLightGBM Format = "lightgbm" // text of save_model, or JSON of dump_model
	FormatXGBoost  Format = "xgboost"  // JSON or UBJSON of save_model
	FormatCatBoost Format = "catboost" // JSON of save_model
	FormatONNX     Format = "onnx"
	FormatOpen     Format = openFormat
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{FormatLightGBM, FormatXGBoost, FormatCatBoost, FormatONNX, FormatOpen}
}

// Read reads a model, and finds its format from its content.
func Read(content []byte) (*Model, Format, error) {
	format, err := formatOf(content)
	if err != nil {
		return nil, "", err
	}
	m, err := ReadAs(format, content)
	return m, format, err
}

// ReadAs reads a model of a format.
func ReadAs(format Format, content []byte) (*Model, error) {
	switch format {
	case FormatLightGBM:
		return ReadLightGBM(content)
	case FormatXGBoost:
		return ReadXGBoost(content)
	case FormatCatBoost:
		return ReadCatBoost(content)
	case FormatONNX:
		return ReadONNX(content)
	case FormatOpen:
		return ReadOpen(content)
	default:
		return nil, fmt.Errorf("psi does not know the format %q of trees: it is one of %q", format, Formats())
	}
}

// beginnings are those of files that psi does not read, and what to do.
var beginnings = []struct{ bytes, why string }{
	{"CBM1", `it is CatBoost's binary form: save it with save_model(path, format="json", pool=POOL)`},
	{"binf", "it is XGBoost's old binary form: load it with XGBoost before 3.1, and save it as .json or .ubj"},
	{"\x80\x04", "it is a Python pickle, which runs code when it is read: save the model with its own save_model, or as ONNX"},
	{"\x80\x05", "it is a Python pickle, which runs code when it is read: save the model with its own save_model, or as ONNX"},
	{"[", "it is a list, as XGBoost's dump_model writes: save the model with save_model"},
}

func formatOf(content []byte) (Format, error) {
	trimmed := bytes.TrimLeft(content, " \t\r\n")
	for _, b := range beginnings {
		if bytes.HasPrefix(trimmed, []byte(b.bytes)) {
			return "", errors.New(b.why)
		}
	}
	switch {
	case bytes.HasPrefix(trimmed, []byte("tree\n")) || bytes.HasPrefix(trimmed, []byte("tree\r\n")):
		return FormatLightGBM, nil
	case isUBJSON(content):
		return FormatXGBoost, nil
	case bytes.HasPrefix(trimmed, []byte("{")):
		return formatOfJSON(trimmed)
	case isONNX(content):
		return FormatONNX, nil
	default:
		return "", errors.New("psi does not know what wrote it: save the model as LightGBM's text, XGBoost's JSON or UBJSON, CatBoost's JSON, or ONNX")
	}
}

// isUBJSON says whether what follows the first brace is a length, as it is in UBJSON and never in JSON.
func isUBJSON(content []byte) bool {
	return len(content) > 1 && content[0] == '{' && strings.IndexByte(lengthMarkers, content[1]) >= 0
}

// formatOfJSON knows files by their members.
func formatOfJSON(content []byte) (Format, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		return "", err
	}
	for _, known := range []struct {
		member string
		format Format
	}{{"ensemble", FormatOpen}, {"learner", FormatXGBoost}, {"tree_info", FormatLightGBM}, {"features_info", FormatCatBoost}} {
		if _, is := members[known.member]; is {
			return known.format, nil
		}
	}
	return "", errors.New("it is JSON, but has no learner (XGBoost), tree_info (LightGBM), features_info (CatBoost) or ensemble (psi-trees)")
}

// isONNX says whether content is a protobuf message with a graph.
func isONNX(content []byte) bool {
	graph := false
	err := eachField(content, func(f wireField) error {
		graph = graph || f.number == 7 && f.kind == protowire.BytesType
		return nil
	})
	return err == nil && graph
}
