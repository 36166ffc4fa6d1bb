package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/mocks"
)

var (
	keyA = [seal.KeySize]byte{1}
	keyB = [seal.KeySize]byte{2}
)

// visibleSettings returns a store on a database under these keys.
func visibleSettings(t *testing.T, url string, keys seal.Ring) ports.Store {
	t.Helper()
	store, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, Clock: frozen{}, Keys: keys})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

// manyChannels returns a blueprint of two organizations with n channels each.
func manyChannels(n int) app.Blueprint {
	var b app.Blueprint
	for _, slug := range []string{"acme", "zeta"} {
		org := app.BlueprintOrganization{Slug: slug, Name: slug, Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop"}}}
		for i := range n {
			org.Projects[0].Channels = append(org.Projects[0].Channels, smtpChannel(fmt.Sprint("mail ", i)))
		}
		b.Organizations = append(b.Organizations, org)
	}
	return b
}

func reencrypt(t *testing.T, store ports.Store, discard bool) app.ReencryptionResult {
	t.Helper()
	done, err := app.NewReencryption(store).Reencrypt(t.Context(), audit.Actor{}, discard)
	require.NoError(t, err)
	return done
}

func TestReencrypt(t *testing.T) {
	t.Parallel()
	before, both, after := seal.NewRing(keyA), seal.NewRing(keyB, keyA), seal.NewRing(keyB)

	t.Run("ChangesTheKeyOfEverythingOnce", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		blueprint := manyChannels(130) // more than a page, in each
		apply(t, visibleSettings(t, url, before), blueprint)
		rotating := visibleSettings(t, url, both)
		assert.Equal(t, app.ReencryptionResult{Encrypted: 260}, reencrypt(t, rotating, false))
		assert.Equal(t, app.ReencryptionResult{}, reencrypt(t, rotating, false))
		assert.Empty(t, changed(apply(t, visibleSettings(t, url, after), blueprint)), "nothing needs the old key any more, and nothing has changed")
	})
	t.Run("ApplyingTheSameAgainEncryptsNothing", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		apply(t, visibleSettings(t, url, before), manyChannels(1))
		rotating := visibleSettings(t, url, both)
		assert.Empty(t, changed(apply(t, rotating, manyChannels(1))))
		assert.Equal(t, app.ReencryptionResult{Encrypted: 2}, reencrypt(t, rotating, false), "that is for re-encrypt to do")
	})
	t.Run("ContinuesAfterAnUndecryptableValue", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		apply(t, visibleSettings(t, url, before), manyChannels(2))
		other := manyChannels(3)
		other.Organizations[0].Slug, other.Organizations[1].Slug = "beta", "gamma"
		apply(t, visibleSettings(t, url, seal.NewRing([seal.KeySize]byte{3})), other)
		late := manyChannels(1)
		late.Organizations[0].Slug, late.Organizations[1].Slug = "late", "later"
		apply(t, visibleSettings(t, url, before), late)

		rotating := visibleSettings(t, url, both)
		for range 2 {
			done := reencrypt(t, rotating, false)
			require.Len(t, done.Unreadable, 6)
			assert.Empty(t, done.Discarded)
			assert.Equal(t, "beta/shop/mail 0", done.Unreadable[0].Path)
			require.ErrorIs(t, done.Unreadable[0].Err, channels.ErrSealed)
			assert.ErrorContains(t, done.Unreadable[0].Err, done.Unreadable[0].Key)
		}
		assert.Empty(t, changed(apply(t, visibleSettings(t, url, after), late)))

		done := reencrypt(t, rotating, true)
		assert.Len(t, done.Discarded, 6)
		assert.Zero(t, done.Encrypted)
		assert.Equal(t, app.ReencryptionResult{}, reencrypt(t, rotating, true))
		assert.Len(t, changed(apply(t, rotating, other)), 6, "apply gives them new settings")
		assert.Empty(t, changed(apply(t, rotating, manyChannels(2))), "what can be opened was not discarded")
	})
	t.Run("WithoutAKeyNothingIsDone", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		apply(t, visibleSettings(t, url, before), manyChannels(1))
		for _, discard := range []bool{false, true} {
			_, err := app.NewReencryption(visibleSettings(t, url, seal.Ring{})).Reencrypt(t.Context(), audit.Actor{}, discard)
			require.ErrorIs(t, err, channels.ErrSealed)
		}
		assert.Empty(t, changed(apply(t, visibleSettings(t, url, before), manyChannels(1))))
	})
	t.Run("ReportsProgressBeforeTheFailure", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		apply(t, visibleSettings(t, url, before), manyChannels(2))
		store, full := visibleSettings(t, url, both), errors.New("the disk is full")
		fails := mocks.NewStore(gomock.NewController(t))
		fails.EXPECT().View(gomock.Any(), gomock.Any()).DoAndReturn(store.View).AnyTimes()
		gomock.InOrder(
			fails.EXPECT().Update(gomock.Any(), gomock.Any()).DoAndReturn(store.Update).Times(3),
			fails.EXPECT().Update(gomock.Any(), gomock.Any()).Return(full),
		)
		done, err := app.NewReencryption(fails).Reencrypt(t.Context(), audit.Actor{}, false)
		require.ErrorIs(t, err, full)
		assert.Equal(t, app.ReencryptionResult{Encrypted: 3}, done)
		assert.Equal(t, app.ReencryptionResult{Encrypted: 1}, reencrypt(t, store, false), "the rest is done when it is repeated")
	})
	t.Run("SkipsConcurrentlyDeletedRows", func(t *testing.T) {
		t.Parallel()
		url := databases.SQLite(t)
		apply(t, visibleSettings(t, url, before), manyChannels(2))
		store := visibleSettings(t, url, both)
		meddled := mocks.NewStore(gomock.NewController(t))
		meddled.EXPECT().View(gomock.Any(), gomock.Any()).DoAndReturn(store.View).AnyTimes()
		meddled.EXPECT().Update(gomock.Any(), gomock.Any()).DoAndReturn(store.Update)
		meddled.EXPECT().Update(gomock.Any(), gomock.Any()).DoAndReturn(func(ctx context.Context, fn func(ports.Tx) error) error {
			require.NoError(t, app.NewDeletions(store).Delete(ctx, audit.Actor{}, app.DeletableChannel, "acme/shop/mail 1"))
			return store.Update(ctx, fn)
		})
		meddled.EXPECT().Update(gomock.Any(), gomock.Any()).DoAndReturn(store.Update).AnyTimes()
		done, err := app.NewReencryption(meddled).Reencrypt(t.Context(), audit.Actor{}, true)
		require.NoError(t, err)
		assert.Equal(t, app.ReencryptionResult{Encrypted: 3}, done)
	})
}
