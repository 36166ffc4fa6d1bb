package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMigratePlan(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Zero(t, d.Run(t.Context(), []string{"migrate", "plan"}), d.err.String())
	out := d.out.String()
	assert.Regexp(t, `(?m)^BLOCKS +00042_more +a +1200 +SHARE +reads all rows +CREATE INDEX a_b ON a \(b\)$`, out)
	assert.Regexp(t, `(?m)^ +00043_new +b +- +none +a moment +CREATE TABLE b \(id BIGINT\)$`, out)
}
