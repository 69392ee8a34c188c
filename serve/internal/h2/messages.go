package h2

const prefixLength = 5 // a flag and a length of four bytes before each message

// Messages observes the gRPC messages in the DATA of one stream. The zero value begins at a message.
type Messages struct {
	have   int    // bytes of the prefix that have passed
	length uint32 // of the message, read so far
	left   uint32 // bytes of the message still to come
	packed bool
}

// Pass observes the next bytes of the stream, and calls done for each message that they complete. It clears the flag of a
// compressed message: gRPC then delivers it as it came, and the receiver decompresses it within a budget.
func (m *Messages) Pass(p []byte, done func(packed bool)) {
	for len(p) > 0 {
		if m.have < prefixLength {
			m.prefix(p)
			p = p[1:]
		} else {
			n := min(uint64(m.left), uint64(len(p)))
			m.left -= uint32(n)
			p = p[n:]
		}
		if m.have == prefixLength && m.left == 0 {
			m.have = 0
			done(m.packed)
		}
	}
}

// prefix reads the next byte of a prefix.
func (m *Messages) prefix(p []byte) {
	if m.have == 0 {
		m.packed, m.length = p[0] == 1, 0
		if m.packed {
			p[0] = 0
		}
	} else {
		m.length = m.length<<8 | uint32(p[0])
	}
	if m.have++; m.have == prefixLength {
		m.left = m.length
	}
}

// Within reports whether a message has begun and is not complete.
func (m *Messages) Within() bool { return m.have > 0 }
