package main

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// families returns the families of the TrueType and OpenType fonts in a file, wherever they are.
func families(data []byte) map[string]bool {
	found := map[string]bool{}
	for _, version := range []string{"\x00\x01\x00\x00", "OTTO", "true"} {
		for at := 0; ; at++ {
			next := bytes.Index(data[at:], []byte(version))
			if next < 0 {
				break
			}
			at += next
			if family, ok := family(data[at:]); ok {
				found[family] = true
			}
		}
	}
	return found
}

// family reads the name of a font: the table "name", of it the name with the number 1, in UTF-16.
func family(font []byte) (string, bool) {
	const header, record, maxTables = 12, 16, 64
	if len(font) < header {
		return "", false
	}
	tables := int(binary.BigEndian.Uint16(font[4:]))
	if tables == 0 || tables > maxTables || len(font) < header+tables*record {
		return "", false
	}
	for i := range tables {
		entry := font[header+i*record:]
		if string(entry[:4]) != "name" {
			continue
		}
		start, size := uint64(binary.BigEndian.Uint32(entry[8:])), uint64(binary.BigEndian.Uint32(entry[12:]))
		if start+size > uint64(len(font)) {
			return "", false
		}
		return familyIn(font[start : start+size])
	}
	return "", false
}

func familyIn(names []byte) (string, bool) {
	const header, record, windows, familyName = 6, 12, 3, 1
	if len(names) < header {
		return "", false
	}
	count, texts := int(binary.BigEndian.Uint16(names[2:])), int(binary.BigEndian.Uint16(names[4:]))
	for i := range count {
		at := header + i*record
		if at+record > len(names) {
			break
		}
		field := func(n int) int { return int(binary.BigEndian.Uint16(names[at+2*n:])) }
		platform, name, size, offset := field(0), field(3), field(4), field(5)
		if platform != windows || name != familyName || texts+offset+size > len(names) {
			continue
		}
		text := names[texts+offset:][:size]
		units := make([]uint16, size/2)
		for j := range units {
			units[j] = binary.BigEndian.Uint16(text[2*j:])
		}
		return string(utf16.Decode(units)), true
	}
	return "", false
}
