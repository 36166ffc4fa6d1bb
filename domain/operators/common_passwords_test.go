package operators_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"administrator", "AdminisTrator", "123456789123456789", // on the list
		"１２３４５６７８９qwerty",                                                 // the same characters, written wide
		"Password1234", "!!password!!", "2026-Manchester", "sunshine....", // a word of the list with little around it
	} {
		_, err := operators.NewPassword("password", s)
		require.Error(t, err, s)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), s)
		assert.Contains(t, err.Error(), "too common", s)
	}
	for _, s := range []string{
		"correct horse battery", "administratorship", "password and more", "dragon 1987-11-22 1",
		"4837492abcd483749283", "            ", "8#.1$2@5^7&9*(",
	} {
		_, err := operators.NewPassword("password", s)
		require.NoError(t, err, s)
	}
}
