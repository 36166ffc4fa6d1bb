package applications_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
)

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("ANewApplicationIsActive", func(t *testing.T) {
		t.Parallel()
		a, err := applications.New("web", " Web shop ")
		require.NoError(t, err)
		assert.Equal(t, applications.Application{Slug: "web", Name: "Web shop", Active: true}, a)
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := applications.New("Web", " ")
		require.EqualError(t, err, "slug: must consist of lower-case letters, digits, - and _; name: is required")
	})
}

func TestNewMembership(t *testing.T) {
	t.Parallel()
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprintf("ALeftLockStillHolds/%t", locked), func(t *testing.T) {
			t.Parallel()
			m := applications.NewMembership(3, 4, locked)
			assert.Equal(t, applications.Membership{Application: 3, Member: 4, CustomFields: metadata.Map{}, Active: true, Locked: locked,
				EnableNotifications: true}, m)
		})
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	t.Run("MergesFieldsAndSetsActiveEachTime", func(t *testing.T) {
		t.Parallel()
		m := applications.NewMembership(3, 4, false)
		for _, step := range []struct {
			fields metadata.Map
			active bool
			want   metadata.Map
		}{
			{metadata.Map{"plan": map[string]any{"name": "free", "seats": "1"}}, false, metadata.Map{"plan": map[string]any{"name": "free", "seats": "1"}}},
			{metadata.Map{"plan": map[string]any{"name": "pro"}}, true, metadata.Map{"plan": map[string]any{"name": "pro", "seats": "1"}}},
			{nil, true, metadata.Map{"plan": map[string]any{"name": "pro", "seats": "1"}}},
			{metadata.Map{"since": nil}, false, metadata.Map{"plan": map[string]any{"name": "pro", "seats": "1"}, "since": nil}},
		} {
			registered, err := m.Register(step.fields, step.active)
			require.NoError(t, err)
			assert.Equal(t, step.want, registered.CustomFields)
			assert.Equal(t, step.active, registered.Active)
			m = registered
		}
	})
	t.Run("TheSamePayloadTwiceChangesNothing", func(t *testing.T) {
		t.Parallel()
		fields := metadata.Map{"a": map[string]any{"b": []any{"c"}}}
		once, err := applications.NewMembership(3, 4, false).Register(fields, true)
		require.NoError(t, err)
		twice, err := once.Register(fields, true)
		require.NoError(t, err)
		assert.Equal(t, once, twice)
	})
	t.Run("NeverTouchesLockedAndEnableNotifications", func(t *testing.T) {
		t.Parallel()
		for _, locked := range []bool{false, true} {
			for _, enabled := range []bool{false, true} {
				for _, active := range []bool{false, true} {
					m := applications.Membership{Application: 3, Member: 4, Active: !active, Locked: locked, EnableNotifications: enabled}
					got, err := m.Register(nil, active)
					require.NoError(t, err)
					assert.Equal(t, applications.Membership{Application: 3, Member: 4, CustomFields: metadata.Map{}, Active: active, Locked: locked,
						EnableNotifications: enabled}, got)
				}
			}
		}
	})
	t.Run("TheReceiverAndThePayloadStayAsTheyWere", func(t *testing.T) {
		t.Parallel()
		m := applications.Membership{CustomFields: metadata.Map{"a": map[string]any{"b": "1"}}, Active: true}
		fields := metadata.Map{"a": map[string]any{"c": "2"}}
		got, err := m.Register(fields, false)
		require.NoError(t, err)
		got.CustomFields["a"].(map[string]any)["b"] = "scribbled"
		assert.Equal(t, applications.Membership{CustomFields: metadata.Map{"a": map[string]any{"b": "1"}}, Active: true}, m)
		assert.Equal(t, metadata.Map{"a": map[string]any{"c": "2"}}, fields)
	})
	t.Run("FieldsThatGrowTooLargeAreTheCallersMistake", func(t *testing.T) {
		t.Parallel()
		half := strings.Repeat("x", metadata.MaxBytes/2)
		m := applications.Membership{CustomFields: metadata.Map{"a": half}}
		_, err := m.Register(metadata.Map{"b": half}, true)
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Invalid, e.Kind())
		require.Len(t, e.Fields(), 1)
		assert.Equal(t, "custom_fields", e.Fields()[0].Name)
	})
}
