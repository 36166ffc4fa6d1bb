package gormstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// keyRow is a stored key. It has the ids of its scope.
type keyRow struct {
	ID             access.ID
	Name           string
	NameFold       string
	Digest         []byte
	OrganizationID *orgs.ID
	ProjectID      *orgs.ProjectID
	ApplicationID  *applications.ID
	Grants         string // separated by spaces
	CreatedAt      time.Time
	ExpiresAt      *time.Time
	RevokedAt      *time.Time
	ReplacedAt     *time.Time
	LastUsedAt     *time.Time
	AtMostNormal   bool
}

func (keyRow) TableName() string { return "api_keys" }

// newKeyRow returns the row without its id and its scope.
func newKeyRow(k access.Key) keyRow {
	return keyRow{Name: k.Name, NameFold: names.Fold(k.Name), Digest: k.Digest[:], Grants: joinGrants(k.Grants),
		CreatedAt: stamp(k.Created), ExpiresAt: nullTime(k.Expires), RevokedAt: nullTime(k.Revoked), ReplacedAt: nullTime(k.Replaced),
		LastUsedAt: nullTime(k.LastUsed), AtMostNormal: k.AtMostNormal}
}

// scopedKeyRow is a key with the slugs of its scope.
type scopedKeyRow struct {
	Key          keyRow `gorm:"embedded"`
	Organization string
	Project      string
	Application  string
	Quotas       string // of the organization
}

func (r scopedKeyRow) key() access.Key {
	k := access.Key{ID: r.Key.ID, Name: r.Key.Name,
		Scope:   access.Scope{Organization: r.Organization, Project: r.Project, Application: r.Application},
		Created: r.Key.CreatedAt.UTC(), Expires: timeOf(r.Key.ExpiresAt), Revoked: timeOf(r.Key.RevokedAt), Replaced: timeOf(r.Key.ReplacedAt),
		LastUsed: timeOf(r.Key.LastUsedAt), AtMostNormal: r.Key.AtMostNormal}
	copy(k.Digest[:], r.Key.Digest)
	for g := range strings.FieldsSeq(r.Key.Grants) {
		k.Grants = append(k.Grants, access.Grant(g))
	}
	return k
}

type keyRepo struct{ tx }

func (r keyRepo) ByDigest(ctx context.Context, d access.Digest) (access.Key, error) {
	return decodeOne(r.keys(ctx, "k.digest = ?", d[:]), access.ErrKeyNotFound, func(row scopedKeyRow) (k access.Key, err error) {
		k = row.key()
		k.Quotas, err = decodeQuotas(row.Quotas)
		return k, err
	})
}

// inKeyScope selects the keys k with a name and a scope, given by three ids that are 0 for missing
// levels.
const inKeyScope = `k.name_fold = ? AND COALESCE(k.organization_id, 0) = ? AND COALESCE(k.project_id, 0) = ?
	AND COALESCE(k.application_id, 0) = ?`

// nameInUse selects the key that uses its name within its scope.
const nameInUse = inKeyScope + " AND k.revoked_at IS NULL AND k.replaced_at IS NULL"

func (r keyRepo) ByName(ctx context.Context, scope access.Scope, name string) (access.Key, error) {
	in, err := r.scope(ctx, scope)
	if err != nil {
		return access.Key{}, err
	}
	return r.one(ctx, inKeyScope+" AND k.revoked_at IS NULL ORDER BY k.id DESC LIMIT 1",
		names.Fold(name), in.OrganizationID, in.ProjectID, in.ApplicationID)
}

func (r keyRepo) Named(ctx context.Context, name string, limit int) ([]access.Key, error) {
	return all(r.keys(ctx, `k.id IN (SELECT MAX(id) FROM api_keys WHERE name_fold = ? AND revoked_at IS NULL
		GROUP BY organization_id, project_id, application_id) ORDER BY k.id DESC LIMIT ?`, names.Fold(name), limit), scopedKeyRow.key)
}

func (r keyRepo) ByID(ctx context.Context, org orgs.ID, id access.ID) (access.Key, error) {
	if org == 0 {
		return r.one(ctx, "k.id = ?", id)
	}
	return r.one(ctx, "k.id = ? AND k.organization_id = ?", id, org)
}

func (r keyRepo) Latest(ctx context.Context, org orgs.ID, before access.ID, limit int) ([]access.Key, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	if org == 0 {
		return all(r.keys(ctx, "k.id < ? ORDER BY k.id DESC LIMIT ?", before, limit), scopedKeyRow.key)
	}
	return all(r.keys(ctx, "k.organization_id = ? AND k.id < ? ORDER BY k.id DESC LIMIT ?", org, before, limit), scopedKeyRow.key)
}

func (r keyRepo) Ending(ctx context.Context, org orgs.ID, from, until time.Time, limit int) ([]access.Key, error) {
	return all(r.keys(ctx, `k.organization_id = ? AND k.revoked_at IS NULL AND k.replaced_at IS NULL
		AND k.expires_at > ? AND k.expires_at <= ? ORDER BY k.expires_at, k.id LIMIT ?`, org, stamp(from), stamp(until), limit), scopedKeyRow.key)
}

