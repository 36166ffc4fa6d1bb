package httpapi

import (
	"bytes"
	"encoding/json"
	"sync"
)

// maxPooledBuffer is the capacity of the largest buffer that is kept for reuse, in bytes.
const maxPooledBuffer = 1 << 20

// buffers is a pool of buffers for responses.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// appender is a row of a long list. It encodes itself, which is faster than reflection.
type appender interface {
	appendJSON(b []byte) []byte
}

// encode appends v as JSON, without the standard library's newline and HTML escaping.
func encode(b *bytes.Buffer, v any) error {
	if a, ok := v.(appender); ok {
		b.Write(a.appendJSON(b.AvailableBuffer()))
		return nil
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// appendString appends s as a JSON string. The standard library escapes what needs escaping.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...) // Cannot happen: every string can be encoded.
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
