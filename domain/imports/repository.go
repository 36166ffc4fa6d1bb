package imports

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// RejectedRow is a rejected row that is stored until its job is deleted.
type RejectedRow struct {
	Line   int
	Reason string
	Cells  string // as a list of rejected rows shows them, see Header.Safe
	// Corrected is the result of the row's correction; zero: it was not corrected.
	Corrected Correction
}

// Correction is the import that contains a corrected row, and its state; empty: the import was
// deleted.
type Correction struct {
	By    ID
	State State
}

// InEffect reports whether the row needs no further correction here. It does again when the import
// that took it up has failed, was cancelled, undone or is gone.
func (c Correction) InEffect() bool {
	return c.By != 0 && slices.Contains([]State{Checking, Checked, Running, Done, Undoing}, c.State)
}

// Repository keeps jobs, their files in pieces, and their rejected rows.
type Repository interface {
	// Create stores a new job and returns it with its id.
	Create(ctx context.Context, j Job) (Job, error)
	// ByID finds a job of the organization whose file is there, or was; ErrNotFound.
	ByID(ctx context.Context, org orgs.ID, id ID) (Job, error)
	// List returns such jobs, the newest first: at most limit, older than the one with the id
	// before (0: from the newest on).
	List(ctx context.Context, org orgs.ID, before ID, limit int) ([]Job, error)
	// Rejecting returns such jobs of these organizations that ended at or after a moment and
	// failed, or are done and keep rejected rows: the newest first, at most limit of each
	// organization.
	Rejecting(ctx context.Context, in []orgs.ID, since time.Time, limit int) ([]Job, error)
	// Save stores everything that can change of a job and returns it with its new version. When the
	// job has changed since it was read, nothing is stored: ErrTaken.
	Save(ctx context.Context, j Job) (Job, error)
	// ExtendLease extends the lease of a job's owner; ErrTaken when another has it. The version
	// stays.
	ExtendLease(ctx context.Context, id ID, owner string, until time.Time) error

	// Next finds the next job to run: it has no owner now, and no job of its organization is
	// running. Organizations take turns: first the one whose jobs have not run for longest, and of
	// its jobs the one that has waited longest. It does not find a running job that has not written
	// rows yet while another running job of its organization has: the writes of imports of one
	// organization never interleave. ErrNothingToDo.
	Next(ctx context.Context, now time.Time) (Job, error)
	// Idle returns jobs in a state that have not changed since a moment, at most limit.
	Idle(ctx context.Context, s State, since time.Time, limit int) ([]Job, error)
	// WithLeftoverFile returns jobs that are over and whose file is still there, at most limit.
	WithLeftoverFile(ctx context.Context, limit int) ([]Job, error)
	// Remove deletes a job with everything that belongs to it.
	Remove(ctx context.Context, id ID) error

	// AddPiece stores the next piece of the file of a job that is uploading; ErrTaken when it is
	// not.
	AddPiece(ctx context.Context, id ID, number int, data []byte) error
	// Piece returns a piece of a file; ErrNotFound after the last one.
	Piece(ctx context.Context, id ID, number int) ([]byte, error)
	// ReplacePiece replaces a piece of a file; ErrNotFound when there is none.
	ReplacePiece(ctx context.Context, id ID, number int, data []byte) error
	// RemovePieces deletes at most limit pieces of a file and returns how many; fewer than limit
	// were the last.
	RemovePieces(ctx context.Context, id ID, limit int) (gone int, err error)

	// SaveRejected stores rejected rows. Their lines must be new.
	SaveRejected(ctx context.Context, id ID, rows []RejectedRow) error
	// Correct records that an import contains rejected rows of a job, by their lines: ErrCorrected
	// when one of them does not exist, or another import contains it and its correction holds.
	Correct(ctx context.Context, id ID, lines []int, by ID) error
	// Rejected returns rejected rows by line, at most limit after the given one. It returns the
	// state of a correction only if its import belongs to the organization of the job.
	Rejected(ctx context.Context, id ID, after, limit int) ([]RejectedRow, error)
	// ForgetRejected deletes the rejected rows.
	ForgetRejected(ctx context.Context, id ID) error

	// SaveCreations records what a chunk created. started is when its job was started.
	SaveCreations(ctx context.Context, id ID, started time.Time, c Creations) error
	// Creations returns what the first chunk created that begins with this row or a later one;
	// ErrNothingCreated when there is none.
	Creations(ctx context.Context, id ID, from int) (Creations, error)
	// CountCreations counts the users for whom the job created something.
	CountCreations(ctx context.Context, id ID) (int, error)
	// ForgetCreations deletes the records of the first chunks, at most limit, and returns how many;
	// fewer than limit were the last.
	ForgetCreations(ctx context.Context, id ID, limit int) (gone int, err error)
	// WithExpiredCreations returns the jobs that were started before a moment and whose creations
	// are still stored. It examines at most limit chunks, the oldest first. Jobs that are being
	// undone are left out.
	WithExpiredCreations(ctx context.Context, before time.Time, limit int) ([]Job, error)

	// Follower returns the newest other job of the organization that has written rows since this
	// one ended, and was not undone; ErrNotFound when there is none.
	Follower(ctx context.Context, j Job) (Job, error)

	// SaveMapping stores the latest mapping of an organization's files with these columns, and
	// forgets the least recently used ones beyond MaxRemembered.
	SaveMapping(ctx context.Context, org orgs.ID, m Mapping, now time.Time) error
	// Mapping returns the latest mapping of a file of the organization with the same columns;
	// ErrNotFound.
	Mapping(ctx context.Context, org orgs.ID, digest string) (Mapping, error)
}
