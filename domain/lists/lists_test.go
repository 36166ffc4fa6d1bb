package lists_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
)

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("ANewListIsNotPinned", func(t *testing.T) {
		t.Parallel()
		l, err := lists.New(" News ")
		require.NoError(t, err)
		assert.Equal(t, lists.List{Name: "News"}, l)
	})
	t.Run("TheNameIsALabel", func(t *testing.T) {
		t.Parallel()
		_, err := lists.New(strings.Repeat("é", 200))
		require.NoError(t, err)
		for _, name := range []string{"", " ", "a\nb", strings.Repeat("é", 201)} {
			_, err := lists.New(name)
			require.ErrorContains(t, err, "name: ")
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
		}
	})
}

func TestServes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pinned, app applications.ID
		want        bool
	}{
		"NotPinnedServesEvery":           {0, 7, true},
		"PinnedServesItsOwn":             {7, 7, true},
		"PinnedServesNoOther":            {7, 8, false},
		"PinnedDoesNotServeNoneAtAll":    {7, 0, false},
		"NotPinnedServesNoneAtAllAsWell": {0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, lists.List{Application: c.pinned}.Serves(c.app))
		})
	}
}
