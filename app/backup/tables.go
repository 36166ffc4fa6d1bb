package backup

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/ports"
)

// readTable inserts the rows of a table, and checks that none is missing. The rows of a table that
// is left out are only checked.
func readTable(ctx context.Context, to ports.Tables, b begin, from Source) (TableSummary, error) {
	if to.Excludes(b.Table) {
		return rowsOf(b.Table, from, func([]byte) error { return nil })
	}
	n := slices.IndexFunc(to.Tables(), func(t ports.Table) bool { return t.Name == b.Table })
	if n < 0 || !slices.Equal(to.Tables()[n].Columns, b.Columns) {
		return TableSummary{}, ErrSchema.With("the copy has other columns of %s than the database", b.Table)
	}
	t := to.Tables()[n]
	p := pager{do: func(rows [][]any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return to.Insert(ctx, t, rows)
	}}
	counted, err := rowsOf(t.Name, from, func(line []byte) error {
		row, err := decode(line, t)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, t.Name, err)
		}
		return p.add(row)
	})
	if err == nil {
		err = p.flush()
	}
	if err != nil {
		return TableSummary{}, err
	}
	if t.Numbered {
		if err := to.SetLast(ctx, t, b.Last); err != nil {
			return TableSummary{}, err
		}
	}
	return counted, nil
}

// rowsOf passes the rows of a table to do, and checks that none is missing.
func rowsOf(table string, from Source, do func(line []byte) error) (TableSummary, error) {
	var s sum
	for {
		line, err := from.ReadLine()
		if err != nil {
			return TableSummary{}, damaged(err)
		}
		if bytes.HasPrefix(line, []byte("{")) {
			var e end
			if err := json.Unmarshal(line, &e); err != nil || e.End != table || e.Rows != s.rows || e.Sum != s.String() {
				return TableSummary{}, ErrDamaged.With("the table %s of the copy is damaged or incomplete; nothing was restored", table)
			}
			return TableSummary{table, s.rows, s.String()}, nil
		}
		s.add(line)
		if err := do(line); err != nil {
			return TableSummary{}, err
		}
	}
}

// encode encodes a row as a line: a JSON array. Bytes are in base64, times in RFC 3339 with
// microseconds at most.
func encode(row []any) ([]byte, error) {
	said := make([]any, len(row))
	for i, v := range row {
		if t, is := v.(time.Time); is {
			v = t.UTC().Format(time.RFC3339Nano)
		}
		said[i] = v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(said)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decode decodes a line into a row of a table.
func decode(line []byte, t ports.Table) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var row []any
	if err := d.Decode(&row); err != nil {
		return nil, err
	}
	if len(row) != len(t.Columns) {
		return nil, fmt.Errorf("%d values for %d columns", len(row), len(t.Columns))
	}
	for i, c := range t.Columns {
		if row[i] == nil {
			continue
		}
		var err error
		if row[i], err = convert(row[i], c.Kind); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return row, nil
}

// keyOf decodes a line into the key of a row.
func keyOf(line string, t ports.Table) ([]any, error) {
	key := ports.Table{Columns: make([]ports.Column, len(t.Key))}
	for i, k := range t.Key {
		key.Columns[i] = t.Columns[k]
	}
	return decode([]byte(line), key)
}

// convert converts a JSON value to the kind of its column.
func convert(v any, k ports.Kind) (any, error) {
	switch said := v.(type) {
	case bool:
		if k == ports.KindBoolean {
			return said, nil
		}
	case json.Number:
		if k == ports.KindInteger {
			return said.Int64()
		}
	case string:
		switch k {
		case ports.KindText:
			return said, nil
		case ports.KindBytes:
			return base64.StdEncoding.DecodeString(said)
		case ports.KindTime:
			return time.Parse(time.RFC3339Nano, said)
		case ports.KindInteger, ports.KindBoolean:
		}
	}
	return nil, fmt.Errorf("%v is not a value of the kind %s", v, k)
}
