// Package plot draws explanations as SVG, PNG or PDF, with the data behind each picture.
//
// Each kind of picture is a function that returns a [Picture]; [Picture.Write] writes it, and Picture.Data holds what
// was drawn.
//   - [Bar], [LossBar], [Beeswarm], [Dependence], [Interaction], [Decision], [Heatmap] and [Groups] show many rows.
//   - [Waterfall], [Force] and [Ranking] show one row.
//   - [Drift] compares two tables.
//   - [Calibration], [Fidelity] and [History] show how far to trust a model.
//
// Intervals are those of the explanation. A missing cell is an absent player without an attribution; it is drawn as
// missing, never as 0. The colours are distinct for colour-blind people.
package plot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/color"
	"io"
	"math"
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

// Picture is a drawing with the data behind it.
type Picture struct {
	Title string
	Read  string       // how to read it, in a sentence or two below the picture
	Exact string       // how close its attributions are to Shapley values, in a sentence below; "" if it shows none
	Data  *table.Table // what was drawn

	plot          *gonum.Plot
	below         []*gonum.Plot // further drawings, each with its own axes
	side          side          // legend of the colours; nil if the drawing contains it
	theme         theme
	width, height vg.Length
	whole         vg.Length // height of the page; 0 fits title, drawing and small print
}

// Formats returns the file extensions that Write supports.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// FormatOf returns the format of a file by its extension. It returns an error if the extension is not supported.
func FormatOf(path string) (string, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if slices.Contains(Formats(), format) {
		return format, nil
	}
	return "", fmt.Errorf("plot: %s: unknown picture format %q: choose .%s", path, filepath.Ext(path), strings.Join(Formats(), ", ."))
}

const (
	dotsPerInch = 144 // of a PNG
	margin      = vg.Length(10)
)

// Write draws the picture in a format. The same picture gives the same bytes.
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
		mark = func(file []byte) []byte { return markSVG(roundDots(fitText(file, page.small))) }
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

// raster draws the picture in pixels.
func (p *Picture) raster(dotsPerInch int) *vgimg.Canvas {
	page := p.page()
	canvas := vgimg.NewWith(vgimg.UseWH(p.width, page.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(p.theme.background))
	p.draw(draw.New(canvas), page)
	return canvas
}

// page is a picture with its title and the small print, which must stay with the picture when it is copied.
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
	if p.whole > 0 {
		g.height = p.whole
	}
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
	title := p.plot.Title.TextStyle
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	for i, line := range page.title {
		inner.FillText(title, vg.Point{X: inner.Center().X, Y: inner.Max.Y - titleLine*vg.Length(i)}, line)
	}
	inner = draw.Crop(inner, 0, 0, below+margin, -titleLine*vg.Length(len(page.title))-p.plot.Title.Padding)
	drawn := *p.plot
	drawn.Title.Text = "" // it is above the whole page
	if p.side == nil {
		p.stack(&drawn, inner)
		return
	}
	text := p.sideText()
	left := draw.Crop(inner, 0, -sideGap-p.side.width(text), 0, 0)
	p.stack(&drawn, left)
	beside := drawn.DataCanvas(left)
	beside.Min.X, beside.Max.X = left.Max.X+sideGap, inner.Max.X
	p.side.drawOn(beside, text)
}

// stack draws plots below each other, with their x axes aligned.
func (p *Picture) stack(first *gonum.Plot, c draw.Canvas) {
	plots := append(make([][]*gonum.Plot, 0, 1+len(p.below)), []*gonum.Plot{first})
	for _, next := range p.below {
		plots = append(plots, []*gonum.Plot{next})
	}
	if len(plots) == 1 {
		first.Draw(c)
		return
	}
	for i, canvas := range gonum.Align(plots, draw.Tiles{Rows: len(plots), Cols: 1, PadY: margin}, c) {
		plots[i][0].Draw(canvas[0])
	}
}

// sideText is the text style of a side.
func (p *Picture) sideText() draw.TextStyle {
	text := p.plot.X.Tick.Label
	setFont(&text.Font, 9)
	text.Rotation = 0
	return text
}

