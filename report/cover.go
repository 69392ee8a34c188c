package report

import "cmp"

// Cover is what a report says of itself.
type Cover struct {
	Title  string `json:"title"`
	Author string `json:"author"` // "" if nobody is named
	Date   string `json:"date"`   // when it was made, as 2026-11-17; "" if that is not said
}

// titled is the cover with a title, if it has none.
func (c Cover) titled(title string) Cover {
	c.Title = cmp.Or(c.Title, title)
	return c
}
