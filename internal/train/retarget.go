package train

// Retargeted is a store whose targets are put on another scale.
type Retargeted struct {
	Store
	On func(target float32) float32
}

// Read is rows [from, to), with memory of their own for the targets.
func (r Retargeted) Read(from, to int) (Data, error) {
	d, err := r.Store.Read(from, to)
	if err != nil {
		return Data{}, err
	}
	return d.Retarget(r.On), nil
}

// Retarget is the rows with targets on another scale.
func (d Data) Retarget(on func(target float32) float32) Data {
	targets := make([]float32, len(d.Target))
	for i, y := range d.Target {
		targets[i] = on(y)
	}
	d.Target = targets
	return d
}
