// Package h2 observes an HTTP/2 connection that carries gRPC. It decodes no headers and keeps no data.
//
// gRPC for Go reports a message only when it is complete. [Frames] sees the frames of one direction as their bytes pass, and
// [Messages] sees the messages in the DATA of one stream. A server uses them to count the bytes of messages that a client
// may never complete.
package h2

// Types of frames that carry or end streams (RFC 9113, section 6).
const (
	Data    = 0x0
	Headers = 0x1
	Reset   = 0x3
)

// Flags of DATA and HEADERS frames.
const (
	EndStream = 0x1
	padded    = 0x8
)

// Preface is the number of bytes that a client sends before its first frame.
const Preface = 24

const headerLength = 9

// Frame is the header of a frame.
type Frame struct {
	Length int // of the payload, with padding
	Type   byte
	Flags  byte
	Stream uint32
}

// Ends reports whether a frame is its sender's last on the stream.
func (f Frame) Ends() bool {
	return f.Type == Reset || (f.Type == Data || f.Type == Headers) && f.Flags&EndStream != 0
}

// Frames observes the frames of one direction of a connection. The zero value begins at a frame; use Input for a server's
// input, which begins with a preface.
type Frames struct {
	skip   int // bytes of the preface still to pass
	header [headerLength]byte
	have   int // bytes of the header that have passed
	frame  Frame
	passed int // bytes of its payload that have passed
	pad    int // bytes at the end of its payload that are padding
}

// Input returns Frames for what a client sends, including the preface.
func Input() Frames { return Frames{skip: Preface} }

// Visitor receives frames as they pass.
type Visitor interface {
	// Begin is called after the header of a frame and before its payload. An error ends the pass.
	Begin(Frame) error

	// Data is called with each part of a DATA frame's payload, without padding. The visitor may change the bytes.
	Data(stream uint32, part []byte) error
}

// Pass observes the next bytes of the direction, in parts of any size. It returns the error of the visitor.
func (f *Frames) Pass(p []byte, visit Visitor) error {
	n := min(f.skip, len(p))
	f.skip -= n
	for p = p[n:]; len(p) > 0; p = p[n:] {
		if f.have < headerLength {
			n = copy(f.header[f.have:], p)
			if f.have += n; f.have == headerLength {
				f.read()
				if err := visit.Begin(f.frame); err != nil {
					return err
				}
				f.end()
			}
			continue
		}
		n = min(f.frame.Length-f.passed, len(p))
		if f.frame.Type == Data {
			if err := f.data(p[:n], visit); err != nil {
				return err
			}
		}
		f.passed += n
		f.end()
	}
	return nil
}

// read decodes the header of a frame.
func (f *Frames) read() {
	h := &f.header
	f.frame = Frame{
		Length: int(h[0])<<16 | int(h[1])<<8 | int(h[2]), Type: h[3], Flags: h[4],
		Stream: (uint32(h[5])<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8])) &^ (1 << 31),
	}
	f.passed, f.pad = 0, 0
}

// end prepares for the next header when a payload has passed.
func (f *Frames) end() {
	if f.passed == f.frame.Length {
		f.have = 0
	}
}

// data passes on the payload without padding. The first byte of a padded frame is the number of bytes of padding at its end.
func (f *Frames) data(part []byte, visit Visitor) error {
	from := f.passed
	if f.frame.Flags&padded != 0 && from == 0 {
		f.pad = int(part[0])
		part, from = part[1:], 1
	}
	if limit := f.frame.Length - f.pad - from; len(part) > limit {
		part = part[:max(limit, 0)]
	}
	if len(part) == 0 {
		return nil
	}
	return visit.Data(f.frame.Stream, part)
}

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
