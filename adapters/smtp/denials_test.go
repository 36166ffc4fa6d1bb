package smtp_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
)

// TestManyDenied checks that the recipients of a long list who are denied among accepted ones all
// fail at their second attempt.
func TestManyDenied(t *testing.T) {
	t.Parallel()
	const denied = 1_500 // The memory held 1,000.
	s := serve(t)
	s.answer("EHLO", groups)
	s.answer("RCPT", "550 5.7.1 blocked")
	d := s.open(nil, smtp.Timeouts{})
	m := message()
	for n := range denied {
		m.To = fmt.Sprintf("p%d@example.org", n)
		require.Equal(t, unreachable, kindOf(dispatch(t, d, m)))
	}
	s.answer("RCPT", "", "550 5.7.1 blocked")
	require.NoError(t, d.Dispatch(t.Context(), message()))
	failed := 0
	for n := range denied {
		m.To = fmt.Sprintf("p%d@example.org", n)
		if kindOf(dispatch(t, d, m)) == refused {
			failed++
		}
	}
	assert.Equal(t, denied, failed)
}

// TestDenials checks that the oldest recipients are forgotten, and that a message which began
// before a denial settles nothing.
func TestDenials(t *testing.T) {
	t.Parallel()
	d := smtp.NewDenials(3)
	for _, to := range []string{"a", "b", "c", "a", "d"} { // a is the oldest, even though it was denied again
		require.True(t, d.IsForAll(to))
	}
	assert.Equal(t, 3, d.Remembered())
	before := d.Count()
	require.True(t, d.IsForAll("e")) // b is forgotten
	d.Accepted("other", before)
	assert.False(t, d.IsForAll("c"))
	assert.False(t, d.IsForAll("d"))
	assert.True(t, d.IsForAll("e"), "the message began before")
	assert.True(t, d.IsForAll("a"), "a first denial again")
	d.Accepted("other", d.Count())
	assert.False(t, d.IsForAll("a"))
	for n := range 100 {
		require.True(t, d.IsForAll(strconv.Itoa(n)))
	}
	assert.Equal(t, 3, d.Remembered())
}

// TestSecondOutage checks that recipients who were denied with all others, and accepted later, are
// not to blame when the server denies all of them again.
func TestSecondOutage(t *testing.T) {
	t.Parallel()
	for step, reply := range map[string]string{"RCPT": "550 5.7.1 relay access denied", "DATA": "554 5.7.1 address is not verified"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			const recipients = 20
			s := serve(t)
			s.answer("EHLO", groups)
			d := s.open(nil, smtp.Timeouts{})
			m := message()
			for range 2 {
				s.answer(step, reply)
				for n := range recipients {
					m.To = fmt.Sprintf("p%d@example.org", n)
					require.Equal(t, unreachable, kindOf(dispatch(t, d, m)), m.To)
				}
				s.answer(step)
				for n := range recipients {
					m.To = fmt.Sprintf("p%d@example.org", n)
					require.NoError(t, d.Dispatch(t.Context(), m), m.To)
				}
			}
		})
	}
}

// TestDenialsAfterAnAcceptance checks that a recipient who was accepted and denied again is not
// forgotten when the first denial is.
func TestDenialsAfterAnAcceptance(t *testing.T) {
	t.Parallel()
	d := smtp.NewDenials(3)
	require.True(t, d.IsForAll("a"))
	d.Accepted("a", d.Count())
	for _, to := range []string{"b", "a", "c"} { // c takes the place of the first denial
		require.True(t, d.IsForAll(to))
	}
	d.Accepted("other", d.Count())
	assert.False(t, d.IsForAll("a"))
}
