package trees

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// CatBoost splits columns of labels by hashes of their texts, and by statistics of the target (CTR). The file has a table of counts for each
// kind of statistic, by a hash of the hashes of all columns that it combines. The statistic of one column is a number for each label, so
// what lies above a border is a set of labels. That of several columns is a function of all of them, and no split of a column.

// catboostStatistic is a number for each label: ((count + prior) / (total + denominator) + shift) × scale, in 32 bits.
type catboostStatistic struct {
	Elements []struct {
		Kind  string `json:"combination_element"`
		Label int    `json:"cat_feature_index"`
	} `json:"elements"`
	Kind        string    `json:"ctr_type"`
	Table       string    `json:"identifier"`
	Borders     []float64 `json:"borders"`
	Prior       float32   `json:"prior_numerator"`
	Denominator float32   `json:"prior_denomerator"` // as CatBoost spells it
	Shift       float32   `json:"shift"`
	Scale       float32   `json:"scale"`
	Target      int       `json:"target_border_idx"`
}

func (s *catboostStatistic) value(count, total float32) float32 {
	return ((count+s.Prior)/(total+s.Denominator) + s.Shift) * s.Scale
}

// catboostTable has the hash of a label and what was counted of it, stride elements for each.
type catboostTable struct {
	Stride      int           `json:"hash_stride"`
	Denominator float32       `json:"counter_denominator"`
	List        []json.Number `json:"hash_map"`
}

// noHash marks unused places of a table.
const noHash = math.MaxUint64

