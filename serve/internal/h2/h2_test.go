package h2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"golang.org/x/net/http2"

	"github.com/psi-shapley/psi/serve/internal/h2"
)

// seen is what a visitor was told.
type seen struct {
	frames []h2.Frame
	data   map[uint32][]byte
}

func (s *seen) Begin(f h2.Frame) error {
	s.frames = append(s.frames, f)
	return nil
}

func (s *seen) Data(stream uint32, part []byte) error {
	s.data[stream] = append(s.data[stream], part...)
	return nil
}

// framed reads a connection as golang.org/x/net/http2 does, up to the first frame that it refuses.
func framed(t *testing.T, connection []byte) (*seen, int) {
	t.Helper()
	in := bytes.NewReader(connection)
	framer := http2.NewFramer(io.Discard, in)
	want, good := &seen{data: map[uint32][]byte{}}, 0
	for {
		frame, err := framer.ReadFrame()
		if _, ofStream := errors.AsType[http2.StreamError](err); ofStream {
			return want, good // it is not told which frame it was
		}
		if err != nil {
			return want, good
		}
		header := frame.Header()
		want.frames = append(want.frames, h2.Frame{Length: int(header.Length), Type: byte(header.Type), Flags: byte(header.Flags), Stream: header.StreamID})
		if data, is := frame.(*http2.DataFrame); is && len(data.Data()) > 0 {
			want.data[header.StreamID] = append(want.data[header.StreamID], data.Data()...)
		}
		good = len(connection) - in.Len()
	}
}

// passed lets a connection pass in parts whose sizes are drawn.
func passed(t *testing.T, connection []byte, random *rand.Rand) *seen {
	t.Helper()
	got, frames := &seen{data: map[uint32][]byte{}}, h2.Input()
	rest := append(make([]byte, h2.Preface), connection...)
	for len(rest) > 0 {
		n := min(1+random.IntN(1+random.IntN(40)), len(rest))
		if err := frames.Pass(rest[:n], got); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	return got
}

// written is a connection of frames that a client may send.
func written(t *testing.T, random *rand.Rand) []byte {
	t.Helper()
	var out bytes.Buffer
	framer := http2.NewFramer(&out, nil)
	framer.AllowIllegalWrites = true
	for range random.IntN(30) {
		stream, payload := 1+2*random.Uint32N(4), make([]byte, random.IntN(50))
		for i := range payload {
			payload[i] = byte(random.Uint32())
		}
		var err error
		switch random.IntN(7) {
		case 0, 1:
			err = framer.WriteData(stream, random.IntN(4) == 0, payload)
		case 2:
			err = framer.WriteDataPadded(stream, random.IntN(4) == 0, payload, make([]byte, random.IntN(9)))
		case 3:
			err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: payload, EndStream: random.IntN(2) == 0, EndHeaders: true})
		case 4:
			err = framer.WriteRSTStream(stream, http2.ErrCodeCancel)
		case 5:
			err = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16})
		case 6:
			err = framer.WritePing(false, [8]byte{1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Frames agree with golang.org/x/net/http2, however their bytes are split, until that refuses the connection.
func FuzzFrames(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, []byte(nil))
	}
	f.Add(uint64(1), []byte{0, 0, 1, h2.Data, 8, 0, 0, 0, 1, 0})            // padding alone
	f.Add(uint64(1), []byte{0, 0, 0, h2.Data, 8, 0, 0, 0, 1})               // padded, and not a byte that says how much
	f.Add(uint64(1), []byte{0, 0, 2, h2.Data, 8, 0, 0, 0, 1, 9, 9})         // more padding than payload
	f.Add(uint64(1), []byte{0, 0, 4, h2.Reset, 0, 0x80, 0, 0, 1, 0, 0, 0})  // the reserved bit, and no end
	f.Add(uint64(1), []byte{0xff, 0xff, 0xff, h2.Data, 0, 0, 0, 0, 1, 0x1}) // a length that never comes
	f.Fuzz(func(t *testing.T, seed uint64, raw []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		if raw == nil {
			raw = written(t, random)
		}
		want, good := framed(t, raw)
		if got := passed(t, raw[:good], random); !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
		_ = passed(t, raw, random) // what is refused must not panic either
	})
}

// Messages are found however DATA is split; flags of packed ones are cleared, and nothing else changes.
func FuzzMessages(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var sent, want []byte
		var flags []bool
		for range random.IntN(12) {
			body := make([]byte, random.IntN(60)*random.IntN(2))
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			packed := random.IntN(2) == 0
			flags = append(flags, packed)
			prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
			want = append(append(want, prefix...), body...)
			if packed {
				prefix[0] = 1
			}
			sent = append(append(sent, prefix...), body...)
		}
		var m h2.Messages
		var found []bool
		for rest := sent; len(rest) > 0; {
			n := min(1+random.IntN(20), len(rest))
			m.Pass(rest[:n], func(packed bool) { found = append(found, packed) })
			rest = rest[n:]
		}
		if !bytes.Equal(sent, want) || !reflect.DeepEqual(found, flags) || m.Within() {
			t.Errorf("seed %d: %v, want %v; within %v", seed, found, flags, m.Within())
		}
		m.Pass([]byte{0, 0, 0}, nil)
		if !m.Within() {
			t.Error("a message that has begun is not seen")
		}
	})
}

// An error of the visitor ends the pass.
func TestRefusedFrame(t *testing.T) {
	frames := h2.Frames{}
	full := errors.New("full")
	if err := frames.Pass([]byte{0, 0, 1, h2.Data, 0, 0, 0, 0, 1, 7}, refusing{full}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type refusing struct{ err error }

func (r refusing) Begin(h2.Frame) error      { return r.err }
func (r refusing) Data(uint32, []byte) error { return r.err }

// BenchmarkFrames passes DATA of a message of 1 MiB as a server reads it: nine bytes, then a payload.
func BenchmarkFrames(b *testing.B) {
	const size = 16 << 10
	header := []byte{0, size >> 8, size & 255, h2.Data, 0, 0, 0, 0, 1}
	payloads := make([]byte, 64*size)
	binary.BigEndian.PutUint32(payloads[1:], uint32(len(payloads)-5))
	frames, all := h2.Frames{}, counting{}
	b.SetBytes(int64(len(payloads)))
	for b.Loop() {
		for at := 0; at < len(payloads); at += size {
			if err := errors.Join(frames.Pass(header, &all), frames.Pass(payloads[at:at+size], &all)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

type counting struct {
	messages h2.Messages
	n        int
}

func (c *counting) Begin(h2.Frame) error { return nil }

func (c *counting) Data(_ uint32, part []byte) error {
	c.messages.Pass(part, func(bool) { c.n++ })
	return nil
}
