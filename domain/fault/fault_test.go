package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	sentinel := fault.New(fault.NotFound, "gone")
	for name, c := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"NoFaultIsInternal":          {errors.New("disk on fire"), fault.Internal},
		"NilIsInternal":              {nil, fault.Internal},
		"Sentinel":                   {sentinel, fault.NotFound},
		"WrappedSentinel":            {fmt.Errorf("look: %w", sentinel), fault.NotFound},
		"RefinedSentinel":            {sentinel.With("the list %d is gone", 7), fault.NotFound},
		"TheOuterFaultDecides":       {fmt.Errorf("x: %w", fault.New(fault.Invalid, "y").With("z")), fault.Invalid},
		"OneOfSeveralJoined":         {errors.Join(errors.New("a"), sentinel), fault.NotFound},
		"FieldErrorsAreInvalid":      {fault.Field("name", "is required"), fault.Invalid},
		"OnKeepsTheKind":             {fault.New(fault.TooLarge, "too much").On("body"), fault.TooLarge},
		"TheZeroKindIsInternal":      {fault.New(fault.Kind(0), "?"), fault.Internal},
		"UnavailableIsNotOurMistake": {fault.New(fault.Unavailable, "away"), fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, fault.KindOf(c.err))
		})
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	t.Run("EveryKindHasAName", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for k := fault.Internal; k <= fault.Conflict; k++ {
			assert.NotContains(t, k.String(), "kind(")
			assert.False(t, seen[k.String()], "%s is used twice", k)
			seen[k.String()] = true
		}
	})
	t.Run("AnUnknownKindShowsItsNumber", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "kind(200)", fault.Kind(200).String())
	})
}

func TestRefine(t *testing.T) {
	t.Parallel()
	sentinel, other := fault.New(fault.Invalid, "this name is taken"), fault.New(fault.Invalid, "this name is taken")

	t.Run("WithSaysMoreAndStaysTheSentinel", func(t *testing.T) {
		t.Parallel()
		err := sentinel.With("the name %q is taken", "news")
		assert.ErrorIs(t, err, sentinel)
		assert.EqualError(t, err, `the name "news" is taken`)
		assert.Empty(t, err.Fields())
	})
	t.Run("OnNamesTheFieldAndStaysTheSentinel", func(t *testing.T) {
		t.Parallel()
		err := fmt.Errorf("create: %w", sentinel.On("name"))
		require.ErrorIs(t, err, sentinel)
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{{Name: "name", Messages: []string{"this name is taken"}}}, e.Fields())
	})
	t.Run("OnAfterWithStillIsTheSentinel", func(t *testing.T) {
		t.Parallel()
		err := sentinel.With("the name %q is taken", "news").On("lists[3].name")
		assert.ErrorIs(t, err, sentinel)
		assert.Equal(t, fault.Fields{{Name: "lists[3].name", Messages: []string{`the name "news" is taken`}}}, err.Fields())
	})
	t.Run("AnotherSentinelOfTheSameWordsIsAnother", func(t *testing.T) {
		t.Parallel()
		assert.NotErrorIs(t, sentinel.With("more"), other)
	})
	t.Run("TheSentinelItselfStaysAsItWas", func(t *testing.T) {
		t.Parallel()
		s := fault.New(fault.Invalid, "plain")
		_, _ = s.With("more"), s.On("name")
		assert.EqualError(t, s, "plain")
		assert.Empty(t, s.Fields())
		assert.NoError(t, s.Unwrap())
	})
}

