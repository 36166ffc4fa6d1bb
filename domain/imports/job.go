package imports

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Errors of imports that run in the background.
var (
	ErrNotFound   = fault.New(fault.NotFound, "the import does not exist")
	ErrNotChecked = fault.New(fault.Invalid, "the import cannot be started: its file is not checked yet, or it was started before")
	ErrOver       = fault.New(fault.Invalid, "the import is over already")
	ErrTooLarge   = fault.New(fault.TooLarge, "the file is larger than an import may be")
	ErrBusy       = fault.New(fault.Limited, "another workbook is being read: try again in a minute, or save yours as CSV")
	ErrIncomplete = fault.New(fault.Invalid, "the upload was interrupted")
	ErrNotAllowed = fault.New(fault.Forbidden, "the user who started the import may no longer import")
	// ErrTaken says that the job was changed meanwhile: cancelled, or taken over.
	ErrTaken = fault.New(fault.Unavailable, "the import was changed by somebody else")
	// ErrNothingToDo says that no job waits.
	ErrNothingToDo = fault.New(fault.NotFound, "no import waits")
)

const (
	// MaxKept is how many rejected rows of an import are kept.
	MaxKept = 100_000
	// MaxFailures is how often in a row a job may fail without progress, for reasons that are not
	// its own, or because the process that ran it was killed or could not reach the database.
	MaxFailures = 10
	// maxFileName is how much of a file's name is stored, in characters.
	maxFileName = 200
)

// ID identifies a job. It is positive; 0 means "not stored yet".
type ID int64

// State is the state of a job.
type State string

// The states. A file is uploaded, then checked by a dry run, which writes nothing; then a user has
// to start it. Until it is over it can be cancelled at any time. An import that is over can be
// undone; an undo that is cancelled or fails leaves it in the earlier state.
const (
	Uploading State = "uploading"
	Checking  State = "checking"
	Checked   State = "checked"
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
	Failed    State = "failed"
	Undoing   State = "undoing"
	Undone    State = "undone"
)

// States returns the states for which a condition holds, such as State.Over.
func States(are func(State) bool) []State {
	all := []State{Uploading, Checking, Checked, Running, Done, Cancelled, Failed, Undoing, Undone}
	return slices.DeleteFunc(all, func(s State) bool { return !are(s) })
}

// Over reports whether the job has ended.
func (s State) Over() bool { return s == Done || s == Cancelled || s == Failed || s == Undone }

// Working reports whether an instance of the service runs the job, or should.
func (s State) Working() bool { return s == Checking || s == Running || s == Undoing }

// Job is an import in the background. A change stores the whole job, and only if it was not changed
// meanwhile: see Repository.Save.
type Job struct {
	ID           ID
	Organization orgs.ID
	File         string  // its name
	Size         int64   // of the file, in bytes
	Header       string  // of the file, as it stands there
	Columns      Mapping // by the names in the uploaded file; nil: unknown, or too many to be mapped
	Source       string  // the format before it became CSV in UTF-8: an encoding, or a sheet of a workbook; empty: unknown
	Group        orgs.Group
	By           audit.Actor // who uploaded the file, or started the import
	State        State
	Reason       string // why it failed, or was cancelled when no user did that

	Rows    int    // in the file; 0: unknown
	Done    int    // rows that the check, or the import, has finished: it continues with the next
	Counts  Report // of these rows
	Checked Report // of the whole file, by the dry run
	Kept    int    // stored rejected rows
	Undo    Undo   // what was undone

	Uploaded time.Time
	Started  time.Time // zero: not yet
	Ended    time.Time // zero: not yet
	Touched  time.Time // when it changed last
	Pace     Pace

	Owner    string    // who runs it; empty: no instance
	Until    time.Time // after this, other instances may take over
	Failures int       // in a row, without any progress in between
	Version  int64     // counts the changes
}

// Pace is the start of the current run of a job: the time, and the row.
type Pace struct {
	Since time.Time
	From  int
}

// NewJob returns an import whose file is about to be uploaded.
func NewJob(org orgs.ID, file, source string, g orgs.Group, by audit.Actor, now time.Time) Job {
	return Job{Organization: org, File: fileName(file), Source: source, Group: g, By: by, State: Uploading, Uploaded: now, Touched: now}
}

// fileName returns the part of a browser's file name that is stored: the last piece of a path,
// without invisible characters.
func fileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
	if runes := []rune(name); len(runes) > maxFileName {
		name = string(runes[:maxFileName])
	}
	if name == "" {
		return "unnamed"
	}
	return name
}

// Complete records that the whole file is stored.
func (j Job) Complete(h Header, columns Mapping, size int64, now time.Time) Job {
	j.State, j.Header, j.Columns, j.Size, j.Uploaded, j.Touched = Checking, h.Text(), columns, size, now, now
	return j
}

