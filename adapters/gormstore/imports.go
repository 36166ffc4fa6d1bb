package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
)

type importRow struct {
	ID             imports.ID
	OrganizationID orgs.ID
	FileName       string
	Size           int64
	Header         string
	Source         string
	Mapping        string // JSON; empty: unknown
	GroupID        *orgs.GroupID
	GroupName      string
	Actor          string
	RemoteAddress  string
	State          imports.State
	Reason         string
	RowCount       int
	DoneCount      int
	KeptCount      int
	Counts         string
	Checked        string
	Undo           string // JSON; empty: nothing was undone
	UploadedAt     time.Time
	StartedAt      *time.Time
	EndedAt        *time.Time
	TouchedAt      time.Time
	PaceSince      *time.Time
	PaceFrom       int
	Owner          string
	LeaseUntil     *time.Time
	Failures       int
	Version        int64
	Stored         bool // whether pieces of the file may be stored
}

func (importRow) TableName() string { return "imports" }

// savedImportColumns are the columns that change during a job, except stored.
var savedImportColumns = []string{"size", "header", "mapping", "actor", "remote_address", "state", "reason", "row_count", "done_count", "kept_count", "counts", "checked", "undo",
	"uploaded_at", "started_at", "ended_at", "touched_at", "pace_since", "pace_from", "owner", "lease_until", "failures", "version"}

func newImportRow(j imports.Job) (importRow, error) {
	counts, errCounts := json.Marshal(j.Counts)
	checked, errChecked := json.Marshal(j.Checked)
	mapping, errMapping := encodeMapping(j.Columns)
	undo, errUndo := encodeUndo(j.Undo)
	return importRow{ID: j.ID, OrganizationID: j.Organization, FileName: j.File, Size: j.Size, Header: j.Header, Source: j.Source, Mapping: mapping, GroupID: orNull(j.Group.ID), GroupName: j.Group.Name,
		Actor: j.By.Name, RemoteAddress: j.By.Address, State: j.State, Reason: storable(j.Reason), RowCount: j.Rows, DoneCount: j.Done, KeptCount: j.Kept,
		Counts: string(counts), Checked: string(checked), Undo: undo, UploadedAt: stamp(j.Uploaded), StartedAt: nullTime(j.Started), EndedAt: nullTime(j.Ended),
		TouchedAt: stamp(j.Touched), PaceSince: nullTime(j.Pace.Since), PaceFrom: j.Pace.From, Owner: j.Owner, LeaseUntil: nullTime(j.Until),
		Failures: j.Failures, Version: j.Version}, errors.Join(errCounts, errChecked, errMapping, errUndo)
}

func (r importRow) job() (imports.Job, error) {
	j := imports.Job{ID: r.ID, Organization: r.OrganizationID, File: r.FileName, Size: r.Size, Header: r.Header, Source: r.Source,
		By: audit.Actor{Name: r.Actor, Address: r.RemoteAddress, Via: audit.Console}, State: r.State, Reason: r.Reason, Rows: r.RowCount, Done: r.DoneCount, Kept: r.KeptCount,
		Uploaded: r.UploadedAt.UTC(), Started: timeOf(r.StartedAt), Ended: timeOf(r.EndedAt), Touched: r.TouchedAt.UTC(),
		Pace: imports.Pace{Since: timeOf(r.PaceSince), From: r.PaceFrom}, Owner: r.Owner, Until: timeOf(r.LeaseUntil), Failures: r.Failures, Version: r.Version}
	if r.GroupID != nil {
		j.Group = orgs.Group{ID: *r.GroupID, Organization: r.OrganizationID, Name: r.GroupName}
	}
	if err := errors.Join(json.Unmarshal([]byte(r.Counts), &j.Counts), json.Unmarshal([]byte(r.Checked), &j.Checked)); err != nil {
		return imports.Job{}, unreadable(err, "counts of import %d", r.ID)
	}
	var errMapping, errUndo error
	j.Columns, errMapping = decodeMapping(r.Mapping, r.ID)
	j.Undo, errUndo = decodeUndo(r.Undo, r.ID)
	return j, errors.Join(errMapping, errUndo)
}

type rejectRow struct {
	ImportID imports.ID
	Line     int
	Reason   string
	Cells    string

	CorrectedBy *imports.ID
}

func (rejectRow) TableName() string { return "import_rejects" }

type importRepo struct{ tx }

func (r importRepo) Create(ctx context.Context, j imports.Job) (imports.Job, error) {
	row, err := newImportRow(j)
	if err != nil {
		return imports.Job{}, err
	}
	row.Version, row.Stored = 1, true
	if err := r.db(ctx).Create(&row).Error; err != nil {
		return imports.Job{}, err
	}
	return row.job()
}

// uploaded queries the organization's jobs whose file was uploaded.
func (r importRepo) uploaded(ctx context.Context, org orgs.ID) *gorm.DB {
	return r.db(ctx).Where("organization_id = ? AND state <> ?", org, imports.Uploading)
}

func (r importRepo) ByID(ctx context.Context, org orgs.ID, id imports.ID) (imports.Job, error) {
	job, err := decodeOne(r.uploaded(ctx, org).Where("id = ?", id), imports.ErrNotFound, importRow.job)
	if err != nil || job.Until.IsZero() {
		return job, err
	}
	ahead, err := r.skewSeconds(ctx)
	job.Until = job.Until.Add(ahead)
	return job, err
}

