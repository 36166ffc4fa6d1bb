package backup

import (
	"encoding/json"
	"errors"
	"io"
)

// Opened is a copy whose header was read.
type Opened struct {
	header header
	from   Source
}

// ReadHeader reads the first line of a copy. It returns ErrNoCopy if the line is not a header, and
// ErrDamaged with the cause if it cannot be read.
func ReadHeader(from Source) (Opened, error) {
	c := Opened{from: from}
	line, err := from.ReadLine()
	switch {
	case errors.Is(err, io.EOF): // The file is empty.
		return c, ErrNoCopy
	case err != nil:
		return c, damaged(err)
	case json.Unmarshal(line, &c.header) != nil || c.header.Format != formatName:
		return c, ErrNoCopy
	}
	return c, nil
}
