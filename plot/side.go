package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
