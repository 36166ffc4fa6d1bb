package conformance

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

func (w *world) addPiece(t *testing.T, id imports.ID, number int, data []byte) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error { return tx.Imports().AddPiece(t.Context(), id, number, data) })
}

func (w *world) removePieces(t *testing.T, id imports.ID, limit int) int {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (int, error) { return tx.Imports().RemovePieces(t.Context(), id, limit) })
}

func (w *world) rejectedRows(t *testing.T, id imports.ID, after, limit int) []imports.RejectedRow {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]imports.RejectedRow, error) {
		return tx.Imports().Rejected(t.Context(), id, after, limit)
	})
}

func importFileCases() cases {
	piece := func(t *testing.T, id imports.ID, number int) func(tx ports.Tx) ([]byte, error) {
		t.Helper()
		return func(tx ports.Tx) ([]byte, error) { return tx.Imports().Piece(t.Context(), id, number) }
	}
	leftover := func(t *testing.T, w *world) []imports.ID {
		t.Helper()
		return jobIDs(look(t, w, func(tx ports.Tx) ([]imports.Job, error) { return tx.Imports().WithLeftoverFile(t.Context(), 10) }))
	}
	return cases{
		"PiecesAreKeptByteByByte": func(t *testing.T, w *world) {
			j, other := w.job(t, w.mine, imports.Uploading), w.job(t, w.theirs, imports.Uploading)
			data := [][]byte{bytes.Repeat([]byte("\x00\xff\r\n'"), 50_000), {0}, []byte("é")}
			for n, d := range data {
				w.addPiece(t, j.ID, n, d)
			}
			w.addPiece(t, other.ID, 0, []byte("theirs"))
			for n, d := range data {
				assert.True(t, bytes.Equal(d, look(t, w, piece(t, j.ID, n))), n)
			}
			missing(t, w, imports.ErrNotFound, piece(t, j.ID, len(data)))
			missing(t, w, imports.ErrNotFound, piece(t, other.ID, 1))
		},
		"APieceIsReplaced": func(t *testing.T, w *world) {
			j, other := w.job(t, w.mine, imports.Uploading), w.job(t, w.theirs, imports.Uploading)
			for _, to := range []imports.Job{j, other} {
				w.addPiece(t, to.ID, 0, []byte("was"))
				w.addPiece(t, to.ID, 1, []byte("next"))
			}
			act(t, w, func(tx ports.Tx) error { return tx.Imports().ReplacePiece(t.Context(), j.ID, 0, []byte("\x00now")) })
			assert.Equal(t, "\x00now", string(look(t, w, piece(t, j.ID, 0))))
			assert.Equal(t, "next", string(look(t, w, piece(t, j.ID, 1))))
			assert.Equal(t, "was", string(look(t, w, piece(t, other.ID, 0))))
			refused(t, w, imports.ErrNotFound, func(tx ports.Tx) error { return tx.Imports().ReplacePiece(t.Context(), j.ID, 2, []byte("x")) })
		},
		"MappingsAreRememberedByColumnsWithinTheirOrganization": func(t *testing.T, w *world) {
			remember := func(o tenant, m imports.Mapping, at int) {
				act(t, w, func(tx ports.Tx) error {
					return tx.Imports().SaveMapping(t.Context(), o.org.ID, m, noon.Add(time.Duration(at)*time.Second))
				})
			}
			remembered := func(o tenant, m imports.Mapping) func(ports.Tx) (imports.Mapping, error) {
				return func(tx ports.Tx) (imports.Mapping, error) {
					return tx.Imports().Mapping(t.Context(), o.org.ID, m.Digest())
				}
			}
			one := imports.Mapping{{Name: "\"Ä\"", Field: imports.Email}, {Name: "x", Field: imports.Metadata, Key: "<k>"}}
			missing(t, w, imports.ErrNotFound, remembered(w.mine, one))
			remember(w.mine, one, 0)
			assert.Equal(t, one, look(t, w, remembered(w.mine, one)))
			missing(t, w, imports.ErrNotFound, remembered(w.theirs, one))
			other := imports.Mapping{{Name: "\"Ä\""}, {Name: "x", Field: imports.Email}}
			remember(w.mine, other, 1)
			assert.Equal(t, other, look(t, w, remembered(w.mine, one)), "the last one counts")
			remember(w.theirs, one, 0)

			named := func(n int) imports.Mapping { return imports.Mapping{{Name: strconv.Itoa(n), Field: imports.Email}} }
			for n := range imports.MaxRemembered {
				remember(w.mine, named(n), n+2)
				if n == 1 {
					remember(w.mine, named(0), 1_000) // It was used again.
				}
			}
			missing(t, w, imports.ErrNotFound, remembered(w.mine, one))
			look(t, w, remembered(w.mine, named(0)))
			look(t, w, remembered(w.mine, named(1)))
			remember(w.mine, one, 2_000)
			missing(t, w, imports.ErrNotFound, remembered(w.mine, named(1)))
			look(t, w, remembered(w.mine, named(2)))
			look(t, w, remembered(w.theirs, one))
		},
		"PieceNeedsAnUploadingJob": func(t *testing.T, w *world) {
			for _, s := range []imports.State{imports.Checking, imports.Checked, imports.Running, imports.Done, imports.Cancelled, imports.Failed} {
				j := w.job(t, w.mine, s)
				refused(t, w, imports.ErrTaken, func(tx ports.Tx) error { return tx.Imports().AddPiece(t.Context(), j.ID, 0, []byte("x")) })
			}
			j := w.job(t, w.mine, imports.Uploading)
			j.Touched = noon.Add(-time.Hour)
			j = w.savedJob(t, j)
			w.addPiece(t, j.ID, 0, []byte("x"))
			idle := look(t, w, func(tx ports.Tx) ([]imports.Job, error) {
				return tx.Imports().Idle(t.Context(), imports.Uploading, noon.Add(-time.Minute), 10)
			})
			assert.Empty(t, idle)
			w.savedJob(t, j) // The version stays.
		},
		"FilesOfEndedJobsAreRemovedInPages": func(t *testing.T, w *world) {
			j, open := w.job(t, w.mine, imports.Uploading), w.job(t, w.mine, imports.Uploading)
			for n := range 5 {
				w.addPiece(t, j.ID, n, []byte("x"))
				w.addPiece(t, open.ID, n, []byte("x"))
			}
			assert.Empty(t, leftover(t, w))
			j = w.savedJob(t, j.Fail("", noon))
			assert.Equal(t, []imports.ID{j.ID}, leftover(t, w))
			assert.Equal(t, 3, w.removePieces(t, j.ID, 3))
			assert.Equal(t, []imports.ID{j.ID}, leftover(t, w))
			assert.Equal(t, 2, w.removePieces(t, j.ID, 3))
			assert.Empty(t, leftover(t, w))
			assert.Zero(t, w.removePieces(t, j.ID, 3))
			assert.Equal(t, j, w.jobByID(t, w.mine, j.ID), "the job itself stays")
			look(t, w, piece(t, open.ID, 4))
		},
		"RejectedRowsAreKeptByLine": func(t *testing.T, w *world) {
			j, other := w.job(t, w.mine, imports.Running), w.job(t, w.theirs, imports.Running)
			var want []imports.RejectedRow
			for n := range 1_200 {
				want = append(want, imports.RejectedRow{Line: n*3 + 2, Reason: "email: \"é\"\t", Cells: strings.Repeat("'", n%4) + "=1;\n\""})
			}
			for _, to := range []imports.Job{j, other} {
				act(t, w, func(tx ports.Tx) error { return tx.Imports().SaveRejected(t.Context(), to.ID, want[700:]) })
				act(t, w, func(tx ports.Tx) error { return tx.Imports().SaveRejected(t.Context(), to.ID, want[:700]) })
				act(t, w, func(tx ports.Tx) error { return tx.Imports().SaveRejected(t.Context(), to.ID, nil) })
			}
			assert.Equal(t, want, w.rejectedRows(t, j.ID, 0, 10_000))
			assert.Equal(t, want[:2], w.rejectedRows(t, j.ID, 0, 2))
			assert.Equal(t, want[2:4], w.rejectedRows(t, j.ID, want[1].Line, 2))
			act(t, w, func(tx ports.Tx) error { return tx.Imports().ForgetRejected(t.Context(), j.ID) })
			assert.Empty(t, w.rejectedRows(t, j.ID, 0, 10))
			assert.Equal(t, want, w.rejectedRows(t, other.ID, 0, 10_000))
		},
		"CorrectedRowsBelongToTheirImport": func(t *testing.T, w *world) {
			j, other := w.job(t, w.mine, imports.Running), w.job(t, w.mine, imports.Running)
			theirs := w.job(t, w.theirs, imports.Running)
			for _, to := range []imports.Job{j, other} {
				act(t, w, func(tx ports.Tx) error {
					return tx.Imports().SaveRejected(t.Context(), to.ID, []imports.RejectedRow{{Line: 2}, {Line: 3}, {Line: 4}})
				})
			}
			second := w.job(t, w.mine, imports.Running)
			correct := func(by imports.ID, lines ...int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error { return tx.Imports().Correct(t.Context(), j.ID, lines, by) })
			}
			require.NoError(t, correct(second.ID, 2, 4))
			taken := imports.Correction{By: second.ID, State: imports.Running}
			assert.Equal(t, []imports.RejectedRow{{Line: 2, Corrected: taken}, {Line: 3}, {Line: 4, Corrected: taken}}, w.rejectedRows(t, j.ID, 0, 10))
			assert.Equal(t, []imports.RejectedRow{{Line: 2}, {Line: 3}, {Line: 4}}, w.rejectedRows(t, other.ID, 0, 10))

			third := w.job(t, w.mine, imports.Running)
			require.ErrorIs(t, correct(third.ID, 3, 4), imports.ErrCorrected)
			require.ErrorIs(t, correct(third.ID, 5), imports.ErrCorrected, "there is no such row")
			assert.Equal(t, imports.Correction{}, w.rejectedRows(t, j.ID, 2, 1)[0].Corrected, "nothing is kept of what was refused")

			w.savedJob(t, second.Fail("", noon))
			assert.False(t, w.rejectedRows(t, j.ID, 0, 1)[0].Corrected.InEffect())
			require.NoError(t, correct(third.ID, 2, 3, 4), "whose import has failed is open again")
			act(t, w, func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), third.ID) })
			assert.Equal(t, imports.Correction{By: third.ID}, w.rejectedRows(t, j.ID, 0, 1)[0].Corrected)
			require.NoError(t, correct(theirs.ID, 2))
			assert.Empty(t, w.rejectedRows(t, j.ID, 0, 1)[0].Corrected.State, "of other organizations nothing is told")
		},
		"JobIsDeletedWithItsData": func(t *testing.T, w *world) {
			j := w.job(t, w.mine, imports.Uploading)
			w.addPiece(t, j.ID, 0, []byte("x"))
			act(t, w, func(tx ports.Tx) error {
				return tx.Imports().SaveRejected(t.Context(), j.ID, []imports.RejectedRow{{Line: 2}})
			})
			for range 2 {
				act(t, w, func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), j.ID) })
			}
			missing(t, w, imports.ErrNotFound, piece(t, j.ID, 0))
			assert.Empty(t, w.rejectedRows(t, j.ID, 0, 10))
		},
	}
}
