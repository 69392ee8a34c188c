package plot

import (
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
	Read  string       // in a sentence, how to read it
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

// Write draws the picture in a format.
func (p *Picture) Write(w io.Writer, format string) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		canvas = vgsvg.New(p.width, p.height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(p.width, p.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(p.theme.background))}
	case "pdf":
		canvas = vgpdf.New(p.width, p.height)
	default:
		return fmt.Errorf("plot: unknown format %q", format)
	}
	whole := draw.New(canvas)
	whole.SetColor(p.theme.background)
	whole.Fill(whole.Rectangle.Path())
	p.plot.Draw(draw.Crop(whole, margin, -margin, margin, -margin))
	_, err := canvas.WriteTo(w)
	return err
}

// Options say what is to be drawn.
type Options struct {
	Row     int      // of the explanation, for a picture of one row
	Columns []string // the column, or the two, for pictures of columns; nil is the most important
	Output  string   // class to show of several; "" is the likeliest of a row, or the first
	Most    int      // players shown at most; 0 means 15
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
