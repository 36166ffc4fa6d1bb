package httpapi

import (
	"bytes"
	"encoding/json"
	"sync"
)

// keepAtMost is the capacity of the largest buffer that is kept for another answer.
const keepAtMost = 1 << 20

// buffers saves every answer from growing a buffer of its own.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= keepAtMost {
		b.Reset()
		buffers.Put(b)
	}
}

// appender is a row of a list so long that its speed counts: it writes its own JSON.
type appender interface {
	appendJSON(b []byte) []byte
}

// encode appends v as JSON, without the newline that the standard library adds and without escaping
// for HTML.
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

// appendString appends s as a JSON string. What needs escaping is left to the standard library.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...) // Impossible: a string always has a JSON form.
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
