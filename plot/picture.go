package plot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/psi-shapley/psi/table"
)

// Picture is a drawing and the data behind it.
type Picture struct {
	Title string
	Read  string       // how to read it, in a sentence or two; stands below the picture
	Exact string       // how near its attributions are to Shapley values, in a sentence below; "" if it shows none
	Data  *table.Table // what was drawn

	plot          *gonum.Plot
	theme         theme
	width, height vg.Length
}

// Formats are the endings of files that Write knows.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// FormatOf is the format that the name of a file asks for.
func FormatOf(path string) (string, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if slices.Contains(Formats(), format) {
		return format, nil
	}
	return "", fmt.Errorf("plot: %s: no picture ends in %q: choose .%s", path, filepath.Ext(path), strings.Join(Formats(), ", ."))
}

const (
	dotsPerInch = 144 // of a PNG
	margin      = vg.Length(10)
)

// Write draws the picture in a format. The same picture is the same bytes.
func (p *Picture) Write(w io.Writer, format string) error {
	var file bytes.Buffer
	var err error
	mark := func(file []byte) []byte { return file }
	page := p.page()
	switch format {
	case "svg":
		canvas := vgsvg.New(p.width, page.height)
		p.draw(draw.New(canvas), page)
		_, err = canvas.WriteTo(&file)
		mark = func(file []byte) []byte { return markSVG(fitText(file, page.small)) }
	case "png":
		_, err = vgimg.PngCanvas{Canvas: p.raster(dotsPerInch)}.WriteTo(&file)
		mark = markPNG
	case "pdf":
		canvas := vgpdf.New(p.width, page.height)
		p.draw(draw.New(canvas), page)
		_, err = canvas.WriteTo(&file)
		mark = markPDF
	default:
		err = fmt.Errorf("plot: unknown format %q", format)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(mark(file.Bytes()))
	return err
}

// raster is the picture in dots.
func (p *Picture) raster(dotsPerInch int) *vgimg.Canvas {
	page := p.page()
	canvas := vgimg.NewWith(vgimg.UseWH(p.width, page.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(p.theme.background))
	p.draw(draw.New(canvas), page)
	return canvas
}

// page is a picture with its title and the small print below it, which must not be lost when it is copied.
type page struct {
	title, foot []string
	small       draw.TextStyle
	height      vg.Length
}

const (
	titleLine = vg.Length(15)
	footLine  = vg.Length(11)
)

func (p *Picture) page() page {
	g := page{small: p.plot.X.Label.TextStyle}
	g.small.Color, g.small.XAlign, g.small.YAlign = p.theme.small, draw.XLeft, draw.YBottom
	setFont(&g.small.Font, 8)
	room := p.width - 2*margin
	g.title = fill(p.Title, p.plot.Title.TextStyle, room)
	g.foot = append(fill(p.Read, g.small, room), fill(p.Exact, g.small, room)...)
	g.height = p.height + titleLine*vg.Length(len(g.title)-1) + footLine*vg.Length(len(g.foot)) + margin
	return g
}

// fill breaks a text into lines that fit.
func fill(text string, style draw.TextStyle, room vg.Length) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && style.Width(longer) > room {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (p *Picture) draw(whole draw.Canvas, page page) {
	whole.SetColor(p.theme.background)
	whole.Fill(whole.Rectangle.Path())
	inner := draw.Crop(whole, margin, -margin, margin, -margin)
	below := footLine * vg.Length(len(page.foot))
	for i, line := range page.foot {
		inner.FillText(page.small, vg.Point{X: inner.Min.X, Y: inner.Min.Y + below - footLine*vg.Length(i+1)}, line)
	}
	drawn := *p.plot
	drawn.Title.Text = strings.Join(page.title, "\n")
	drawn.Draw(draw.Crop(inner, 0, 0, below+margin, 0))
}

// Options say what is to be drawn.
type Options struct {
	Row     int      // of the explanation, for a picture of one row
	Columns []string // the column, or the two, for pictures of columns; nil is the most important
	Output  string   // class to show of several; "" is the likeliest of a row, or the first
	Most    int      // players shown at most; 0 means 15
	Pairs   bool     // a waterfall of main effects and interactions of pairs
	Dark    bool     // light on dark
}

func (o Options) most() int {
	if o.Most > 0 {
		return o.Most
	}
	return 15
}

// errNoRows is for a table without rows: there is nothing to draw.
var errNoRows = errors.New("plot: the table has no rows")
