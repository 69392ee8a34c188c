package report

import "cmp"

// Cover holds title, author and date of a report.
type Cover struct {
	Title  string `json:"title"`
	Author string `json:"author"` // "" if none is named
	Date   string `json:"date"`   // date in the form 2026-11-17; "" if none is given
}

// titled returns the cover with the given title if it has none.
func (c Cover) titled(title string) Cover {
	c.Title = cmp.Or(c.Title, title)
	return c
}