func TestFields(t *testing.T) {
	t.Parallel()
	t.Run("NoMistakeIsNoError", func(t *testing.T) {
		t.Parallel()
		var f fault.Fields
		f.Add("name", nil)
		assert.NoError(t, f.Err())
	})
	t.Run("AllMistakesAtOnceInTheOrderFound", func(t *testing.T) {
		t.Parallel()
		var f fault.Fields
		f.Addf("b", "is required")
		f.Addf("a", "is longer than %d characters", 200)
		f.Addf("b", "is odd")
		err := f.Err()
		require.EqualError(t, err, "b: is required, is odd; a: is longer than 200 characters")
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{{Name: "b", Messages: []string{"is required", "is odd"}},
			{Name: "a", Messages: []string{"is longer than 200 characters"}}}, e.Fields())
	})
	t.Run("ErrorKeepsItsTextWhenMoreIsAdded", func(t *testing.T) {
		t.Parallel()
		var f fault.Fields
		f.Addf("a", "one")
		err := f.Err()
		f.Addf("a", "two")
		f.Addf("b", "three")
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{{Name: "a", Messages: []string{"one"}}}, e.Fields())
	})
	t.Run("AppendEqualsAddf", func(t *testing.T) {
		t.Parallel()
		var appended, added fault.Fields
		for i := range 3 {
			appended.Append(fmt.Sprint("f", i), "is %s", "odd")
			added.Addf(fmt.Sprint("f", i), "is %s", "odd")
		}
		assert.Equal(t, added, appended)
	})
	t.Run("FieldHasTheFaultOfItsFirstMessage", func(t *testing.T) {
		t.Parallel()
		taken, odd := fault.New(fault.Invalid, "is taken"), fault.New(fault.Invalid, "is odd")
		var inner, f fault.Fields
		inner.AddAs(odd, "value", "is not %s", "even")
		inner.Addf("name", "is required")
		f.Add("slug", taken.With("is taken by %s", "acme"))
		f.Add("slug", odd)
		f.Add("addresses[1]", inner.Err())
		f.Add("", odd.On("kind"))
		require.EqualError(t, f.Err(), "slug: is taken by acme, is odd; addresses[1].value: is not even; addresses[1].name: is required; kind: is odd")
		for i, want := range []error{taken, odd, nil, odd} {
			if want == nil {
				assert.NoError(t, f[i].Cause, f[i].Name)
				continue
			}
			assert.ErrorIs(t, f[i].Cause, want, f[i].Name)
		}
	})
	t.Run("AForeignErrorIsAMessage", func(t *testing.T) {
		t.Parallel()
		var f fault.Fields
		f.Add("settings", errors.New("100% wrong"))
		assert.EqualError(t, f.Err(), "settings: 100% wrong")
	})
}

func TestFieldsJoinPaths(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ outer, inner, want string }{
		"Member":            {"custom_fields", "a.b", "custom_fields.a.b"},
		"Element":           {"addresses", "[2].value", "addresses[2].value"},
		"SameNameCountOnce": {"email", "email", "email"},
		"NoOuter":           {"", "email", "email"},
		"NoInner":           {"custom_fields", "", "custom_fields"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f fault.Fields
			f.Add(c.outer, fault.Field(c.inner, "is wrong"))
			assert.Equal(t, fault.Fields{{Name: c.want, Messages: []string{"is wrong"}}}, f)
		})
	}
	t.Run("LevelByLevel", func(t *testing.T) {
		t.Parallel()
		var value, address, payload fault.Fields
		value.Addf("value", "is required")
		value.Addf("value", "is odd")
		address.Add("[2]", value.Err())
		payload.Add("addresses", address.Err())
		assert.Equal(t, fault.Fields{{Name: "addresses[2].value", Messages: []string{"is required", "is odd"}}}, payload)
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "invalid input, not found", fault.List([]string{"invalid input", "not found"}))
	assert.Empty(t, fault.List([]string(nil)))
}

func TestReason(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "is not a number", fault.Reason(fault.Field("value", "is not a number")))
	assert.Equal(t, "is not a number", fault.Reason(fault.Field("", "is not a number")))
	assert.Equal(t, "there is none", fault.Reason(fault.New(fault.NotFound, "there is none")))
	var two fault.Fields
	two.Addf("a", "is missing")
	two.Addf("b", "is missing")
	assert.Equal(t, "a: is missing; b: is missing", fault.Reason(two.Err()))
}

func TestJoin(t *testing.T) {
	t.Parallel()
	taken := fault.New(fault.Invalid, "is taken")
	away := errors.New("the database is away")
	assert.NoError(t, fault.Join())
	assert.NoError(t, fault.Join(nil, nil))
	assert.Equal(t, error(taken), fault.Join(nil, taken), "a single error stays as it is")
	assert.Equal(t, away, fault.Join(fault.Field("name", "is required"), away), "an error that is not about the input is returned alone")

	joined := fault.Join(fault.Field("name", "must be a string"), taken.On("slug"), nil, fault.Field("name", "is required"))
	assert.Equal(t, "name: must be a string; slug: is taken", joined.Error())
	var known *fault.Error
	require.ErrorAs(t, joined, &known)
	require.Len(t, known.Fields(), 2)
	assert.ErrorIs(t, known.Fields()[1].Cause, taken)
}
