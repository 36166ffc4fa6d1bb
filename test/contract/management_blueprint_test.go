package contract_test

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
)

// manager returns a client with a key of acme that has every grant for managing.
func (w *world) manager() client {
	w.Helper()
	return w.as(w.issue(scope("acme"), access.Grants()...))
}

// appliedBlueprint is the answer to a blueprint.
type appliedBlueprint struct {
	DryRun    bool `json:"dry_run"`
	Created   int  `json:"created"`
	Updated   int  `json:"updated"`
	Unchanged int  `json:"unchanged"`
	Changes   []struct {
		Kind   string `json:"kind"`
		Path   string `json:"path"`
		ID     int64  `json:"id"`
		Action string `json:"action"`
	} `json:"changes"`
}

func TestManagedBlueprint(t *testing.T) {
	t.Parallel()
	const path = "/api/o/acme/blueprint/"
	wiki := func(more object) object {
		o := object{"slug": "acme", "name": "ACME", "projects": list{object{"slug": "wiki", "name": "Wiki", "lists": list{object{"name": "readers"}}}}}
		maps.Copy(o, more)
		return object{"organizations": list{o}}
	}

	t.Run("CreatesAndReportsTheMissing", both(func(w *world) {
		m := w.manager()
		done := read[appliedBlueprint](m.do(http.MethodPut, path, wiki(nil)).is(http.StatusOK))
		assert.Equal(w, []int{2, 0, 1}, []int{done.Created, done.Updated, done.Unchanged})
		require.Len(w, done.Changes, 3)
		assert.Equal(w, "acme/wiki/readers", done.Changes[2].Path)
		assert.Equal(w, "list", done.Changes[2].Kind)
		assert.Equal(w, "created", done.Changes[2].Action)
		assert.Equal(w, "readers", read[distributionList](m.get(idPath("/api/o/acme/p/wiki/d/", done.Changes[2].ID)).is(http.StatusOK)).Name)
		again := read[appliedBlueprint](m.do(http.MethodPut, path, wiki(nil)).is(http.StatusOK))
		assert.Equal(w, []int{0, 0, 3}, []int{again.Created, again.Updated, again.Unchanged})
	}))

	t.Run("AMisspeltParameterAppliesNothing", both(func(w *world) {
		m := w.manager()
		w.unchanged(func() {
			for _, query := range []string{"?dryrun=true", "?dry_run=true&force=1", "?dry_run=perhaps"} {
				m.do(http.MethodPut, path+query, wiki(nil)).is(http.StatusBadRequest)
			}
		})
	}))

	t.Run("TakesTheYAMLOfTheCommandLine", both(func(w *world) {
		m := w.manager().with("Content-Type", "application/yaml")
		yaml := raw("organizations:\n- slug: acme\n  name: ACME\n  projects:\n  - {slug: wiki, name: Wiki}\n")
		assert.Equal(w, 1, read[appliedBlueprint](m.do(http.MethodPut, path, yaml).is(http.StatusOK)).Created)
		m.get("/api/o/acme/p/wiki/").is(http.StatusOK)
	}))

	t.Run("DryRunWritesNothing", both(func(w *world) {
		m := w.manager()
		w.unchanged(func() {
			done := read[appliedBlueprint](m.do(http.MethodPut, path+"?dry_run=true", wiki(nil)).is(http.StatusOK))
			assert.True(w, done.DryRun)
			assert.Equal(w, 2, done.Created)
			assert.Zero(w, done.Changes[2].ID)
		})
		m.do(http.MethodPut, path+"?dry_run=perhaps", wiki(nil)).isBadRequestFor("dry_run")
	}))

	t.Run("NeverReachesAnotherOrganization", both(func(w *world) {
		m, wide := w.manager(), w.as(w.issue(scope(""), access.BlueprintApply))
		w.unchanged(func() {
			m.do(http.MethodPut, path, object{"organizations": list{object{"slug": "globex", "name": "Taken"}}}).isBadRequestFor("organizations[0].slug")
			m.do(http.MethodPut, "/api/o/globex/blueprint/", object{"organizations": list{object{"slug": "globex", "name": "Taken"}}}).is(http.StatusForbidden)
			wide.do(http.MethodPut, "/api/o/nowhere/blueprint/",
				object{"organizations": list{object{"slug": "nowhere", "name": "Made"}}}).is(http.StatusNotFound)
			m.with("Content-Type", "application/yaml").do(http.MethodPut, path, raw("organizations: [{slug: acme, name: A}, {slug: globex, name: T}]")).is(http.StatusBadRequest)
		})
	}))

	t.Run("LeavesDecisionsToPeople", both(func(w *world) {
		m := w.manager()
		w.unchanged(func() {
			m.do(http.MethodPut, path, wiki(object{"quotas": object{"channels": 1000}})).isBadRequestFor("organizations[0].quotas")
			m.do(http.MethodPut, path, wiki(object{"require_second_factor": false})).isBadRequestFor("organizations[0].require_second_factor")
		})
	}))

	t.Run("ReadsNoVariableOfTheService", both(func(w *world) {
		m := w.manager()
		w.unchanged(func() {
			a := m.do(http.MethodPut, path, wiki(object{"channels": list{object{"name": "leak", "protocol": "EMAIL", "driver": "smtp",
				"settings": object{"host": "${PATH}", "from": "a@example.org"}}}}))
			a.isBadRequestFor("organizations[0].channels[0].settings.host")
			assert.Contains(w, string(a.body), "PATH is not set")
		})
	}))

	t.Run("IsAllOrNothingAndNamesEveryMistake", both(func(w *world) {
		m := w.manager()
		w.unchanged(func() {
			m.do(http.MethodPut, path, wiki(object{"groups": list{""}, "channels": list{object{"name": "x", "protocol": "FAX", "driver": "smtp"}}})).is(http.StatusBadRequest)
			errors := m.do(http.MethodPut, path, wiki(object{"projets": list{}})).errors()
			assert.Contains(w, strings.Join(errors["organizations[0]"], ""), `did you mean "projects"`)
			m.do(http.MethodPut, path, nil).isBadRequestFor("body")
			m.do(http.MethodPut, path, raw("{")).isBadRequestFor("body")
			m.with("Content-Type", "text/plain").do(http.MethodPut, path, raw("{}")).is(http.StatusUnsupportedMediaType)
		})
	}))

	t.Run("TooManyObjectsAreRefusedAndNothingWritten", both(func(w *world) {
		m, groups := w.manager(), list{}
		for i := range app.MaxBlueprint {
			groups = append(groups, strconv.Itoa(i))
		}
		w.unchanged(func() {
			for _, query := range []string{"", "?dry_run=true"} {
				m.do(http.MethodPut, path+query, wiki(object{"projects": list{}, "groups": groups})).isBadRequestFor("organizations")
			}
		})
	}))

	t.Run("NeedsItsOwnGrant", both(func(w *world) {
		w.as(w.issue(scope("acme"), access.FullAccess)).do(http.MethodPut, path, wiki(nil)).is(http.StatusForbidden)
		w.as(w.issue(scope("acme/shop"), access.BlueprintApply)).do(http.MethodPut, path, wiki(nil)).is(http.StatusForbidden)
	}))
}
