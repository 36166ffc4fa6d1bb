package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"sort"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// scanResult is the result of a duplicate scan of a file, before its first row is written.
type scanResult struct {
	header    imports.Header
	rows      int
	duplicate rowSet
}

// keysPerPass bounds the memory of a scan: 16 bytes a key. A file with more rows is read once more
// for each further million rows, each time for another part of the keys.
const keysPerPass = 1 << 20

// scan reads a whole file: it checks that the file is text with an email column, counts its rows,
// and finds those that repeat the e-mail of an earlier good row. It holds about perPass keys at a
// time.
func scan(ctx context.Context, open func() (io.ReadCloser, error), perPass int) (scanResult, error) {
	var s scanResult
	var keys rowKeys
	header, err := eachRow(open, func(n int, _ imports.Row, e users.Enrollment, wrong *imports.RowError) error {
		s.rows = n + 1
		if wrong == nil && keys.Len() <= perPass { // One key more than a pass may hold shows that there are too many.
			keys.add(newRowKey(e.Key(), n))
		}
		return checkContext(ctx, n)
	})
	if err != nil {
		return scanResult{}, err
	}
	s.header = header
	if keys.Len() <= perPass {
		s.duplicate.addRepeated(&keys)
		return s, nil
	}
	parts := s.rows/perPass + 1
	for part := range parts {
		keys.clear()
		_, err := eachRow(open, func(n int, _ imports.Row, e users.Enrollment, wrong *imports.RowError) error {
			if wrong == nil {
				if key := newRowKey(e.Key(), n); key.part(parts) == part {
					keys.add(key)
				}
			}
			return checkContext(ctx, n)
		})
		if err != nil {
			return scanResult{}, err
		}
		s.duplicate.addRepeated(&keys)
	}
	return s, nil
}

// checkContext returns why ctx ended. It checks only at some rows.
func checkContext(ctx context.Context, row int) error {
	if row%chunkRows == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// rowKey is 96 bits of a hash of an e-mail, enough that no two of a billion collide, and the number
// of its row.
type rowKey struct {
	high uint64
	low  uint32
	row  uint32 // No disk that we support holds a file of 4 billion rows.
}

func newRowKey(email string, row int) rowKey {
	sum := sha256.Sum256([]byte(email))
	return rowKey{high: binary.BigEndian.Uint64(sum[:]), low: binary.BigEndian.Uint32(sum[8:]), row: uint32(row)}
}

// part returns to which of several equal parts of all keys this one belongs.
func (k rowKey) part(of int) int { return int(k.low) % of }

func (k rowKey) compare(other rowKey) int {
	return cmp.Or(cmp.Compare(k.high, other.high), cmp.Compare(k.low, other.low), cmp.Compare(k.row, other.row))
}

// keyBlock is how many keys are allocated together.
const keyBlock = 4096

// rowKeys is a list of keys that can be sorted. It grows by blocks: a slice of a million keys would
// need twice its memory while it grows.
type rowKeys struct {
	blocks [][]rowKey
	count  int
}

var _ sort.Interface = (*rowKeys)(nil)

func (k *rowKeys) at(i int) *rowKey { return &k.blocks[i/keyBlock][i%keyBlock] }

// add appends a key.
func (k *rowKeys) add(key rowKey) {
	if k.count == len(k.blocks)*keyBlock {
		k.blocks = append(k.blocks, make([]rowKey, keyBlock))
	}
	k.count++
	*k.at(k.count - 1) = key
}

// clear empties the list and keeps its memory for other keys.
func (k *rowKeys) clear() { k.count = 0 }

func (k *rowKeys) Len() int           { return k.count }
func (k *rowKeys) Less(i, j int) bool { return k.at(i).compare(*k.at(j)) < 0 }
func (k *rowKeys) Swap(i, j int)      { *k.at(i), *k.at(j) = *k.at(j), *k.at(i) }

// rowSet is a set of row numbers, one bit each.
type rowSet []uint64

func (s rowSet) has(row int) bool { return row/64 < len(s) && s[row/64]&(1<<(row%64)) != 0 }

// addRepeated adds the rows of all keys but the first of each. It sorts the keys.
func (s *rowSet) addRepeated(keys *rowKeys) {
	sort.Sort(keys)
	for i := 1; i < keys.Len(); i++ {
		key, before := keys.at(i), keys.at(i-1)
		if key.high != before.high || key.low != before.low {
			continue
		}
		row := int(key.row)
		for row/64 >= len(*s) {
			*s = append(*s, make([]uint64, row/64+1-len(*s))...)
		}
		(*s)[row/64] |= 1 << (row % 64)
	}
}