func (r keyRepo) List(ctx context.Context, org orgs.ID, after access.ID, limit int) ([]access.Key, error) {
	if org == 0 {
		return all(r.keys(ctx, "k.id > ? ORDER BY k.id LIMIT ?", after, limit), scopedKeyRow.key)
	}
	return all(r.keys(ctx, "k.organization_id = ? AND k.id > ? ORDER BY k.id LIMIT ?", org, after, limit), scopedKeyRow.key)
}

func (r keyRepo) Create(ctx context.Context, k access.Key) (access.Key, error) {
	scope, err := r.scope(ctx, k.Scope)
	if err != nil {
		return access.Key{}, err
	}
	row := newKeyRow(k)
	row.OrganizationID, row.ProjectID, row.ApplicationID = orNull(scope.OrganizationID), orNull(scope.ProjectID), orNull(scope.ApplicationID)
	switch created, err := insert(r.db(ctx), &row); {
	case err != nil:
		return access.Key{}, err
	case !created:
		return access.Key{}, r.conflictError(ctx, row)
	}
	return r.one(ctx, "k.id = ?", row.ID)
}

func (r keyRepo) Save(ctx context.Context, k access.Key) error {
	if k.Revoked.IsZero() && k.Replaced.IsZero() {
		in, err := r.scope(ctx, k.Scope)
		if err != nil {
			return err
		}
		switch other, err := r.one(ctx, nameInUse, names.Fold(k.Name), in.OrganizationID, in.ProjectID, in.ApplicationID); {
		case err == nil && other.ID != k.ID:
			return access.ErrNameTaken
		case err != nil && !errors.Is(err, access.ErrKeyNotFound):
			return err
		}
	}
	row := newKeyRow(k)
	return changed(r.db(ctx).Where("id = ?", k.ID).Select("Name", "NameFold", "Grants", "AtMostNormal", "ExpiresAt", "ReplacedAt", "RevokedAt").Updates(&row), access.ErrKeyNotFound)
}

func (r keyRepo) RenameReplaced(ctx context.Context, k access.Key, name string) error {
	namesakes, err := r.namesakes(ctx, k)
	if err != nil {
		return err
	}
	return namesakes.Where("k.replaced_at IS NOT NULL").Updates(map[string]any{"name": name, "name_fold": names.Fold(name)}).Error
}

func (r keyRepo) Revoke(ctx context.Context, k access.Key, now time.Time) error {
	namesakes, err := r.namesakes(ctx, k)
	if err != nil {
		return err
	}
	return changed(namesakes.Update("revoked_at", stamp(now)), access.ErrKeyNotFound)
}

// namesakes selects the keys with the name and the scope of k that are not revoked.
func (r keyRepo) namesakes(ctx context.Context, k access.Key) (*gorm.DB, error) {
	in, err := r.scope(ctx, k.Scope)
	return r.db(ctx).Table("api_keys AS k").Where(inKeyScope+" AND k.revoked_at IS NULL", names.Fold(k.Name), in.OrganizationID, in.ProjectID, in.ApplicationID), err
}

func (r keyRepo) RecordUse(ctx context.Context, moments map[access.ID]time.Time) error {
	uses := make([]keyUse, 0, len(moments))
	for id, at := range moments {
		uses = append(uses, keyUse{ID: id, UsedAt: timeText(at)})
	}
	slices.SortFunc(uses, func(a, b keyUse) int { return cmp.Compare(a.ID, b.ID) })
	return r.db(ctx).Exec(`UPDATE api_keys SET last_used_at = used.used_at FROM (?) AS used
		WHERE api_keys.id = used.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.used_at)`,
		rowSet(r.dialect, uses, "id bigint", "used_at timestamptz")).Error
}

// keyUse is one row of a rowSet.
type keyUse struct {
	ID     access.ID `json:"id"`
	UsedAt string    `json:"used_at"`
}

// keys queries keys with the slugs of their scopes; condition may add an order and a limit.
func (r keyRepo) keys(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw(`SELECT k.*, o.slug AS organization, p.slug AS project, a.slug AS application, COALESCE(o.quotas, '{}') AS quotas
		FROM api_keys k
		LEFT JOIN organizations o ON o.id = k.organization_id
		LEFT JOIN projects p ON p.id = k.project_id
		LEFT JOIN applications a ON a.id = k.application_id
		WHERE `+condition, args...)
}

func (r keyRepo) one(ctx context.Context, condition string, args ...any) (access.Key, error) {
	row, err := one[scopedKeyRow](r.keys(ctx, condition, args...), access.ErrKeyNotFound)
	return row.key(), err
}

// conflictError returns the error for the unique index that row violated. A caller cannot correct a
// digest that two keys share.
func (r keyRepo) conflictError(ctx context.Context, row keyRow) error {
	_, err := r.one(ctx, nameInUse, row.NameFold,
		orZero(row.OrganizationID), orZero(row.ProjectID), orZero(row.ApplicationID))
	switch {
	case err == nil:
		return access.ErrNameTaken
	case errors.Is(err, access.ErrKeyNotFound):
		return fmt.Errorf("the digest of key %q is that of another key", row.Name)
	}
	return err
}

// scope returns the ids of a scope; 0 for missing levels.
func (r keyRepo) scope(ctx context.Context, s access.Scope) (place, error) {
	if s == (access.Scope{}) {
		return place{}, nil
	}
	return r.locate(ctx, s)
}

func joinGrants(gs []access.Grant) string {
	return strings.Join(mapped(gs, func(g access.Grant) string { return string(g) }), " ")
}
