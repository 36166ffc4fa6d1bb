package importer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// sink is a store that accepts everything and stores nothing, so that only the engine is measured.
type sink struct {
	ports.Store
	ports.Tx
	orgs.Repository

	people users.Repository // nil: sunk
}

func (s sink) View(_ context.Context, fn func(ports.Tx) error) error   { return fn(s) }
func (s sink) Update(_ context.Context, fn func(ports.Tx) error) error { return fn(s) }
func (s sink) Orgs() orgs.Repository                                   { return s }
func (sink) Audit() audit.Repository                                   { return forgetful{} }

func (sink) First(context.Context) (orgs.Organization, error) {
	return orgs.Organization{ID: 1, Slug: "acme"}, nil
}

func (sink) WithGroups(context.Context, string, orgs.GroupID) (orgs.Organization, []orgs.Group, error) {
	return orgs.Organization{ID: 1, Slug: "acme"}, []orgs.Group{{ID: 1, Name: orgs.DefaultGroup}}, nil
}

func (s sink) Users() users.Repository {
	if s.people != nil {
		return s.people
	}
	return sunk{}
}

// sunk is a repository without users that stores none.
type sunk struct{ users.Repository }

func (sunk) Matches(context.Context, orgs.ID, []string, int) ([]users.Match, error) { return nil, nil }

func (sunk) Enroll(context.Context, users.Writes) error { return nil }

// forgetful is an audit log that stores nothing.
type forgetful struct{ audit.Repository }

func (forgetful) Record(context.Context, ...audit.Entry) error { return nil }

type silent struct{}

func (silent) Begin(imports.Header, int, orgs.Organization) {}
func (silent) Rejected(*imports.RowError)                   {}
func (silent) Progress(imports.Report)                      {}

// BenchmarkImportReading measures what an import costs without a database: the duplicate scan and
// the pass that writes.
func BenchmarkImportReading(b *testing.B) {
	const rows = 200_000
	for name, format := range map[string]string{"Plain": "%s,%s,%s,%s\n", "Quoted": `"%s","%s","%s","%s"` + "\n"} {
		b.Run(name, func(b *testing.B) {
			var file bytes.Buffer
			file.WriteString("email,first_name,last_name,custom__external_id\n")
			for i := range rows {
				n := strconv.Itoa(i)
				fmt.Fprintf(&file, format, "user"+n+"@example.com", "First"+n, "Last"+n, "ext-"+n)
			}
			engine := importer.NewImports(sink{}, nil)
			open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil }
			b.ReportAllocs()
			for b.Loop() {
				report, err := engine.Run(b.Context(), audit.Actor{}, importer.Import{Open: open}, silent{})
				require.NoError(b, err)
				require.Equal(b, rows, report.Rows())
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