// Options configure a picture. The zero value selects the defaults of each kind.
type Options struct {
	Row        int      // row of the explanation, for a picture of one row
	RowNumbers []int    // numbers of the explanation's rows in their table, if they are a sample; nil counts from FirstRow
	Columns    []string // the column or columns of pictures of columns; the players shown in others; nil means the most important
	Output     string   // class to show; "" means the most probable of a row, or the first; bars show all
	MaxPlayers int      // maximum number of players; 0 means 15
	Pairs      bool     // waterfall of main effects and pairwise interactions
	Dark       bool     // light on dark
	Title      string   // replaces the picture's own title
	Width      float64  // of the page in inches; 0 depends on the kind of picture
	Height     float64  // of the page in inches; 0 fits title, drawing and small print
}

// maxPlayers returns the number of players shown: 15 or as requested, if the page has room for their names.
func (o Options) maxPlayers() int {
	const defaultCount, around, name = 15, 130, 12 // points around the names and per name
	limit := defaultCount
	if o.MaxPlayers > 0 {
		limit = o.MaxPlayers
	}
	if o.Height > 0 {
		limit = min(limit, max(1, int((o.Height*vg.Inch.Points()-around)/name)))
	}
	return limit
}

// width returns the page width: requested, or the default of the kind.
func (o Options) width(own vg.Length) vg.Length {
	if o.Width > 0 {
		return vg.Length(o.Width) * vg.Inch
	}
	return own
}

// settle applies the requested title and size.
func (o Options) settle(p *Picture) *Picture {
	if o.Title != "" {
		p.Title = shorten(o.Title, 500)
		p.plot.Title.Text = p.Title
	}
	p.width = o.width(p.width)
	p.whole = vg.Length(o.Height) * vg.Inch
	return p
}

// errNoRows reports a table without rows.
var errNoRows = errors.New("plot: the table has no rows")

// side is the legend of the colours, to the right of a drawing, where it covers nothing.
type side interface {
	width(text draw.TextStyle) vg.Length
	drawOn(c draw.Canvas, text draw.TextStyle) // c is as high as the data area
}

// sideGap is the distance between the drawing and its side.
const sideGap = vg.Length(14)

// colourBar is the colour scale of numbers, the lowest at the bottom.
type colourBar struct {
	title     string // along the bar; omitted if the bar is too short
	low, high string // labels of the ends
	middle    string
	colour    func(share float64) color.NRGBA
}

const (
	barWidth = vg.Length(9)
	barGap   = vg.Length(4) // between the bar and its numbers
)

func (b colourBar) width(text draw.TextStyle) vg.Length {
	return barWidth + barGap + max(text.Width(b.low), text.Width(b.middle), text.Width(b.high)) + 2*barGap + text.Height("x")
}

func (b colourBar) drawOn(c draw.Canvas, text draw.TextStyle) {
	const steps = 60
	high := c.Max.Y - c.Min.Y
	for i := range steps {
		// Each step reaches to the top, so that no seams are visible between them.
		box := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: c.Min.Y + high*vg.Length(i)/steps}, Max: vg.Point{X: c.Min.X + barWidth, Y: c.Max.Y}}
		c.SetColor(b.colour(float64(i) / (steps - 1)))
		c.Fill(box.Path())
	}
	text.XAlign = draw.XLeft
	for _, mark := range []struct {
		words string
		at    vg.Length
		align draw.YAlignment
	}{{b.low, c.Min.Y, draw.YBottom}, {b.middle, (c.Min.Y + c.Max.Y) / 2, draw.YCenter}, {b.high, c.Max.Y, draw.YTop}} {
		text.YAlign = mark.align
		c.FillText(text, vg.Point{X: c.Min.X + barWidth + barGap, Y: mark.at}, mark.words)
	}
	if text.Width(b.title) <= high {
		text.Rotation, text.XAlign, text.YAlign = math.Pi/2, draw.XCenter, draw.YTop
		c.FillText(text, vg.Point{X: c.Min.X + b.width(text) - text.Height("x"), Y: (c.Min.Y + c.Max.Y) / 2}, b.title)
	}
}

