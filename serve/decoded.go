package serve

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

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