// Map changes the mapping that was checked: the file is checked again. ErrNotChecked.
func (j Job) Map(h Header, columns Mapping, by audit.Actor, now time.Time) (Job, error) {
	if j.State != Checked {
		return j, ErrNotChecked.With("the columns cannot be changed now: the file is not checked yet, or the import was started")
	}
	j.State, j.By, j.Header, j.Columns, j.Touched = Checking, by, h.Text(), columns, now
	j.Rows, j.Done, j.Counts, j.Checked, j.Kept, j.Pace = 0, 0, Report{}, Report{}, 0, Pace{}
	return j, nil
}

// Mapping returns the mapping of the columns, as far as it is known.
func (j Job) Mapping() Mapping {
	if j.Columns != nil {
		return j.Columns
	}
	h, err := ParseHeader(j.Header)
	if err != nil {
		return nil
	}
	return h.Mapping()
}

// Claim gives the job to an owner. When the lease of another owner has ended, that one did not give
// the job back: its process was killed, perhaps because of the job, or could not reach the
// database. This counts as a failure.
func (j Job) Claim(owner string, now time.Time, lease time.Duration) Job {
	if j.Owner != "" && !now.Before(j.Until) {
		j.Failures++
	}
	j.Owner, j.Until, j.Pace, j.Touched = owner, now.Add(lease), Pace{}, now
	return j
}

// Scan records how many rows the file has; from now on rows are written.
func (j Job) Scan(rows int, now time.Time, lease time.Duration) Job {
	j.Rows, j.Pace = rows, Pace{Since: now, From: j.Done}
	j.Until, j.Touched = now.Add(lease), now
	return j
}

// Advance counts the next rows.
func (j Job) Advance(r Report, kept int, now time.Time, lease time.Duration) Job {
	j.Counts = j.Counts.Plus(r)
	j.Done = j.Counts.Rows()
	j.Kept += kept
	j.Failures = 0
	j.Until, j.Touched = now.Add(lease), now
	return j
}

// Finish records that every row is done.
func (j Job) Finish(now time.Time) Job {
	j = j.Release(now)
	if j.State == Checking {
		j.State, j.Checked = Checked, j.Counts
		return j
	}
	if j.State == Undoing {
		j.State = Undone
		return j
	}
	j.State, j.Ended = Done, now
	return j
}

// Release gives the job back unchanged.
func (j Job) Release(now time.Time) Job {
	j.Owner, j.Until, j.Touched = "", time.Time{}, now
	return j
}

// Postpone gives the job back after a failure that is not its own, to be retried after a pause;
// after too many failures it has failed.
func (j Job) Postpone(now time.Time, pause time.Duration) Job {
	j = j.Release(now)
	if j.Failures++; j.Failures >= MaxFailures {
		return j.Fail("the service could not continue it; see its log", now)
	}
	j.Until = now.Add(pause)
	return j
}

// Expire ends the job because it was never started.
func (j Job) Expire(now time.Time) Job {
	j.State, j.Reason, j.Ended, j.Touched = Cancelled, "nobody started it", now, now
	return j
}

// Fail ends the job because of its file or its organization.
func (j Job) Fail(reason string, now time.Time) Job {
	j = j.Release(now)
	if j.State == Undoing {
		return j.stopUndo(reason)
	}
	j.State, j.Reason, j.Ended = Failed, reason, now
	return j
}

// Start begins the import that the dry run has checked; ErrNotChecked.
func (j Job) Start(by audit.Actor, now time.Time) (Job, error) {
	if j.State != Checked {
		return j, ErrNotChecked
	}
	j.State, j.By, j.Started, j.Touched = Running, by, now, now
	j.Done, j.Counts, j.Kept, j.Pace = 0, Report{}, 0, Pace{}
	return j, nil
}

// Cancel ends the job; written rows stay. ErrOver.
func (j Job) Cancel(now time.Time) (Job, error) {
	if j.State.Over() {
		return j, ErrOver
	}
	j = j.Release(now)
	if j.State == Undoing {
		return j.stopUndo("somebody cancelled that"), nil
	}
	j.State, j.Ended = Cancelled, now
	return j, nil
}

// Room returns how many more rejected rows may be stored.
func (j Job) Room() int { return max(0, MaxKept-j.Kept) }

// Rate returns how many rows a second were done since the job was last claimed; 0: unknown.
func (j Job) Rate() float64 {
	took := j.Touched.Sub(j.Pace.Since).Seconds()
	if !j.State.Working() || j.Pace.Since.IsZero() || took <= 0 {
		return 0
	}
	return float64(j.Done-j.Pace.From) / took
}

// Remaining returns how long the rest will take at this rate; 0: unknown.
func (j Job) Remaining() time.Duration {
	rate := j.Rate()
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(j.Rows-j.Done) / rate * float64(time.Second))
}
