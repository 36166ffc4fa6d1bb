package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// audited returns the entries of acme's audit log, the oldest first.
func (f *fixture) audited() []string {
	f.Helper()
	var all []string
	for _, e := range f.entries("acme") {
		all = append([]string{fmt.Sprintf("%s %s %s %v %v", e.Actor.Name, e.Action, e.Object, e.Before, e.After)}, all...)
	}
	return all
}

// profile returns everything about a member of acme.
func (f *fixture) profile(m users.Member) app.MemberReport {
	f.Helper()
	p, err := f.use.Members.Show(f.Context(), app.Path{Organization: "acme"}, m.ID)
	require.NoError(f, err)
	return p
}

func TestCreateMember(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		staff := f.group("Staff")
		f.person("globex", "there@example.org", users.RoleMember, false)
		page := b.get("/console/o/acme/u/new/").is(f.T, http.StatusOK)
		assert.Contains(f, page.body, `<option value="`+idText(staff.ID)+`">Staff</option>`)

		wrong := b.post("/console/o/acme/u/new/", "email", "nobody", "first_name", strings.Repeat("x", 201), "custom_fields", "{\n  \"a\": }", "group", idText(staff.ID)).is(f.T, http.StatusBadRequest)
		for _, said := range []string{"is not an e-mail address", "is longer than 200 characters", "must be a JSON object: line 2, column 8", "There are 3 problems: E-mail is not an e-mail address First name is longer than 200 characters Metadata must be a JSON object"} {
			assert.Contains(f, wrong.text(), said)
		}
		assert.Contains(f, wrong.body, `value="nobody"`, "what was typed is there still")
		assert.Contains(f, wrong.body, `<option value="`+idText(staff.ID)+`" selected>`)
		assert.Empty(f, f.entries("acme"))

		made := b.post("/console/o/acme/u/new/", "email", "New@example.org", "first_name", "N", "last_name", "W", "custom_fields", `{"plan":1.50}`, "group", idText(staff.ID)).is(f.T, http.StatusSeeOther)
		m := f.memberNamed("new@example.org")
		assert.Equal(f, memberPath(m)+"?done=enrolled", made.Header.Get("Location"))
		assert.Equal(f, []string{"Default", "Staff"}, m.Groups)
		assert.Equal(f, users.RoleMember, m.Role)
		shown := b.get(made.Header.Get("Location")).is(f.T, http.StatusOK).text()
		assert.Contains(f, shown, "User added.")
		assert.Contains(f, shown, `"plan": 1.50`)
		assert.Equal(f, "New@example.org", f.profile(m).Addresses[0].Value)

		redisplay := b.post("/console/o/acme/u/new/", "email", "new@example.org", "custom_fields", `{}`, "group", "0").is(f.T, http.StatusSeeOther)
		assert.Equal(f, memberPath(m)+"?done=was-there", redisplay.Header.Get("Location"))
		assert.Contains(f, b.get(redisplay.Header.Get("Location")).text(), "Already a member. Nothing has changed.")
		b.post("/console/o/acme/u/new/", "email", "there@example.org", "custom_fields", `{}`).is(f.T, http.StatusSeeOther)
		b.post("/console/o/acme/u/new/", "email", "x@example.org", "custom_fields", `{}`, "group", "4711").is(f.T, http.StatusNotFound)
		require.Len(f, f.entries("acme"), 2)
		assert.Contains(f, f.audited()[0], "ada member.create acme/u/New@example.org map[]")
		assert.Contains(f, f.audited()[1], "ada member.create acme/u/there@example.org")

		again := b.post("/console/o/acme/u/new/", "email", "new@example.org", "custom_fields", `{}`, "group", idText(f.group("Others").ID)).is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(again.Header.Get("Location")).text(), "Already a member. Updated with your entries.")
		assert.Equal(f, []string{"Default", "Others", "Staff"}, f.memberNamed("new@example.org").Groups)
	})
}

