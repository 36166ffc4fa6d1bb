package gormstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
)

// mappingRow is the last mapping of an organization's files with the same columns.
type mappingRow struct {
	OrganizationID orgs.ID `gorm:"primaryKey;autoIncrement:false"`
	HeaderDigest   string  `gorm:"primaryKey"`
	Mapping        string
	UsedAt         time.Time
}

func (mappingRow) TableName() string { return "import_mappings" }

func encodeMapping(m imports.Mapping) (string, error) {
	if m == nil {
		return "", nil
	}
	text, err := json.Marshal(m)
	return string(text), err
}

func decodeMapping[T any](text string, of T) (m imports.Mapping, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, unreadable(err, "mapping of import %v", of)
	}
	return m, nil
}

func (r importRepo) SaveMapping(ctx context.Context, org orgs.ID, m imports.Mapping, now time.Time) error {
	text, err := encodeMapping(m)
	if err != nil {
		return err
	}
	row := mappingRow{OrganizationID: org, HeaderDigest: m.Digest(), Mapping: text, UsedAt: stamp(now)}
	if err := upsert(r.db(ctx), &row); err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM import_mappings WHERE organization_id = @org AND header_digest IN (
		SELECT header_digest FROM import_mappings WHERE organization_id = @org ORDER BY used_at DESC, header_digest LIMIT 10 OFFSET @most)`,
		map[string]any{"org": org, "most": imports.MaxRemembered}).Error
}

func (r importRepo) Mapping(ctx context.Context, org orgs.ID, digest string) (imports.Mapping, error) {
	return decodeOne(r.db(ctx).Where("organization_id = ? AND header_digest = ?", org, digest), imports.ErrNotFound, func(row mappingRow) (imports.Mapping, error) {
		return decodeMapping(row.Mapping, row.HeaderDigest)
	})
}
