package serve

import (
	"errors"
	"sync"

	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rawMessage is a message as it arrived.
type rawMessage struct{ data mem.BufferSlice }

// rawCodec is the codec of protobuf, but passes raw messages unchanged. It uses no buffer pool: that would hold the buffers
// of a large message until the second garbage collection.
type rawCodec struct{}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return protocodec.Name }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(m any) (mem.BufferSlice, error) {
	message, is := m.(proto.Message)
	if !is {
		return nil, errNoMessage
	}
	data, err := proto.Marshal(message)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, into any) error {
	raw, is := into.(*rawMessage)
	if !is {
		return errNoMessage
	}
	data.Ref()
	raw.data = data
	return nil
}

var errNoMessage = errors.New("a message of gRPC is none of protobuf")

var errPacked = &requestError{"a message is packed, but the call's header grpc-encoding does not say how", "send grpc-encoding, or messages that are not packed"}

// receive reads the next message of the call. It reserves the memory of each form of it beforehand: compressed, encoded and
// decoded.
func (k *call) receive(recv func(any) error, into any, maxBody int64) error {
	m, is := into.(proto.Message)
	if !is {
		return errNoMessage
	}
	var raw rawMessage
	if err := recv(&raw); err != nil {
		return err
	}
	arrived := k.next()
	drop := sync.OnceFunc(func() {
		raw.data.Free()
		raw.data = nil
		_ = k.connection.budget.Reserve(-arrived.held) // which never fails
	})
	defer drop()
	b := buffer{budget: k.budget}
	defer b.free()
	data, err := k.plain(&b, raw.data, arrived.packed, maxBody)
	if err != nil {
		return err
	}
	if b.bytes != nil {
		drop() // it is copied
	}
	n, err := decodedBytes(m.ProtoReflect().Descriptor(), data)
	if err != nil {
		return &requestError{"the message is not what protobuf writes for this call", "check the client's version of the protocol"}
	}
	if err := k.budget.Reserve(n); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return &requestError{"the message is not what protobuf writes for this call", "encode texts in UTF-8, and check the client's version of the protocol"}
	}
	return nil
}

// plain returns the encoded message, decompressed and in one piece. The buffer holds the memory for that.
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
		return nil, bodyError(err, "a message is not what "+k.encoding+" packs, or is damaged", "send it again, or not packed")
	}
	return b.bytes, nil
}

// Bytes that decoded protobuf messages hold beside their texts, measured by TestDecodedBytes.
const (
	structBytes  = 64  // a message
	memberBytes  = 24  // each field that it may have
	elementBytes = 48  // a text, bytes or a message in a list, with the room that lists grow by
	entryBytes   = 192 // an entry of a map
)

// decodedBytes returns an upper bound of the memory of a decoded message, without decoding it. An element of one byte may
// become eight bytes, an empty text of two bytes 24, and an empty message of two bytes some hundred.
func decodedBytes(of protoreflect.MessageDescriptor, data []byte) (int64, error) {
	n := structBytes + memberBytes*int64(of.Fields().Len())
	for len(data) > 0 {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		data = data[size:]
		size = protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return 0, protowire.ParseError(size)
		}
		value := data[:size]
		data = data[size:]
		field := of.Fields().ByNumber(number)
		if field == nil || kind != protowire.BytesType {
			n += 2 * int64(max(size, 8)+8) // a number, or a field that is not known and kept as it came
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		more, err := decodedField(field, inner)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// decodedField is decodedBytes of a field's strings, bytes, message or packed numbers.
func decodedField(field protoreflect.FieldDescriptor, inner []byte) (int64, error) {
	switch {
	case field.Message() != nil:
		n, err := decodedBytes(field.Message(), inner)
		if field.IsMap() {
			n += entryBytes
		}
		return n + elementBytes, err
	case field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind:
		return int64(len(inner)) + elementBytes, nil
	}
	switch field.Kind() { // numbers in one piece, for which a list may have as much room again
	case protoreflect.BoolKind, protoreflect.DoubleKind, protoreflect.FloatKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return 2 * int64(len(inner)), nil
	}
	count := int64(0)
	for _, b := range inner {
		if b < 0x80 { // the last byte of a varint
			count++
		}
	}
	return 2 * 8 * count, nil
}