func TestMemberDetails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("ada", users.RoleOperator))
	eve, there := f.person("acme", "eve", users.RoleMember, false), f.person("globex", "eve", users.RoleMember, false)
	form := b.get(memberPath(eve)+"names/").is(t, http.StatusOK).body
	assert.Contains(t, form, `value="First"`)
	assert.Contains(t, form, `value="eve@example.org"`)
	b.post(memberPath(eve)+"names/", "first_name", "Eva", "last_name", " ", "email", "").is(t, http.StatusSeeOther)
	b.post(memberPath(eve)+"names/", "first_name", "Eva", "last_name", "Last", "email", "eve@example.org").is(t, http.StatusSeeOther)
	assert.Equal(t, []string{"ada member.update acme/u/eve map[first_name:First] map[first_name:Eva]"}, f.audited(), "what is blank or equal is no change")
	b.post(memberPath(eve)+"names/", "email", "eva@example.org").is(t, http.StatusSeeOther)
	assert.Contains(t, f.audited()[1], "map[email:eve@example.org] map[email:eva@example.org]")
	wrong := b.post(memberPath(eve)+"names/", "first_name", strings.Repeat("x", 201), "email", "eva").is(t, http.StatusBadRequest)
	assert.Contains(t, wrong.text(), "is longer than 200 characters")
	assert.Contains(t, wrong.text(), "is not an e-mail address")
	assert.Len(t, f.entries("acme"), 2)

	assert.Equal(t, users.Details{Email: "eva@example.org", FirstName: "Eva", LastName: "Last"}, f.profile(eve).Member.Details)
	f.update(func(tx ports.Tx) error {
		theirs, err := tx.Users().ByID(f.Context(), there.Organization, there.ID)
		assert.Equal(t, there.Details, theirs.Details, "what the other organization recorded stays")
		return err
	})
	assert.NotContains(t, b.get(memberPath(eve)).is(t, http.StatusOK).text(), "other organization", "and nothing says that there is another one")
	assert.NotContains(t, b.get(memberPath(eve)+"remove/").is(t, http.StatusOK).text(), "other organization")
}

var hiddenDigest = regexp.MustCompile(`name="shown" value="([0-9a-f]*)"`)

func TestMemberMetadata(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		eve := f.person("acme", "eve", users.RoleMember, false)
		path := memberPath(eve) + "metadata/"
		shown := func(page answer) string {
			found := hiddenDigest.FindStringSubmatch(page.body)
			require.NotEmpty(f, found, page.body)
			return found[1]
		}
		first := shown(b.get(path).is(f.T, http.StatusOK))
		b.post(path, "shown", first, "custom_fields", `{"n": 1.50, "o": {"x": "<é>"}}`).is(f.T, http.StatusSeeOther)
		assert.Equal(f, []string{"ada member.update acme/u/eve map[custom_fields:map[n:<nil> o:<nil>]] map[custom_fields:map[n:1.5 o:map[x:<é>]]]"}, f.audited())
		page := b.get(path)
		assert.Contains(f, html.UnescapeString(page.body), "{\n  \"n\": 1.50,\n  \"o\": {\n    \"x\": \"<é>\"\n  }\n}</textarea>")
		second := shown(page)

		wrong := b.post(path, "shown", second, "custom_fields", "{\"n\": 1,\n}").is(f.T, http.StatusBadRequest)
		assert.Contains(f, wrong.text(), "must be a JSON object: line 2, column 1: invalid character '}' looking for beginning of object key string")
		assert.Contains(f, html.UnescapeString(wrong.body), "{\"n\": 1,\n}</textarea>")
		assert.Equal(f, second, shown(wrong))

		// Somebody else saves meanwhile.
		f.update(func(tx ports.Tx) error {
			m := eve
			m.CustomFields = metadata.Map{"theirs": "kept"}
			return tx.Users().SaveFields(f.Context(), m)
		})
		late := b.post(path, "shown", second, "custom_fields", `{"mine": true}`).is(f.T, http.StatusBadRequest)
		assert.Contains(f, late.text(), "it was changed in the meantime: nothing was saved")
		assert.Contains(f, late.text(), `"theirs": "kept"`, "what is there now")
		assert.Contains(f, html.UnescapeString(late.body), `{"mine": true}</textarea>`, "and what was typed")
		assert.Equal(f, metadata.Map{"theirs": "kept"}, f.profile(eve).Member.CustomFields)
		b.post(path, "shown", shown(late), "custom_fields", `{"mine": true}`).is(f.T, http.StatusSeeOther)
		assert.Equal(f, metadata.Map{"mine": true}, f.profile(eve).Member.CustomFields, "who has seen it may replace it")
		b.post(path, "shown", first, "custom_fields", `{"mine": true}`).is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), 2, "what is there already changes nothing")
		huge := b.post(path, "shown", first, "custom_fields", `{"x":"`+strings.Repeat("x", metadata.MaxBytes)+`"}`).is(f.T, http.StatusBadRequest)
		assert.Contains(f, huge.text(), "metadata is larger than 64 KiB")
	})
}

