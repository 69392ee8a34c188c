package artifact

import "encoding/json"

// budget limits what a file may expand into: bytes of deflated parts, and the memory of decoding their JSON.
//
// Both grow with the file, so that a small file cannot take much memory. Models stay within them because their weights,
// which are not compressed, grow with their text: a label has an embedding row, a bin edge has a weight for each of its
// numbers.
type budget struct {
	size, text, memory int64
	remedy             string // for errors about it
}

const (
	spareText   = 6 << 20 // of a file without weights
	textPerByte = 8

	spareMemory   = 16 << 20
	memoryPerByte = 8
)

// Remedies for readers, and for writers of a file.
const (
	readRemedy  = "give a file that psi has written"
	writeRemedy = "drop columns that identify rows"
)

func budgetOf(size int64, remedy string) budget {
	return budget{remedy: remedy, size: size, text: textLimit(size), memory: spareMemory + memoryPerByte*size}
}

func textLimit(size int64) int64 { return min(MaxTextBytes, spareText+textPerByte*size) }

// takeText counts the bytes of a deflated part before decompression.
func (b *budget) takeText(size uint64) error {
	if size > uint64(b.text) {
		return b.exceeded("the text parts have more than %d bytes, the most for a file of %d bytes", textLimit(b.size), b.size)
	}
	b.text -= int64(size)
	return nil
}

// takeJSON counts the memory of decoding a JSON text, before it is decoded.
func (b *budget) takeJSON(name string, text []byte) error {
	if b.memory -= weigh(text); b.memory < 0 {
		return b.exceeded("%s lists too many values for a file of %d bytes", name, b.size)
	}
	return nil
}

func (b *budget) exceeded(format string, values ...any) error {
	err := tooLarge(format, values...)
	err.Remedy = b.remedy
	return err
}

// Maximum memory of a decoded JSON value: the largest element of any list, and the list's growth.
const (
	objectMemory = 256
	stringMemory = 48 // plus its bytes
	otherMemory  = 16 // a number, a list
)

// weigh returns the maximum memory of decoding a JSON text. It accepts any bytes.
func weigh(text []byte) int64 {
	var memory int64
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n', ',', ':', '}', ']':
		case '{':
			memory += objectMemory
		case '[':
			memory += otherMemory
		case '"':
			end := endOfString(text, i)
			memory += stringMemory + int64(end-i)
			i = end - 1
		default:
			memory += otherMemory
			for i+1 < len(text) && !ends(text[i+1]) {
				i++
			}
		}
	}
	return memory
}

// endOfString returns the position after a string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// ends reports whether a byte ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '{', '}', '[', ']', '"':
		return true
	}
	return false
}

// CheckContent returns an error if the content of a manifest could not be read again beside that many bytes of weights.
// It can be called before the rest of the file is known.
func CheckContent(content json.RawMessage, weights int64) error {
	packed, err := deflate(content)
	if err != nil {
		return err
	}
	left := budgetOf(int64(len(packed))+weights, writeRemedy)
	if err := left.takeText(uint64(len(content))); err != nil {
		return err
	}
	return left.takeJSON(manifestName, content)
}