// key is the legend of the colours of labels.
type key struct {
	title   string
	entries []keyEntry
}

type keyEntry struct {
	name   string
	colour color.NRGBA
}

const (
	keyLine = vg.Length(14)
	swatch  = vg.Length(8)
)

func (k *key) add(name string, c color.NRGBA) { k.entries = append(k.entries, keyEntry{name, c}) }

func (k *key) width(text draw.TextStyle) vg.Length {
	widest := text.Width(k.title)
	for _, e := range k.entries {
		widest = max(widest, swatch+barGap+text.Width(e.name))
	}
	return widest
}

func (k *key) height() vg.Length { return keyLine * vg.Length(1+len(k.entries)) }

func (k *key) drawOn(c draw.Canvas, text draw.TextStyle) {
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	y := c.Max.Y - keyLine/2
	c.FillText(text, vg.Point{X: c.Min.X, Y: y}, k.title)
	for _, e := range k.entries {
		y -= keyLine
		square := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - swatch/2}, Max: vg.Point{X: c.Min.X + swatch, Y: y + swatch/2}}
		c.SetColor(e.colour)
		c.Fill(square.Path())
		c.FillText(text, vg.Point{X: c.Min.X + swatch + barGap, Y: y}, e.name)
	}
}

// Marks that identify psi's pictures in each format. They contain neither version nor date, so that the same picture
// has the same bytes.
const (
	svgMark        = "<!-- Generator: psi -->"
	svgLibraryMark = "<!-- Generated by SVGo and Plotinum VG -->" // comment of the drawing library
	pdfMark        = "/Producer (psi)"
	pngText        = "tEXtSoftware\x00psi" // type and content of a PNG chunk
	pngStart       = "\x89PNG\r\n\x1a\n"
	pngHeader      = len(pngStart) + 25 // bytes up to the end of the chunk IHDR
)

// Drawn returns the format of a picture that psi drew, "svg", "png" or "pdf", and "" for all other files. start and end
// are the first and the last few kilobytes of the file; both may be the whole file. Pictures from before the marks are
// recognised only as SVG, by their list of fonts.
func Drawn(start, end []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("<?xml")) && (bytes.Contains(start, []byte(svgMark)) || bytes.Contains(start, []byte(svgLibraryMark)) && bytes.Contains(start, []byte(families))):
		return "svg"
	case bytes.HasPrefix(start, []byte(pngStart)) && bytes.Contains(start, []byte(pngText)):
		return "png"
	case bytes.HasPrefix(start, []byte("%PDF-")) && bytes.Contains(end, []byte(pdfMark)):
		return "pdf"
	}
	return ""
}

// markSVG replaces the drawing library's mark by psi's.
func markSVG(file []byte) []byte {
	return bytes.Replace(file, []byte(svgLibraryMark), []byte(svgMark), 1)
}

// markPNG inserts a text chunk after the header.
func markPNG(file []byte) []byte {
	marked := bytes.Clone(file[:pngHeader])
	marked = binary.BigEndian.AppendUint32(marked, uint32(len(pngText)-len("tEXt")))
	marked = append(marked, pngText...)
	marked = binary.BigEndian.AppendUint32(marked, crc32.ChecksumIEEE([]byte(pngText)))
	return append(marked, file[pngHeader:]...)
}

// markPDF sets psi as the producer and removes the dates in place. A PDF lists the offsets of its objects, so nothing
// may move; shorter texts are padded with spaces.
func markPDF(file []byte) []byte {
	for _, change := range []struct{ key, to string }{{"\n/Producer (", pdfMark}, {"\n/CreationDate (", ""}, {"\n/ModDate (", ""}} {
		at := bytes.LastIndex(file, []byte(change.key)) + 1
		if at == 0 {
			continue
		}
		line := file[at:]
		line = line[:bytes.IndexByte(line, '\n')]
		copy(line, append([]byte(change.to), bytes.Repeat([]byte(" "), len(line))...))
	}
	return file
}
