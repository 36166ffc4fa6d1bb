package gormstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// noSettings is the stored text of empty settings.
const noSettings = "{}"

// sealContext returns what the encrypted settings are bound to. Settings that are copied to another
// row, or with their row to another organization, cannot be decrypted.
func (r channelRow) sealContext() string {
	return fmt.Sprintf("settings of channel %d of organization %d, project %d", r.ID, r.OrganizationID, orZero(r.ProjectID))
}

// seal encrypts a text into the settings of a row.
func (t tx) seal(r *channelRow, text []byte) (err error) {
	if r.Settings, err = t.keys.Seal(text, r.sealContext()); err != nil {
		return channels.ErrSealed.With("the settings of the channel %q cannot be stored: they are stored encrypted only, and secret_key is not configured", r.Name)
	}
	return nil
}

// unsealed returns the decrypted settings of a row. Earlier versions of the program stored them
// unencrypted.
func (t tx) unsealed(r channelRow) ([]byte, error) {
	if strings.HasPrefix(r.Settings, "{") {
		return []byte(r.Settings), nil
	}
	text, err := t.keys.Open(r.Settings, r.sealContext())
	if err == nil {
		return text, nil
	}
	why := "they were changed since they were encrypted, or moved there from another channel"
	switch {
	case errors.Is(err, seal.ErrNoKey):
		why = "secret_key is not configured"
	case errors.Is(err, seal.ErrUnknownKey):
		why = fmt.Sprintf("they are encrypted under the key %q, which is neither secret_key nor in secret_key_previous", seal.KeyID(r.Settings))
	}
	return nil, channels.ErrSealed.With("the settings of the channel %q (id %d) cannot be opened: %s", r.Name, r.ID, why)
}

// open returns the channel with its settings.
func (t tx) open(r channelRow) (channels.Channel, error) {
	text, err := t.unsealed(r)
	if err != nil {
		return channels.Channel{}, err
	}
	c := r.channel()
	if c.Settings, err = decodeSettings(text); err != nil {
		return channels.Channel{}, unreadable(err, "settings of channel %d", r.ID)
	}
	return c, nil
}

func encodeSettings(s channels.Settings) ([]byte, error) {
	if s == nil {
		return []byte(noSettings), nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("settings of a channel: %w", err)
	}
	return text, nil
}

// decodeSettings keeps numbers as they were written.
func decodeSettings(text []byte) (s channels.Settings, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&s)
	return s, err
}

type staleRow struct {
	ID             channels.ID
	OrganizationID orgs.ID
	Path           string
	Settings       string // the beginning
}

func (r staleRow) stale() channels.Stale {
	return channels.Stale{ID: r.ID, Organization: r.OrganizationID, Path: r.Path, Key: seal.KeyID(r.Settings)}
}

func (r channelRepo) Stale(ctx context.Context, after channels.ID, limit int) ([]channels.Stale, error) {
	current, err := r.keys.Prefix()
	if err != nil {
		return nil, errNoKey
	}
	return all(r.db(ctx).Raw(`
		SELECT c.id, c.organization_id, o.slug || COALESCE('/' || p.slug, '') || '/' || c.name AS path, substr(c.settings, 1, 64) AS settings
		FROM channels c JOIN organizations o ON o.id = c.organization_id LEFT JOIN projects p ON p.id = c.project_id
		WHERE c.id > ? AND substr(c.settings, 1, ?) <> ? ORDER BY c.id LIMIT ?`,
		after, len(current), current, limit), staleRow.stale)
}

// errNoKey is the error of operations that need the current key, for all channels.
var errNoKey = channels.ErrSealed.With("secret_key is not configured")

func (r channelRepo) Reencrypt(ctx context.Context, org orgs.ID, id channels.ID) (bool, error) {
	current, err := r.keys.Prefix()
	if err != nil {
		return false, errNoKey
	}
	row, err := r.byID(ctx, org, id)
	if err != nil || strings.HasPrefix(row.Settings, current) {
		return false, err
	}
	text, err := r.unsealed(row)
	if err != nil {
		return false, err
	}
	return true, r.saveSettings(ctx, &row, text)
}

func (r channelRepo) Discard(ctx context.Context, org orgs.ID, id channels.ID) (bool, error) {
	if _, err := r.keys.Prefix(); err != nil {
		return false, errNoKey // Without a key nothing can be decrypted now, but perhaps later.
	}
	row, err := r.byID(ctx, org, id)
	if err != nil {
		return false, err
	}
	if _, err := r.unsealed(row); err == nil {
		return false, nil
	}
	return true, r.saveSettings(ctx, &row, []byte(noSettings))
}

func (r channelRepo) byID(ctx context.Context, org orgs.ID, id channels.ID) (channelRow, error) {
	return one[channelRow](r.db(ctx).Where("id = ? AND organization_id = ?", id, org), channels.ErrNotFound)
}

// saveSettings updates only the encrypted settings of a row.
func (r channelRepo) saveSettings(ctx context.Context, row *channelRow, text []byte) error {
	if err := r.seal(row, text); err != nil {
		return err
	}
	return changed(r.db(ctx).Model(&channelRow{}).Where("id = ? AND organization_id = ?", row.ID, row.OrganizationID).Update("settings", row.Settings), channels.ErrNotFound)
}
