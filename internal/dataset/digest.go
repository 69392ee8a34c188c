package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"github.com/psi-shapley/psi/table"
)

// longLabel is the length from which a label enters the digest by its own digest. A few bytes of a file can represent
// millions of rows with a label of 1 MiB.
const longLabel = 1 << 10

// columnDigest is the digest of the cells of a column.
type columnDigest struct {
	hash hash.Hash
	long [][]byte // digests of long labels by code, which has the same meaning in all chunks
}

func newColumnDigest(c *table.Column) *columnDigest {
	d := &columnDigest{hash: sha256.New()}
	_, _ = fmt.Fprintf(d.hash, "%q %v\n", c.Name, c.Kind) // a hash never fails
	return d
}

// add digests cells so that different columns give different bytes.
func (d *columnDigest) add(c *table.Column) {
	const part = 64 << 10
	b := make([]byte, 0, part)
	for i, observed := range c.Observed {
		if len(b) > part-2*longLabel {
			_, _ = d.hash.Write(b)
			b = b[:0]
		}
		switch {
		case !observed:
			b = append(b, 0)
		case c.Kind == table.Category:
			label := c.Levels[c.Codes[i]]
			b = binary.AppendUvarint(append(b, 1), uint64(len(label)))
			if len(label) < longLabel {
				b = append(b, label...)
			} else {
				b = append(b, d.longLabel(c, c.Codes[i])...)
			}
		default:
			b = binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(c.Numbers[i]))
		}
	}
	_, _ = d.hash.Write(b)
}

func (d *columnDigest) longLabel(c *table.Column, code int32) []byte {
	if more := len(c.Levels) - len(d.long); more > 0 {
		d.long = append(d.long, make([][]byte, more)...)
	}
	if d.long[code] == nil {
		sum := sha256.Sum256([]byte(c.Levels[code]))
		d.long[code] = sum[:]
	}
	return d.long[code]
}

// Digest is the digest of all cells of a table, which may come in chunks.
type Digest struct{ columns []*columnDigest }

// Add adds the next rows, which must have the same columns each time.
func (d *Digest) Add(chunk *table.Table) {
	if d.columns == nil {
		for _, c := range chunk.Columns {
			d.columns = append(d.columns, newColumnDigest(c))
		}
	}
	for i, c := range chunk.Columns {
		d.columns[i].add(c)
	}
}

// String returns "sha256:…" of all rows so far.
func (d *Digest) String() string { return digestOf(d) }

// digestOf returns the digest of all cells of tables, in order.
func digestOf(all ...*Digest) string {
	whole := sha256.New()
	for _, d := range all {
		for _, c := range d.columns {
			_, _ = whole.Write(c.hash.Sum(nil))
		}
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil))
}
