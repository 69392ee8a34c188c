package psi

import "math"

// minimum minimises a smooth function of two numbers, starting from (0, 0). It uses Newton's method with finite
// differences and steps that never increase the function.
func minimum(f func(x, y float64) float64) (x, y float64) {
	const h, rounds, least = 1e-3, 50, 1e-7
	now := f(x, y)
	for range rounds {
		east, west, north, south := f(x+h, y), f(x-h, y), f(x, y+h), f(x, y-h)
		gx, gy := (east-west)/(2*h), (north-south)/(2*h)
		xx, yy := (east-2*now+west)/(h*h), (north-2*now+south)/(h*h)
		xy := (f(x+h, y+h) - east - north + now) / (h * h)
		dx, dy := -gx, -gy
		if det := xx*yy - xy*xy; xx > 0 && det > 0 {
			dx, dy = (xy*gy-yy*gx)/det, (xy*gx-xx*gy)/det
		}
		length := math.Hypot(dx, dy)
		step := min(1, 1/length)
		next := f(x+step*dx, y+step*dy)
		for !(next < now) {
			if step /= 2; !(step*length > least) {
				return x, y
			}
			next = f(x+step*dx, y+step*dy)
		}
		x, y, now = x+step*dx, y+step*dy, next
	}
	return x, y
}
