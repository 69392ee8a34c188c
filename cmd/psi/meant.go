package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// meant prefixes a remedy with a suggestion if a word is similar to an existing one.
func meant(word string, among []string, remedy string) string {
	if near := nearest(word, among); near != "" {
		return fmt.Sprintf("did you mean %s? Otherwise %s", near, remedy)
	}
	return remedy
}

// nearest returns the word that was most likely mistyped: the same in another case, or the one with the fewest changes,
// at most a third of its letters. It returns "" if there is none.
func nearest(word string, among []string) string {
	best, fewest := "", 1+max(1, utf8.RuneCountInString(word)/3)
	for _, other := range among {
		if strings.EqualFold(other, word) {
			return other
		}
		if utf8.RuneCountInString(other) < 2 {
			continue // a single letter is close to any other
		}
		if n := changes(strings.ToLower(word), strings.ToLower(other)); n < fewest {
			best, fewest = other, n
		}
	}
	return best
}

// changes returns the number of letters to insert, delete, replace or swap with the next to turn a into b.
func changes(a, b string) int {
	from, to := []rune(a), []rune(b)
	var before, above []int // rows of the table of distances between all prefixes of a and b
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		before, above, row = above, row, make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			other := 1
			if from[i] == to[j] {
				other = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+other)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
