package train

// Retargeted is a store with targets on another scale.
type Retargeted struct {
	Store
	On func(target float32) float32
}

// Read returns rows [from, to), with newly allocated targets.
func (r Retargeted) Read(from, to int) (Data, error) {
	d, err := r.Store.Read(from, to)
	if err != nil {
		return Data{}, err
	}
	return d.Retarget(r.On), nil
}

// Retarget returns the rows with targets on another scale.
func (d Data) Retarget(on func(target float32) float32) Data {
	targets := make([]float32, len(d.Target))
	for i, y := range d.Target {
		targets[i] = on(y)
	}
	d.Target = targets
	return d
}
