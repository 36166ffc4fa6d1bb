package subscriptions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

func TestNewNotification(t *testing.T) {
	t.Parallel()
	t.Run("ANewNotificationIsActiveAndHasNoList", func(t *testing.T) {
		t.Parallel()
		n, err := subscriptions.NewNotification(" Order shipped ")
		require.NoError(t, err)
		assert.Equal(t, subscriptions.Notification{Name: "Order shipped", Active: true}, n)
	})
	t.Run("TheNameIsALabel", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"", "\t", "a\x00b", strings.Repeat("é", 201)} {
			_, err := subscriptions.NewNotification(name)
			require.ErrorContains(t, err, "name: ")
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		}
	})
}
