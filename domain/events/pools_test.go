package events_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

func TestPoolsNamed(t *testing.T) {
	t.Parallel()
	mail, text, other := events.Pool{Name: "a", Protocol: channels.EMAIL}, events.Pool{Name: "a", Protocol: channels.SMS}, events.Pool{Name: "b", Protocol: channels.SMS}
	usable := events.Pools([]channels.Channel{
		{Pool: "b", Protocol: channels.SMS}, {Protocol: channels.SMS}, {Pool: "a", Protocol: channels.SMS}, {Pool: "a", Protocol: channels.EMAIL}, {Pool: "b", Protocol: channels.SMS},
	})
	assert.Equal(t, []events.Pool{mail, text, other}, usable)

	found, err := events.PoolsNamed(usable, nil, []string{"b", "b"})
	require.NoError(t, err)
	assert.Equal(t, []events.Pool{other}, found)
	for _, had := range []events.Pool{mail, text} {
		found, err = events.PoolsNamed(usable, []events.Pool{had}, []string{"b", "a"})
		require.NoError(t, err)
		assert.Equal(t, []events.Pool{had, other}, found)
	}
	empty := events.Pool{Name: "c", Protocol: channels.EMAIL}
	found, err = events.PoolsNamed(usable, []events.Pool{empty}, []string{"b", "c"})
	require.NoError(t, err, "it had that, and keeps it without a member")
	assert.Equal(t, []events.Pool{other, empty}, found)
	for _, had := range [][]events.Pool{{text}, {text, mail}, {mail, text}} {
		found, err = events.PoolsNamed([]events.Pool{mail, other}, had, []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, []events.Pool{mail}, found, "one without a member gives way to one with some")
	}
	_, err = events.PoolsNamed(usable, []events.Pool{{Name: "d"}}, []string{"b", "c", "", "a"})
	var faults *fault.Error
	require.ErrorAs(t, err, &faults)
	assert.Equal(t, fault.Fields{
		{Name: "pools[1]", Messages: []string{`no channel of the project or the organization is in a pool "c"`}},
		{Name: "pools[2]", Messages: []string{`no channel of the project or the organization is in a pool ""`}},
		{Name: "pools[3]", Messages: []string{`channels of EMAIL and of SMS are in pools "a"; an event names a pool of one protocol`}},
	}, faults.Fields())
}

// TestPoolsNamedAreFew holds: names that somebody repeats are not looked at one by one.
func TestPoolsNamedAreFew(t *testing.T) {
	t.Parallel()
	_, err := events.PoolsNamed(nil, nil, make([]string, 1<<18))
	require.ErrorContains(t, err, "has more than 100 names")
}
