package serve

import (
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// messageJSON encodes a message as Triton does over HTTP: with its field names, and with numbers as numbers, where
// protobuf's JSON has strings for those of 64 bits. all includes fields that are 0 or empty.
func messageJSON(m protoreflect.ProtoMessage, all bool) ([]byte, error) {
	return json.Marshal(fieldsOf(m.ProtoReflect(), all))
}

func fieldsOf(m protoreflect.Message, all bool) map[string]any {
	fields := map[string]any{}
	list := m.Descriptor().Fields()
	for i := range list.Len() {
		f := list.Get(i)
		if !m.Has(f) && (!all || f.HasPresence()) {
			continue
		}
		value := m.Get(f)
		switch {
		case f.IsMap():
			entries := map[string]any{}
			value.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = single(f.MapValue(), v, all)
				return true
			})
			fields[f.TextName()] = entries
		case f.IsList():
			elements := make([]any, value.List().Len())
			for j := range elements {
				elements[j] = single(f, value.List().Get(j), all)
			}
			fields[f.TextName()] = elements
		default:
			fields[f.TextName()] = single(f, value, all)
		}
	}
	return fields
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value, all bool) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return fieldsOf(v.Message(), all)
	case protoreflect.EnumKind:
		if name := f.Enum().Values().ByNumber(v.Enum()); name != nil {
			return string(name.Name())
		}
		return int32(v.Enum())
	default:
		return v.Interface()
	}
}