// rows are what a table counted, by hash.
func (t *catboostTable) rows() (map[uint64][]float32, error) {
	if t.Stride < 2 || t.Stride > MaxOutputs || len(t.List)%t.Stride != 0 {
		return nil, fmt.Errorf("%d elements have the hash_stride %d", len(t.List), t.Stride)
	}
	rows := make(map[uint64][]float32, len(t.List)/t.Stride)
	for list := t.List; len(list) > 0; list = list[t.Stride:] {
		hash, err := strconv.ParseUint(list[0].String(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("hash_map has %.50q", list[0])
		}
		if hash == noHash {
			continue
		}
		row := make([]float32, 0, t.Stride-1)
		for _, word := range list[1:t.Stride] {
			x, err := strconv.ParseFloat(word.String(), 32)
			if err != nil || !(x >= 0) {
				return nil, fmt.Errorf("hash_map has %.50q", word)
			}
			row = append(row, float32(x))
		}
		rows[hash] = row
	}
	return rows, nil
}

// counted are the count and the total of a row of a table; 0 and 0 of a label that is not there.
func (s *catboostStatistic) counted(t *catboostTable, row []float32) (count, total float32, err error) {
	if row == nil {
		return 0, 0, nil
	}
	switch s.Kind {
	case "Counter", "FeatureFreq":
		return row[0], t.Denominator, nil
	case "BinarizedTargetMeanValue", "FloatTargetMeanValue":
		if len(row) == 2 {
			return row[0], row[1], nil
		}
	case "Borders", "Buckets":
		from, to := s.Target, s.Target+1
		if s.Kind == "Borders" {
			from, to = s.Target+1, len(row)
		}
		if from < 0 || from >= to || to > len(row) {
			break
		}
		for k, n := range row {
			if total += n; k >= from && k < to {
				count += n
			}
		}
		return count, total, nil
	}
	return 0, 0, fmt.Errorf("psi does not know %d counts of the type %q", len(row), s.Kind)
}

// hash32 are the bits of a hash, which files have with and without a sign.
func hash32(hash int64) uint32 { return uint32(hash) } //nolint:gosec // the lower 32 bits

// tableHash is the hash of a single label in tables.
func tableHash(hash uint32) uint64 {
	const multiplier = 0x4906ba494954cb65
	return multiplier * (multiplier * uint64(int64(int32(hash)))) //nolint:gosec // CatBoost extends the sign
}

var errNoTexts = errors.New(`it has hashes of labels without their texts: save it with save_model(path, format="json", pool=POOL), where POOL has the training rows`)

// readLabels gives each column of labels those that its splits know, and each border of a statistic the labels above it.
func (r *catboost) readLabels() error {
	features := &r.file.Features
	tables := map[string]map[uint64][]float32{}
	hashes := make([]map[uint64]bool, len(r.list)) // by column: of tables
	index := 0                                     // split_index counts borders of numbers, then labels, then borders of statistics
	for i := range features.Floats {
		index += len(features.Floats[i].Borders)
	}
	for i := range features.Labels {
		c := &features.Labels[i]
		index += len(c.Values)
		hashes[c.Flat] = map[uint64]bool{}
		for _, value := range c.Values {
			hashes[c.Flat][tableHash(hash32(value))] = true
		}
	}
	columns, owners := make([]int, len(features.Statistics)), map[string]int{}
	for i := range features.Statistics {
		s := &features.Statistics[i]
		column, err := r.column(s)
		if err != nil {
			return err
		}
		table, given := r.file.Tables[s.Table]
		if !given {
			return fmt.Errorf("ctr_data lacks %.200s", s.Table)
		}
		if tables[s.Table] == nil {
			if tables[s.Table], err = table.rows(); err != nil {
				return fmt.Errorf("ctr_data: %w", err)
			}
		}
		if owner, met := owners[s.Table]; met && owner != column {
			return fmt.Errorf("columns %q and %q have one table of counts", r.list[owner].Name, r.list[column].Name)
		} else if !met {
			owners[s.Table] = column
			for hash := range tables[s.Table] {
				hashes[column][hash] = true
			}
		}
		columns[i] = column
	}
	r.takeTexts(hashes)
	for i := range features.Statistics {
		s := &features.Statistics[i]
		table := r.file.Tables[s.Table]
		if err := r.readStatistic(s, columns[i], index, &table, tables[s.Table]); err != nil {
			return err
		}
		index += len(s.Borders)
	}
	return nil
}

// takeTexts gives columns the labels whose hashes they have, in the order of the file.
func (r *catboost) takeTexts(hashes []map[uint64]bool) {
	texts := r.file.Features.Texts
	places := make(map[uint64]int, len(texts))
	for k, t := range texts {
		places[tableHash(hash32(t.Hash))] = k
	}
	for d := range r.list {
		var found []int
		for hash := range hashes[d] {
			if k, known := places[hash]; known {
				found = append(found, k)
			}
		}
		slices.Sort(found)
		for code, k := range found {
			r.codes[d][hash32(texts[k].Hash)] = Code(code) //nolint:gosec // as many as the file has texts
			r.list[d].Labels = append(r.list[d].Labels, texts[k].Text)
		}
	}
}

// column is the only one of a statistic.
func (r *catboost) column(s *catboostStatistic) (int, error) {
	if len(s.Elements) != 1 || s.Elements[0].Kind != "cat_feature_value" {
		return 0, errors.New("it has statistics that combine columns (CTR), which are no splits of single columns: train with max_ctr_complexity=1")
	}
	column, known := r.labels[s.Elements[0].Label]
	if !known {
		return 0, fmt.Errorf("a statistic has the column of labels %d", s.Elements[0].Label)
	}
	return column, nil
}

// readStatistic finds the labels above each border. The borders have the numbers from index among all splits.
func (r *catboost) readStatistic(s *catboostStatistic, column, index int, t *catboostTable, rows map[uint64][]float32) error {
	c := &r.list[column]
	if r.cells += (len(c.Labels) + 1) * (len(s.Borders) + 1); r.cells > MaxNodes {
		return fmt.Errorf("its statistics have more than %d labels", MaxNodes)
	}
	values := make([]float32, len(c.Labels)+1)
	values[len(c.Labels)] = s.value(0, 0)
	found := 0
	for hash, code := range r.codes[column] {
		row := rows[tableHash(hash)]
		if row != nil {
			found++
		}
		count, total, err := s.counted(t, row)
		if err != nil {
			return err
		}
		values[code] = s.value(count, total)
	}
	if found < len(rows) {
		return fmt.Errorf("column %q: %w", c.Name, errNoTexts)
	}
	for k, border := range s.Borders {
		side := catboostSide{column: column, border: border, codes: []Code{}}
		for code, x := range values {
			if x > float32(border) {
				side.codes = append(side.codes, Code(code)) //nolint:gosec // as many as the file has texts
			}
		}
		if r.sets == nil {
			r.sets = map[int]catboostSide{}
		}
		r.sets[index+k] = side
	}
	return nil
}
