package main

import "context"

// Item is one claim of the paper and what is run to answer it.
type Item struct {
	Name     string // of its files
	Title    string
	Claim    string // what the paper says
	Protocol string // what is run here
	Run      func(ctx context.Context, l *Lab) (*Answer, error)
}

// Answer is what was found.
type Answer struct {
	Verdict string // in a line: does the claim hold?
	Text    string // the figures, in Markdown
	Tables  []Table
	Charts  []Chart
}

// Table is shown in the text, or is too long for that and written as a CSV file.
type Table struct {
	File   string // name of the CSV file, without its extension; "" shows the table
	Header []string
	Rows   [][]string
}

// items are all, in the order of the paper, then what goes beyond it.
func items() []Item {
	return []Item{
		synth1Item(), table1Item(), divergenceItem(), remarkItem(),
		mnistItem(), icuItem(), table2Item(),
		estimatorItem(), boundItem(), budgetItem(), fidelityItem(),
	}
}