func TestRemoveMember(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		eve := f.person("acme", "eve", users.RoleMember, false)
		f.addToList("eve")
		page := b.get(memberPath(eve)+"remove/").is(f.T, http.StatusOK).text()
		for _, said := range []string{"addresses: 1, assigned to channels: 1 eve@example.org", "the names, the e-mail, the metadata", "1 distribution list all"} {
			assert.Contains(f, page, said)
		}
		assert.Equal(f, "/console/o/acme/u/?done=removed", b.post(memberPath(eve)+"remove/").is(f.T, http.StatusSeeOther).Header.Get("Location"))
		assert.Contains(f, b.get("/console/o/acme/u/?done=removed").text(), "User removed.")
		b.get(memberPath(eve)).is(f.T, http.StatusNotFound)
		b.post(memberPath(eve)+"remove/").is(f.T, http.StatusNotFound)
		e := f.entries("acme")
		require.Len(f, e, 1)
		assert.Equal(f, audit.MemberRemoved, e[0].Action)
		assert.Equal(f, "eve@example.org", e[0].Before["email"])
	})
}

func TestMemberAddresses(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleOperator))
		eve := f.person("acme", "eve", users.RoleMember, false)
		wrong := b.post(memberPath(eve)+"addresses/new/", "value", " ", "name", strings.Repeat("x", 201)).is(f.T, http.StatusBadRequest).text()
		assert.Contains(f, wrong, "is required")
		assert.Contains(f, wrong, "is longer than 200 characters")
		b.post(memberPath(eve)+"addresses/new/", "value", "Eve@example.org", "name", "Work", "assign_to_preferred_channel", "true").is(f.T, http.StatusSeeOther)
		b.post(memberPath(eve)+"addresses/new/", "value", "eve@EXAMPLE.org", "assign_to_preferred_channel", "true").is(f.T, http.StatusSeeOther)
		b.post(memberPath(eve)+"addresses/new/", "value", "+1 (415) 555-2671").is(f.T, http.StatusSeeOther)
		p := f.profile(eve)
		require.Len(f, p.Addresses, 2, "one that is there is not added again")
		require.Len(f, p.Assignments, 1)
		mail, phone := p.Addresses[0], p.Addresses[1]
		assert.Equal(f, "+14155552671", phone.Value)
		ofMail, ofPhone := fmt.Sprintf("%saddresses/%d/", memberPath(eve), mail.ID), fmt.Sprintf("%saddresses/%d/", memberPath(eve), phone.ID)

		page := b.get(ofMail).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "mail EMAIL Active active Deactivate (mail) Validated validated Mark as not validated (mail)")
		assert.NotContains(f, page.body, `name="channel"`, "there is no other channel for it")
		assignment := fmt.Sprintf("%sassignments/%d/", memberPath(eve), p.Assignments[0].ID)
		for _, flags := range [][2]string{{"false", "true"}, {"false", "false"}, {"false", "false"}} {
			got := b.post(assignment, "active", flags[0], "validated", flags[1], "address", idText(mail.ID)).is(f.T, http.StatusSeeOther)
			assert.Equal(f, ofMail+"?done=saved", got.Header.Get("Location"))
		}
		b.post(assignment, "active", "maybe", "validated", "true").is(f.T, http.StatusBadRequest)
		assert.Contains(f, b.get(ofMail).text(), "Active inactive Activate (mail) Validated not validated Validate (mail)")
		assert.Contains(f, b.get(memberPath(eve)).text(), "mail (inactive) (not validated)")

		unfit := b.post(ofPhone+"assign/", "channel", idText(p.Channels[0].ID)).is(f.T, http.StatusBadRequest)
		assert.Contains(f, unfit.text(), "the channel cannot reach addresses of this type")
		b.post(ofPhone+"assign/", "channel", "4711").is(f.T, http.StatusNotFound)
		b.post(assignment+"remove/", "address", idText(mail.ID)).is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(ofMail).text(), "Not assigned to a channel")
		b.post(ofMail+"assign/", "channel", idText(p.Channels[0].ID)).is(f.T, http.StatusSeeOther)
		b.post(ofMail+"assign/", "channel", idText(p.Channels[0].ID)).is(f.T, http.StatusSeeOther)
		require.Len(f, f.profile(eve).Assignments, 1)
		b.post(ofMail+"remove/").is(f.T, http.StatusSeeOther)
		b.post(ofMail+"remove/").is(f.T, http.StatusNotFound)
		b.get(ofMail).is(f.T, http.StatusNotFound)
		assert.Empty(f, f.profile(eve).Assignments)
		assert.Equal(f, []string{
			"ada address.add acme/u/eve map[] map[address:Eve@example.org assigned:[mail] name:Work new:true]",
			"ada address.add acme/u/eve map[] map[address:+14155552671 assigned:<nil> name:phone new:true]",
			"ada assignment.update acme/u/eve map[active:true address:Eve@example.org channel:mail validated:true] map[active:false address:Eve@example.org channel:mail validated:true]",
			"ada assignment.update acme/u/eve map[active:false address:Eve@example.org channel:mail validated:true] map[active:false address:Eve@example.org channel:mail validated:false]",
			"ada assignment.remove acme/u/eve map[active:false address:Eve@example.org channel:mail validated:false] map[]",
			"ada assignment.add acme/u/eve map[] map[active:true address:Eve@example.org channel:mail validated:true]",
			"ada address.remove acme/u/eve map[address:Eve@example.org name:Work] map[]",
		}, f.audited())
	})
}

