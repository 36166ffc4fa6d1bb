package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// surveyed is what is known of a file before its first row is written.
type surveyed struct {
	header    imports.Header
	rows      int
	duplicate rowSet
}

// keysPerPass bounds the memory of a survey: 16 bytes a key. A file with more rows is looked through once more for each further
// million, each time for another part of the keys.
const keysPerPass = 1 << 20

// survey looks through a file as a whole: that it is text with an email column, how many rows it has, and which of them
// repeat the e-mail of an earlier good row. It holds about perPass keys at a time.
func survey(ctx context.Context, open func() (io.ReadCloser, error), perPass int) (surveyed, error) {
	var s surveyed
	keys := make([]rowKey, 0, min(perPass, importChunk))
	header, err := eachRow(open, func(n int, _ imports.Row, e users.Enrollment, wrong *imports.RowError) error {
		s.rows = n + 1
		if wrong == nil && len(keys) <= perPass { // One more than a pass may hold shows that there are too many.
			keys = append(keys, newRowKey(e.Key(), n))
		}
		return endedAt(ctx, n)
	})
	if err != nil {
		return surveyed{}, err
	}
	s.header = header
	if len(keys) <= perPass {
		s.duplicate.addRepeated(keys)
		return s, nil
	}
	parts := s.rows/perPass + 1
	for part := range parts {
		keys = keys[:0]
		_, err := eachRow(open, func(n int, _ imports.Row, e users.Enrollment, wrong *imports.RowError) error {
			if wrong == nil {
				if key := newRowKey(e.Key(), n); key.part(parts) == part {
					keys = append(keys, key)
				}
			}
			return endedAt(ctx, n)
		})
		if err != nil {
			return surveyed{}, err
		}
		s.duplicate.addRepeated(keys)
	}
	return s, nil
}

// endedAt is why ctx ended, asked for now and then.
func endedAt(ctx context.Context, row int) error {
	if row%importChunk == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// rowKey is 96 bits of a hash of an e-mail, enough that two of a billion never meet, and the row it stands in.
type rowKey struct {
	high uint64
	low  uint32
	row  uint32 // A file of 4 billion rows is longer than any disk we serve.
}

func newRowKey(email string, row int) rowKey {
	sum := sha256.Sum256([]byte(email))
	return rowKey{high: binary.BigEndian.Uint64(sum[:]), low: binary.BigEndian.Uint32(sum[8:]), row: uint32(row)}
}

// part is which of several equal parts of all keys this one belongs to.
func (k rowKey) part(of int) int { return int(k.low) % of }

func (k rowKey) compare(other rowKey) int {
	return cmp.Or(cmp.Compare(k.high, other.high), cmp.Compare(k.low, other.low), cmp.Compare(k.row, other.row))
}

// rowSet is a set of row numbers, one bit each.
type rowSet []uint64

func (s rowSet) has(row int) bool { return row/64 < len(s) && s[row/64]&(1<<(row%64)) != 0 }

// addRepeated adds the rows of all keys but the first of each.
func (s *rowSet) addRepeated(keys []rowKey) {
	slices.SortFunc(keys, rowKey.compare)
	for i := 1; i < len(keys); i++ {
		if keys[i].high != keys[i-1].high || keys[i].low != keys[i-1].low {
			continue
		}
		row := int(keys[i].row)
		for row/64 >= len(*s) {
			*s = append(*s, make([]uint64, row/64+1-len(*s))...)
		}
		(*s)[row/64] |= 1 << (row % 64)
	}
}
