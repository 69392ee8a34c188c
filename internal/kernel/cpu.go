package kernel

// best are the fastest loops of this machine.
func best() *ops { return portable() }
