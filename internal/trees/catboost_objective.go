package trees

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// catboostObjective sets what outputs mean, and the labels of classes.
func (m *Model) catboostObjective(file *catboostFile) error {
	var params struct {
		Loss struct {
			Type string `json:"type"`
		} `json:"loss_function"`
	}
	if err := unmarshalNested(file.Info["params"], &params); err != nil {
		return fmt.Errorf("model_info: %w", err)
	}
	switch m.Objective = params.Loss.Type; m.Objective {
	case "":
		return errors.New("model_info does not say the loss function")
	case "RMSE", "MAE", "Quantile", "MultiQuantile", "MAPE", "Huber", "Expectile", "LogCosh", "Lq", "MultiRMSE", "MultiRMSEWithMissingValues",
		"QueryRMSE", "PairLogit", "PairLogitPairwise", "YetiRank", "YetiRankPairwise", "StochasticFilter", "StochasticRank", "LambdaMart", "QuerySoftMax", "QueryCrossEntropy", "GroupQuantile":
		m.Link = Identity
	case "Poisson", "Tweedie", "LogLinQuantile":
		m.Link = Log
	case "Logloss", "CrossEntropy", "Focal":
		m.Link = Logit
	case "MultiClass":
		m.Link = Softmax
	case "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy":
		m.Link = Logits
	default:
		return fmt.Errorf("psi does not know the loss function %q", m.Objective)
	}
	if m.Link == Logit || m.Link == Softmax || m.Objective == "MultiClassOneVsAll" {
		return m.catboostClasses(file.Info["class_params"])
	}
	return nil
}

// catboostClasses reads the labels of classes, if the file has them.
func (m *Model) catboostClasses(content json.RawMessage) error {
	if len(content) == 0 {
		return nil
	}
	var params struct {
		Names  []any `json:"class_names"`
		Labels []any `json:"class_to_label"`
	}
	if err := unmarshalNested(content, &params); err != nil {
		return fmt.Errorf("class_params: %w", err)
	}
	want := len(m.Base)
	if want == 1 {
		want = 2
	}
	for _, list := range [][]any{params.Names, params.Labels} {
		if len(list) != want {
			continue
		}
		for _, label := range list {
			m.Classes = append(m.Classes, fmt.Sprint(label))
		}
		break
	}
	return nil
}

// unmarshalNested reads JSON, or JSON within a string, as older versions write it. Numbers stay as they are written.
func unmarshalNested(content json.RawMessage, into any) error {
	if bytes.HasPrefix(content, []byte(`"`)) {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return err
		}
		content = []byte(text)
	}
	if strings.TrimSpace(string(content)) == "" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	return d.Decode(into)
}
