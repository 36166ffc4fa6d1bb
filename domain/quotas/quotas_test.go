package quotas_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestOwnLimits(t *testing.T) {
	t.Parallel()
	all := quotas.Limits{quotas.Requests: 5, quotas.OrganizationRequests: 10}
	assert.Equal(t, quotas.Limits{quotas.Requests: 0, quotas.OrganizationRequests: 10}, all.With(quotas.Limits{quotas.Requests: 0}))
	assert.Equal(t, all, all.With(nil))
	assert.Equal(t, quotas.Limits{quotas.Requests: 1}, quotas.Limits(nil).With(quotas.Limits{quotas.Requests: 1}))
	assert.Equal(t, quotas.Limits{quotas.Requests: 5, quotas.OrganizationRequests: 10}, all, "the installation's stay as they are")
}

func TestInvalidLimits(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{-1, math.NaN(), math.Inf(1), 1 << 51} {
		assert.ErrorContains(t, quotas.Limits{quotas.Requests: limit}.Check("quotas"), "quotas.rate_limit: must be 0, which is no limit")
	}
	assert.ErrorContains(t, quotas.Limits{"x": 1}.Check("quotas"), "quotas.x: there is no such quota")
	for _, n := range quotas.Names() {
		assert.NoError(t, quotas.Limits{n: 0}.Check("quotas"))
		assert.NoError(t, quotas.Limits{n: 1 << 50}.Check("quotas"))
	}
}

func TestQuotasDescribeTheirLimits(t *testing.T) {
	t.Parallel()
	said := map[string]quotas.Name{}
	all := append(quotas.Names(), quotas.AuthFailures, quotas.Body)
	for _, n := range all {
		refused := quotas.Refuse(n, 12, time.Second)
		assert.Contains(t, refused.Error(), "12")
		assert.Contains(t, []fault.Kind{fault.Limited, fault.TooLarge}, fault.KindOf(refused))
		said[refused.Error()] = n
	}
	assert.Len(t, said, len(all), "no two say the same")
}