func TestMemberMessages(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		ada := f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		f.fails(id)
		b := f.as(f.operator("bob", users.RoleViewer))
		page := b.get(memberPath(ada)).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "failed Ticks to ada@example.org by mail the mailbox is <full> Attempts: 1 Web · Why, or why not")
		why := fmt.Sprintf("/console/o/acme/p/shop/a/web/occurrences/%d/explain/?user=ada", id)
		assert.Contains(f, page.body, why)
		b.get(why).is(f.T, http.StatusOK)
		assert.NotContains(f, page.body, "<form method=\"post\" action=\"/console/o/acme/u/", "a viewer is offered no change")
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		eve := f.person("acme", "eve", users.RoleMember, false)
		admin := f.as(f.operator("ada", users.RoleAdministrator))
		viewer := f.as(f.operator("bob", users.RoleViewer))
		assert.NotContains(f, viewer.get("/console/o/acme/groups/").is(f.T, http.StatusOK).body, "New group")
		assert.Contains(f, admin.post("/console/o/acme/groups/", "name", " ").is(f.T, http.StatusBadRequest).text(), "is required")
		admin.post("/console/o/acme/groups/", "name", "Staff").is(f.T, http.StatusSeeOther)
		taken := admin.post("/console/o/acme/groups/", "name", "STAFF").is(f.T, http.StatusBadRequest)
		assert.Contains(f, taken.text(), "a group with this name exists already")
		assert.Contains(f, taken.body, `value="STAFF"`)
		staff, standard := f.group("Staff"), f.group("Default")
		path := "/console/o/acme/groups/" + idText(staff.ID) + "/"
		admin.post(path, "name", "Board").is(f.T, http.StatusSeeOther)
		assert.Contains(f, admin.post(path, "name", "default").is(f.T, http.StatusBadRequest).text(), "a group with this name exists already")
		for _, change := range []string{"", "delete/"} {
			said := admin.post("/console/o/acme/groups/"+idText(standard.ID)+"/"+change, "name", "Other").is(f.T, http.StatusBadRequest).text()
			assert.Contains(f, said, "The group Default belongs to the service")
		}
		operator := f.as(f.operator("oz", users.RoleOperator))
		operator.post(memberPath(eve)+"groups/", "group", idText(staff.ID)).is(f.T, http.StatusSeeOther)
		assert.Contains(f, operator.get(memberPath(eve)).text(), "Board Remove from the group Board")
		kept := admin.post(path+"delete/").is(f.T, http.StatusBadRequest)
		assert.Equal(f, 1, strings.Count(kept.text(), "The group still has members."))
		assert.Contains(f, kept.body, `name="name" type="text" value="Board"`, "the other form is as it was")
		operator.post(memberPath(eve)+"groups/remove/", "group", idText(staff.ID)).is(f.T, http.StatusSeeOther)
		admin.post(path+"delete/").is(f.T, http.StatusSeeOther)
		admin.get(path).is(f.T, http.StatusNotFound)
		assert.Equal(f, []string{
			"ada group.create acme/groups/Staff map[] map[name:Staff]", "ada group.update acme/groups/Staff map[name:Staff] map[name:Board]",
			"oz member.update acme/u/eve map[groups:[]] map[groups:[Board]]", "oz member.update acme/u/eve map[groups:[Board]] map[groups:[]]",
			"ada group.delete acme/groups/Board map[name:Board] map[]",
		}, f.audited())
	})
}
