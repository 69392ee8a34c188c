package serve

import (
	"errors"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// rawMessage is a message as it came.
type rawMessage struct{ data mem.BufferSlice }

// rawCodec is that of protobuf, but hands raw messages over as they came.
type rawCodec struct{ encoding.CodecV2 }

func newRawCodec() rawCodec { return rawCodec{encoding.GetCodecV2(protocodec.Name)} }

// Unmarshal is of encoding.CodecV2.
func (c rawCodec) Unmarshal(data mem.BufferSlice, into any) error {
	raw, is := into.(*rawMessage)
	if !is {
		return c.CodecV2.Unmarshal(data, into)
	}
	data.Ref()
	raw.data = data
	return nil
}

var errPacked = &wrong{"a message is packed, but the call's header grpc-encoding does not say how", "send grpc-encoding, or messages that are not packed"}

// receive reads the call's next message. The memory of each form it has on the way is taken before: packed, as
// protobuf writes it, and as a message.
func (k *call) receive(recv func(any) error, into any, maxBody int64) error {
	var raw rawMessage
	if err := recv(&raw); err != nil {
		return err
	}
	arrived := k.next()
	defer func() {
		raw.data.Free()
		_ = k.connection.budget.Reserve(-arrived.held) // which never fails
	}()
	b := buffer{budget: k.budget}
	defer b.free()
	data, err := k.plain(&b, raw.data, arrived.packed, maxBody)
	if err != nil {
		return err
	}
	m, is := into.(proto.Message)
	if !is {
		return errors.New("a message of gRPC is none of protobuf")
	}
	n, err := decodedBytes(m.ProtoReflect().Descriptor(), data)
	if err != nil {
		return &wrong{"the message is not what protobuf writes for this call", "check the client's version of the protocol"}
	}
	if err := k.budget.Reserve(n); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return &wrong{"the message is not what protobuf writes for this call", "encode texts in UTF-8, and check the client's version of the protocol"}
	}
	return nil
}

// plain returns a message as protobuf writes it, in one piece. What it needs for that lies in the buffer.
func (k *call) plain(b *buffer, data mem.BufferSlice, packed bool, maxBody int64) ([]byte, error) {
	if !packed {
		if len(data) == 1 {
			return data[0].ReadOnlyData(), nil
		}
		n := data.Len()
		if err := b.grow(n, n); err != nil {
			return nil, err
		}
		b.bytes = b.bytes[:n]
		data.CopyTo(b.bytes)
		return b.bytes, nil
	}
	if k.encoding != gzipped && k.encoding != deflated {
		return nil, errPacked
	}
	if err := k.budget.Reserve(unpackingBytes); err != nil {
		return nil, err
	}
	defer func() { _ = k.budget.Reserve(-unpackingBytes) }() // which never fails
	r, err := unpacking(k.encoding, data.Reader())
	if err == nil {
		err = b.readAll(&boundedReader{r, maxBody, maxBody}, -1)
	}
	if err != nil {
		return nil, badly(err, "a message is not what "+k.encoding+" packs, or is damaged", "send it again, or not packed")
	}
	return b.bytes, nil
}
