package gormstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

const (
	password = "correct horse battery staple"
	plain    = `{"host": "localhost", "password": "` + password + `", "port": 12345678901234567890}`
)

// newChannels creates an organization with two channels whose settings contain the password.
func newChannels(t *testing.T, s *gormstore.Store, slug string) (mail, text channels.Channel) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: slug, Name: slug})
		if err != nil {
			return err
		}
		settings := channels.Settings{"host": "localhost", "password": password}
		if mail, err = tx.Channels().Create(t.Context(), channels.Channel{Organization: org.ID, Name: "mail", Protocol: channels.EMAIL, Driver: "smtp", Settings: settings}); err != nil {
			return err
		}
		text, err = tx.Channels().Create(t.Context(), channels.Channel{Organization: org.ID, Name: "text", Protocol: channels.SMS, Driver: "twilio", Settings: settings})
		return err
	}))
	return mail, text
}

func execute(t *testing.T, s *gormstore.Store, statement string, args ...any) {
	t.Helper()
	_, err := s.Handle().ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
}

// stored returns a channel's settings as the database stores them.
func stored(t *testing.T, s *gormstore.Store, id channels.ID) (text string) {
	t.Helper()
	require.NoError(t, s.Handle().QueryRowContext(t.Context(), "SELECT settings FROM channels WHERE id = $1", id).Scan(&text))
	return text
}

func find(t *testing.T, s *gormstore.Store, c channels.Channel) (found channels.Channel, err error) {
	t.Helper()
	err = s.View(t.Context(), func(tx ports.Tx) error {
		found, err = tx.Channels().Find(t.Context(), c.Organization, c.Project, c.Name)
		return err
	})
	return found, err
}

func reseal(t *testing.T, s *gormstore.Store, c channels.Channel) (changed bool, err error) {
	t.Helper()
	err = s.Update(t.Context(), func(tx ports.Tx) error {
		changed, err = tx.Channels().Reencrypt(t.Context(), c.Organization, c.ID)
		return err
	})
	return changed, err
}

func TestDatabaseHasNoSecrets(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		mail, text := newChannels(t, s, "acme")
		mail.Settings["password"] = password + "!"
		require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Save(t.Context(), mail) }))
		for _, c := range []channels.Channel{mail, text} {
			assert.Regexp(t, `^sealed:1:[0-9a-f]{16}:[A-Za-z0-9+/]+$`, stored(t, s, c.ID))
		}
		assert.NotEqual(t, stored(t, s, mail.ID), stored(t, s, text.ID))
	})
}

// TestFilesHaveNoSecrets also checks the log beside the database, which contains everything that
// was written only temporarily.
func TestFilesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "sqlite:"+filepath.Join(dir, "store.db"))
	newChannels(t, s, "acme")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var seen int
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		assert.NotContains(t, string(content), password, f.Name())
		seen += bytes.Count(content, []byte("sealed:1:"))
	}
	assert.NotZero(t, seen, "the settings are where they were looked for")
}

func TestUnencryptedSettings(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		mail, text := newChannels(t, s, "acme")
		execute(t, s, "UPDATE channels SET settings = $1 WHERE id = $2", plain, mail.ID)

		before, err := find(t, s, mail)
		require.NoError(t, err)
		assert.Equal(t, password, before.Settings["password"], "are read")
		known, err := s.Queue().Channel(t.Context(), mail.ID)
		require.NoError(t, err)
		assert.Equal(t, before, known)

		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
			stale, err := tx.Channels().Stale(t.Context(), 0, 10)
			assert.Equal(t, []channels.Stale{{ID: mail.ID, Organization: mail.Organization, Path: "acme/mail"}}, stale)
			return err
		}))
		other := stored(t, s, text.ID)
		changed, err := reseal(t, s, mail)
		require.NoError(t, err)
		assert.True(t, changed)
		assert.NotContains(t, stored(t, s, mail.ID), password)
		assert.Equal(t, other, stored(t, s, text.ID))
		after, err := find(t, s, mail)
		require.NoError(t, err)
		assert.Equal(t, before, after, "and say the same when they are sealed")
	})
}

// TestSettingsAreBoundToChannel plays an attacker who may write to the database and wants to
// send through another organization's provider.
func TestSettingsAreBoundToChannel(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		mail, text := newChannels(t, s, "acme")
		theirs, _ := newChannels(t, s, "evil")
		for name, c := range map[string]channels.Channel{"AnotherChannel": text, "AnotherOrganization": theirs} {
			own := stored(t, s, c.ID)
			execute(t, s, "UPDATE channels SET settings = $1 WHERE id = $2", stored(t, s, mail.ID), c.ID)
			_, err := find(t, s, c)
			require.ErrorIs(t, err, channels.ErrSealed, name)
			assert.ErrorContains(t, err, "moved there from another channel")
			_, err = reseal(t, s, c)
			require.NoError(t, err, "they look up to date")
			execute(t, s, "UPDATE channels SET settings = $1 WHERE id = $2", own, c.ID)
			_, err = find(t, s, c)
			require.NoError(t, err)
		}
		execute(t, s, "UPDATE channels SET organization_id = $1, name = 'moved', name_fold = 'moved' WHERE id = $2", theirs.Organization, mail.ID)
		mail.Organization, mail.Name = theirs.Organization, "moved"
		_, err := find(t, s, mail)
		require.ErrorIs(t, err, channels.ErrSealed, "a row that moves to another organization")
	})
}

func TestInvalidSettingsAreSealed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		mail, _ := newChannels(t, s, "acme")
		whole := stored(t, s, mail.ID)
		for _, text := range []string{"", "null", "[]", "sealed", "sealed:1:", "sealed:2:abc:def", whole[:len(whole)-1], whole[:30], whole + "A", strings.Repeat("x", 10_000)} {
			execute(t, s, "UPDATE channels SET settings = $1 WHERE id = $2", text, mail.ID)
			_, err := find(t, s, mail)
			require.ErrorIs(t, err, channels.ErrSealed, text)
			assert.Less(t, len(err.Error()), 250)
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
				changed, err := tx.Channels().Discard(t.Context(), mail.Organization, mail.ID)
				assert.True(t, changed)
				return err
			}))
			found, err := find(t, s, mail)
			require.NoError(t, err)
			assert.Empty(t, found.Settings)
		}
	})
}

// TestInvalidUnencryptedSettings is about settings that are not valid JSON. Only Tocsin writes
// them, so the fault is an internal one.
func TestInvalidUnencryptedSettings(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	mail, _ := newChannels(t, s, "acme")
	execute(t, s, "UPDATE channels SET settings = ? WHERE id = ?", `{"password": "`+password, mail.ID)
	_, err := find(t, s, mail)
	require.Error(t, err)
	assert.NotErrorIs(t, err, channels.ErrSealed)
	assert.NotContains(t, err.Error(), password)
}
