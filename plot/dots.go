package plot

import (
	"cmp"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dots draws many dots, those of one colour as one path, which keeps files small.
type dots struct {
	xy      plotter.XYs
	colours []color.NRGBA
	radius  vg.Length
}

func (d *dots) add(x, y float64, c color.NRGBA) {
	d.xy, d.colours = append(d.xy, plotter.XY{X: x, Y: y}), append(d.colours, c)
}

// dotGrid is the minimum distance of dots; closer dots are drawn once.
const dotGrid = vg.Length(.7)

// Plot draws the dots in random order, so that no colour hides the others.
func (d *dots) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	rng := rand.New(rand.NewPCG(0, 0))
	taken := map[[2]int]bool{}
	places := map[color.NRGBA][]vg.Point{}
	var colours []color.NRGBA
	for _, i := range rng.Perm(len(d.xy)) {
		at := vg.Point{X: x(d.xy[i].X), Y: y(d.xy[i].Y)}
		cell := [2]int{int(math.Round(float64(at.X / dotGrid))), int(math.Round(float64(at.Y / dotGrid)))}
		if taken[cell] {
			continue
		}
		taken[cell] = true
		if places[d.colours[i]] == nil {
			colours = append(colours, d.colours[i])
		}
		places[d.colours[i]] = append(places[d.colours[i]], at)
	}
	rng.Shuffle(len(colours), func(i, j int) { colours[i], colours[j] = colours[j], colours[i] })
	for _, colour := range colours {
		d.draw(c, colour, places[colour])
	}
}

func (d *dots) draw(c draw.Canvas, colour color.NRGBA, places []vg.Point) {
	if !isSVG(c.Canvas) {
		for _, at := range places {
			c.DrawGlyph(draw.GlyphStyle{Color: colour, Radius: d.radius, Shape: draw.CircleGlyph{}}, at)
		}
		return
	}
	var path vg.Path
	for _, at := range places {
		at = vg.Point{X: tenth(at.X), Y: tenth(at.Y)}
		path.Move(at)
		path.Line(at)
	}
	c.SetColor(colour)
	c.SetLineWidth(2 * d.radius)
	c.SetLineDash(nil, dotMark)
	c.Stroke(path)
	c.SetLineDash(nil, 0)
}

// isSVG looks through the canvases that others were cropped from.
func isSVG(c vg.Canvas) bool {
	for {
		cut, ok := c.(draw.Canvas)
		if !ok {
			_, ok = c.(*vgsvg.Canvas)
			return ok
		}
		c = cut.Canvas
	}
}

// tenth rounds to a tenth of a point, which has a short notation.
func tenth(x vg.Length) vg.Length { return vg.Length(math.Round(10*float64(x)) / 10) }

// DataRange returns the range of the axes.
func (d *dots) DataRange() (xmin, xmax, ymin, ymax float64) { return plotter.XYRange(d.xy) }

// GlyphBoxes keeps dots at the ends of the axes off their edge.
func (d *dots) GlyphBoxes(p *gonum.Plot) []gonum.GlyphBox {
	if len(d.xy) == 0 {
		return nil
	}
	size := vg.Rectangle{Min: vg.Point{X: -d.radius, Y: -d.radius}, Max: vg.Point{X: d.radius, Y: d.radius}}
	var boxes []gonum.GlyphBox
	for _, of := range []func(a, b plotter.XY) int{
		func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) }, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) },
	} {
		for _, at := range []plotter.XY{slices.MinFunc(d.xy, of), slices.MaxFunc(d.xy, of)} {
			boxes = append(boxes, gonum.GlyphBox{X: p.X.Norm(at.X), Y: p.Y.Norm(at.Y), Rectangle: size})
		}
	}
	return boxes
}
