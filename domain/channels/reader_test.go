package channels_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
)

// described returns the settings of a fictional driver.
func described(names ...string) (all []channels.Setting) {
	for _, name := range names {
		all = append(all, channels.Setting{Name: name, Secret: name == "host"})
	}
	return all
}

func TestReadSettings(t *testing.T) {
	t.Parallel()
	all := described("host", "port", "ca", "mode", "headers", "gone", "empty", "absent", "typed", "line", "text", "word", "number", "list", "members")
	read := func(settings channels.Settings) *channels.SettingsReader {
		c := channels.Channel{Driver: "pigeon", Protocol: channels.SMS, Settings: settings}
		return c.ReadSettings(all, channels.SMS, channels.SLACK)
	}

	t.Run("ReturnsTheExisting", func(t *testing.T) {
		t.Parallel()
		r := read(channels.Settings{"host": "h", "port": json.Number("25"), "ca": "a\nb", "mode": "fast", "headers": map[string]any{"X-A": "b"},
			"concurrency": 8, "rate_per_second": 0.5})
		assert.Equal(t, "h", r.Required("host"))
		assert.Equal(t, 25, r.Integer("port", 1, 65535))
		assert.Equal(t, "a\nb", r.Text("ca"))
		assert.Equal(t, "fast", r.Word("mode", "slow", "fast"))
		assert.Equal(t, map[string]string{"X-A": "b"}, r.Lines("headers"))
		require.NoError(t, r.Err())
	})
	t.Run("AbsentIsZero", func(t *testing.T) {
		t.Parallel()
		r := read(channels.Settings{"gone": nil, "empty": ""})
		assert.Empty(t, r.Line("host"))
		assert.Empty(t, r.Line("gone"))
		assert.Empty(t, r.Text("empty"))
		assert.Zero(t, r.Integer("port", 1, 65535))
		assert.Equal(t, "slow", r.Word("mode", "slow", "fast"))
		assert.Nil(t, r.Lines("headers"))
		require.NoError(t, r.Err())
	})
	for _, v := range []any{25, int64(25), uint64(25), 25.0, "25", json.Number("25")} {
		t.Run("ANumberMayComeAsItWasDecoded", func(t *testing.T) {
			t.Parallel()
			r := read(channels.Settings{"port": v})
			assert.Equal(t, 25, r.Integer("port", 1, 65535))
			require.NoError(t, r.Err())
		})
	}
	for _, v := range []any{0, 65536, -1, 25.5, "x", "25x", true, []any{25}, map[string]any{}, json.Number("1e400"), math.NaN()} {
		t.Run("InvalidNumberIsRefused", func(t *testing.T) {
			t.Parallel()
			r := read(channels.Settings{"port": v})
			assert.Zero(t, r.Integer("port", 1, 65535))
			require.EqualError(t, r.Err(), "settings.port: must be a number from 1 to 65535")
		})
	}
	t.Run("NamesEveryMistakeAtOnceAndNoValue", func(t *testing.T) {
		t.Parallel()
		r := channels.Channel{Driver: "pigeon", Protocol: channels.EMAIL, Settings: channels.Settings{
			"line": "a\r\nb", "text": "a\xff", "word": "secret", "number": "secret", "list": "secret", "typed": 7, "members": map[string]any{"a": "x\ny", "b": 1},
			"unknown": "secret", "concurrency": 257, "rate_per_second": math.NaN(),
		}}.ReadSettings(all, channels.SMS, channels.SLACK)
		r.Required("absent")
		r.Required("typed")
		r.Line("line")
		r.Text("text")
		r.Word("word", "a", "b")
		r.Integer("number", 1, 2)
		r.Lines("list")
		r.Lines("members")
		r.Wrong("text", "is something else too")
		var e *fault.Error
		require.ErrorAs(t, r.Err(), &e)
		assert.Equal(t, fault.Invalid, e.Kind())
		assert.Equal(t, fault.Fields{
			{Name: "driver", Messages: []string{"pigeon carries SMS and SLACK, not EMAIL"}},
			{Name: "settings.absent", Messages: []string{"is required"}},
			{Name: "settings.concurrency", Messages: []string{"must be a whole number from 1 to 256"}},
			{Name: "settings.line", Messages: []string{"contains a control character"}},
			{Name: "settings.list", Messages: []string{"must be an object"}},
			{Name: "settings.members.a", Messages: []string{"must be a string without control characters"}},
			{Name: "settings.members.b", Messages: []string{"must be a string without control characters"}},
			{Name: "settings.number", Messages: []string{"must be a number from 1 to 2"}},
			{Name: "settings.rate_per_second", Messages: []string{"must be a number above 0 and at most 100000"}},
			{Name: "settings.text", Messages: []string{"must be a string", "is something else too"}},
			{Name: "settings.typed", Messages: []string{"must be a string"}},
			{Name: "settings.unknown", Messages: []string{"is not a setting of the driver pigeon"}},
			{Name: "settings.word", Messages: []string{"must be one of a, b"}},
		}, e.Fields())
		assert.NotContains(t, e.Error(), "secret")
	})
}

func TestReaderUndescribedSetting(t *testing.T) {
	t.Parallel()
	r := channels.Channel{Driver: "pigeon", Protocol: channels.SMS}.ReadSettings(described("host", "port"), channels.SMS)
	assert.Empty(t, r.Line("host"))
	assert.PanicsWithValue(t, "channels: the driver pigeon reads the setting colour, which it does not describe", func() { r.Line("colour") })
	assert.Equal(t, []string{"host"}, channels.Secrets(described("host", "port")))
}

func TestSettingsEqual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b channels.Settings
		want bool
	}{
		"NoneAndEmpty":     {nil, channels.Settings{}, true},
		"TheSame":          {channels.Settings{"a": 1, "b": "x"}, channels.Settings{"b": "x", "a": json.Number("1")}, true},
		"AnotherValue":     {channels.Settings{"a": 1}, channels.Settings{"a": 2}, false},
		"AnotherName":      {channels.Settings{"a": 1}, channels.Settings{"b": 1}, false},
		"OneMore":          {channels.Settings{"a": 1}, nil, false},
		"NotJSON":          {channels.Settings{"a": math.NaN()}, channels.Settings{"a": math.NaN()}, false},
		"AnotherTypeOfOne": {channels.Settings{"a": "1"}, channels.Settings{"a": 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.a.Equal(c.b))
			assert.Equal(t, c.want, c.b.Equal(c.a))
		})
	}
}