// leaseUntil returns the end of a lease by the server's clock, which decides when it has ended;
// nil: there is none.
func (r importRepo) leaseUntil(ctx context.Context, until time.Time) (*time.Time, error) {
	if until.IsZero() {
		return nil, nil //nolint:nilnil // There may be no lease.
	}
	ahead, err := r.skewSeconds(ctx)
	return nullTime(until.Add(-ahead)), err
}

func (r importRepo) List(ctx context.Context, org orgs.ID, before imports.ID, limit int) ([]imports.Job, error) {
	q := r.uploaded(ctx, org)
	if before != 0 {
		q = q.Where("id < ?", before)
	}
	return decodeAll(q.Order("id DESC").Limit(limit), importRow.job)
}

// Rejecting finds imports that rejected rows by their count of stored rows. Its condition is that
// of the partial index; with an OR, SQLite would scan the imports of all organizations by state.
func (r importRepo) Rejecting(ctx context.Context, in []orgs.ID, since time.Time, limit int) ([]imports.Job, error) {
	return decodeAll(r.db(ctx).Raw(`SELECT * FROM (SELECT i.*, ROW_NUMBER() OVER (PARTITION BY organization_id ORDER BY id DESC) AS nth FROM imports i
			WHERE organization_id @in AND ended_at >= @since AND CASE state WHEN 'failed' THEN TRUE WHEN 'done' THEN kept_count > 0 ELSE FALSE END) AS ranked
		WHERE nth <= @limit ORDER BY id DESC`,
		map[string]any{"in": among(r.dialect, in), "since": stamp(since), "limit": limit}), importRow.job)
}

func (r importRepo) Save(ctx context.Context, j imports.Job) (imports.Job, error) {
	was := j.Version
	j.Version++
	row, err := newImportRow(j)
	if err != nil {
		return imports.Job{}, err
	}
	if row.LeaseUntil, err = r.leaseUntil(ctx, j.Until); err != nil {
		return imports.Job{}, err
	}
	res := r.db(ctx).Model(&importRow{}).Where("id = ? AND version = ?", j.ID, was).Select(savedImportColumns).Updates(row)
	switch {
	case res.Error != nil:
		return imports.Job{}, res.Error
	case res.RowsAffected == 0:
		return imports.Job{}, imports.ErrTaken
	}
	return j, nil
}

func (r importRepo) ExtendLease(ctx context.Context, id imports.ID, owner string, until time.Time) error {
	stored, err := r.leaseUntil(ctx, until)
	if err != nil {
		return err
	}
	return changed(r.db(ctx).Model(&importRow{}).Where("id = ? AND owner = ?", id, owner).Update("lease_until", stored), imports.ErrTaken)
}

// Next knows from its state whether a job was worked on: scanned, being checked or over.
func (r importRepo) Next(ctx context.Context, now time.Time) (imports.Job, error) {
	ahead, err := r.skewSeconds(ctx)
	if err != nil {
		return imports.Job{}, err
	}
	job, err := decodeOne(r.db(ctx).Raw(`SELECT i.* FROM imports i
		WHERE i.state IN @working AND (i.lease_until IS NULL OR i.lease_until <= @now) AND NOT EXISTS (SELECT 1 FROM imports o
			WHERE o.state IN @working AND o.organization_id = i.organization_id AND o.owner <> '' AND o.lease_until > @now)
			AND (i.state <> @running OR i.done_count > 0 OR NOT EXISTS (SELECT 1 FROM imports o
				WHERE o.state = @running AND o.organization_id = i.organization_id AND o.id <> i.id AND o.done_count > 0))
		ORDER BY (SELECT MAX(d.touched_at) FROM imports d WHERE d.organization_id = i.organization_id AND d.state <> @uploading
			AND (d.state NOT IN @working OR d.pace_since IS NOT NULL)) NULLS FIRST, i.touched_at, i.id LIMIT 1`,
		map[string]any{"uploading": imports.Uploading, "working": imports.States(imports.State.Working), "running": imports.Running, "now": stamp(now.Add(-ahead))}), imports.ErrNothingToDo, importRow.job)
	if !job.Until.IsZero() {
		job.Until = job.Until.Add(ahead)
	}
	return job, err
}

func (r importRepo) Idle(ctx context.Context, s imports.State, since time.Time, limit int) ([]imports.Job, error) {
	ahead, err := r.skewSeconds(ctx)
	if err != nil {
		return nil, err
	}
	return decodeAll(r.db(ctx).Where("state = ? AND touched_at < ?", s, stamp(since.Add(-ahead))).Order("touched_at, id").Limit(limit), importRow.job)
}

func (r importRepo) WithLeftoverFile(ctx context.Context, limit int) ([]imports.Job, error) {
	return decodeAll(r.db(ctx).Where("stored AND state IN ?", imports.States(imports.State.Over)).
		Order("id").Limit(limit), importRow.job)
}

func (r importRepo) Remove(ctx context.Context, id imports.ID) error {
	return r.db(ctx).Where("id = ?", id).Delete(&importRow{}).Error
}
