package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

func smtpChannel(name string) app.BlueprintChannel {
	return app.BlueprintChannel{Name: name, Protocol: "EMAIL", Driver: "smtp", Active: true,
		Settings: channels.Settings{"host": "localhost", "port": 1025, "from": "notify@acme.example"}}
}

// shop returns a blueprint with something of every kind.
func shop() app.Blueprint {
	preferred := smtpChannel("mail")
	preferred.Preferred = true
	return app.Blueprint{Organizations: []app.BlueprintOrganization{{
		Slug: "acme", Name: "Acme Inc.", Groups: []string{"Staff"}, Channels: []app.BlueprintChannel{preferred},
		Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Web shop", Channels: []app.BlueprintChannel{smtpChannel("bulk")},
			Lists: []app.BlueprintList{{Name: "Customers"}, {Name: "Web users", Application: "web"}},
			Applications: []app.BlueprintApplication{{
				Slug: "web", Name: "Shop front", Active: true,
				Events: []app.BlueprintEvent{{
					Slug: "shipped", Name: "Shipped", Description: "A parcel left.", Active: true, Channels: []string{"mail", "bulk"},
					Templates: []app.BlueprintTemplate{{Channel: "mail", Subject: "On its way", Text: "Hello"}},
					Notifications: []app.BlueprintNotification{{
						Name: "Tell them", List: "Web users", Active: true,
						Templates: []app.BlueprintTemplate{{Channel: "bulk", Markdown: "# Hello"}},
					}},
				}},
			}},
		}},
	}}}
}

// appliedLines returns an answer of Apply as lines `kind path action`.
func appliedLines(done []app.Applied) []string {
	said := make([]string, len(done))
	for i, a := range done {
		said[i] = fmt.Sprintf("%s %s %s", a.Kind, a.Path, a.Action)
	}
	return said
}

// changed returns the lines that are not unchanged.
func changed(done []app.Applied) []string {
	var said []string
	for i, line := range appliedLines(done) {
		if done[i].Action != app.Unchanged {
			said = append(said, line)
		}
	}
	return said
}

func apply(t *testing.T, store ports.Store, b app.Blueprint) []app.Applied {
	t.Helper()
	done, err := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, b, false)
	require.NoError(t, err)
	return done
}

func TestApply(t *testing.T) {
	t.Parallel()
	everything := []string{
		"organization acme created",
		"group acme/Staff created",
		"channel acme/mail created",
		"project acme/shop created",
		"channel acme/shop/bulk created",
		"application acme/shop/web created",
		"list acme/shop/Customers created",
		"list acme/shop/Web users created",
		"event acme/shop/web/shipped created",
		"template acme/shop/web/shipped/mail created",
		"notification acme/shop/web/shipped/Tell them created",
		"template acme/shop/web/shipped/Tell them/bulk created",
	}
	t.Run("CreatesTheMissingThenChangesNothing", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		first := apply(t, store, shop())
		assert.Equal(t, everything, appliedLines(first))
		second := apply(t, store, shop())
		for i := range first {
			assert.Positive(t, first[i].ID)
			first[i].Action = app.Unchanged
		}
		assert.Equal(t, first, second, "the same objects with the same ids")
	})
	t.Run("TheAuditLogCallsThingsAsTheirUseCasesDo", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		apply(t, store, shop())
		apply(t, store, shop())
		found, err := app.NewAudit(store).Search(t.Context(), app.Path{Organization: "acme"}, audit.Query{Limit: 100})
		require.NoError(t, err)
		var said []string
		for _, e := range found.Entries {
			said = append([]string{string(e.Action) + " " + e.Object}, said...)
		}
		assert.Equal(t, []string{
			"organization.create acme", "group.create acme/groups/Staff", "channel.create acme/c/mail", "project.create acme/p/shop", "channel.create acme/p/shop/c/bulk",
			"application.create acme/p/shop/a/web", "list.create acme/p/shop/d/Customers", "list.create acme/p/shop/d/Web users", "event.create acme/p/shop/a/web/e/shipped",
			"template.create acme/p/shop/a/web/e/shipped/t/mail", "notification.create acme/p/shop/a/web/e/shipped/n/Tell them",
			"template.create acme/p/shop/a/web/e/shipped/n/Tell them/t/bulk",
		}, said)
	})
	t.Run("DryRunReportsTheSameAndWritesNothing", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		dry, err := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, shop(), true)
		require.NoError(t, err)
		assert.Equal(t, everything, appliedLines(dry))
		for _, a := range dry {
			assert.Zero(t, a.ID)
		}
		require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
			_, err := tx.Orgs().First(t.Context())
			require.ErrorIs(t, err, orgs.ErrNotFound)
			return nil
		}))
		applied := apply(t, store, shop())
		b := shop()
		b.Organizations[0].Projects[0].Lists = append(b.Organizations[0].Projects[0].Lists, app.BlueprintList{Name: "New"})
		dry, err = app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, b, true)
		require.NoError(t, err)
		assert.Equal(t, []string{"list acme/shop/New created"}, changed(dry))
		assert.Equal(t, applied[0].ID, dry[0].ID, "what exists keeps its id")
	})
	t.Run("OmittedStays", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		apply(t, store, shop())
		apply(t, store, app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Acme Inc."}}})
		assert.Empty(t, changed(apply(t, store, shop())))
	})
	t.Run("ReferencesToExistingObjects", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		apply(t, store, shop())
		b := shop()
		b.Organizations[0].Channels, b.Organizations[0].Projects[0].Channels, b.Organizations[0].Projects[0].Lists = nil, nil, nil
		assert.Empty(t, changed(apply(t, store, b)))
	})
	t.Run("AChannelsNameMeansTheProjectsFirst", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		apply(t, store, shop())
		b := shop()
		b.Organizations[0].Projects[0].Channels = append(b.Organizations[0].Projects[0].Channels, smtpChannel("MAIL"))
		assert.Equal(t, []string{
			"channel acme/shop/MAIL created",
			"event acme/shop/web/shipped updated", // it is limited to that one now
			"template acme/shop/web/shipped/MAIL created",
		}, changed(apply(t, store, b)))
	})
}

func TestApplyUpdatesWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(o *app.BlueprintOrganization)
		want   []string
	}{
		"TheOrganizationsName": {func(o *app.BlueprintOrganization) { o.Name = "Acme Ltd" }, []string{"organization acme updated"}},
		"ItsQuotas":            {func(o *app.BlueprintOrganization) { o.Quotas = quotas.Limits{quotas.Requests: 10} }, []string{"organization acme updated"}},
		"ASchema":              {func(o *app.BlueprintOrganization) { event(o).Schema = map[string]any{"minProperties": 1} }, []string{"event acme/shop/web/shipped updated"}},
		"APriority":            {func(o *app.BlueprintOrganization) { event(o).Priority = "bulk" }, []string{"event acme/shop/web/shipped updated"}},
		"TheSamePriority":      {func(o *app.BlueprintOrganization) { event(o).Priority = "normal" }, nil},
		"NoSchema":             {func(o *app.BlueprintOrganization) { event(o).Schema = map[string]any{} }, nil},
		"NoQuotasOfItsOwn":     {func(o *app.BlueprintOrganization) { o.Quotas = quotas.Limits{} }, nil},
		"ARegion":              {func(o *app.BlueprintOrganization) { o.Region = new("DE") }, []string{"organization acme updated"}},
		"NoRegion":             {func(o *app.BlueprintOrganization) { o.Region = new("") }, nil},
		"SearchableMetadata":   {func(o *app.BlueprintOrganization) { o.Searchable = &[]string{"plan"} }, []string{"organization acme updated"}},
		"NoSearchableMetadata": {func(o *app.BlueprintOrganization) { o.Searchable = &[]string{} }, nil},
		"ASecondFactor":        {func(o *app.BlueprintOrganization) { o.Factor = new(true) }, []string{"organization acme updated"}},
		"NoSecondFactor":       {func(o *app.BlueprintOrganization) { o.Factor = new(false) }, nil},
		"AProjectsName":        {func(o *app.BlueprintOrganization) { o.Projects[0].Name = "Shop" }, []string{"project acme/shop updated"}},
		"AGroup":               {func(o *app.BlueprintOrganization) { o.Groups = []string{"STAFF", "Crew"} }, []string{"group acme/Crew created"}},
		"AChannelsSettings":    {func(o *app.BlueprintOrganization) { o.Channels[0].Settings["port"] = 25 }, []string{"channel acme/mail updated"}},
		"AChannelsPreference":  {func(o *app.BlueprintOrganization) { o.Channels[0].Preferred = false }, []string{"channel acme/mail updated"}},
		"AChannelsState":       {func(o *app.BlueprintOrganization) { o.Channels[0].Active = false }, []string{"channel acme/mail updated"}},
		"AnApplicationsName":   {func(o *app.BlueprintOrganization) { o.Projects[0].Applications[0].Name = "Web" }, []string{"application acme/shop/web updated"}},
		"AnApplicationsState":  {func(o *app.BlueprintOrganization) { o.Projects[0].Applications[0].Active = false }, []string{"application acme/shop/web updated"}},
		"AListsPin":            {func(o *app.BlueprintOrganization) { o.Projects[0].Lists[0].Application = "web" }, []string{"list acme/shop/Customers updated"}},
		"RemovedPin":           {func(o *app.BlueprintOrganization) { o.Projects[0].Lists[1].Application = "" }, []string{"list acme/shop/Web users updated"}},
		"AnEvent": {func(o *app.BlueprintOrganization) { event(o).Description = "" },
			[]string{"event acme/shop/web/shipped updated"}},
		"AnEventsChannels": {func(o *app.BlueprintOrganization) { event(o).Channels = nil },
			[]string{"event acme/shop/web/shipped updated"}},
		"TheOrderOfAnEventsChannelsIsNothing": {func(o *app.BlueprintOrganization) { event(o).Channels = []string{"BULK", "mail"} }, nil},
		"AnEventsTemplate": {func(o *app.BlueprintOrganization) { event(o).Templates[0].Subject = "Shipped" },
			[]string{"template acme/shop/web/shipped/mail updated"}},
		"ANotificationsList": {func(o *app.BlueprintOrganization) { event(o).Notifications[0].List = "customers" },
			[]string{"notification acme/shop/web/shipped/Tell them updated"}},
		"ANotificationsState": {func(o *app.BlueprintOrganization) { event(o).Notifications[0].Active = false },
			[]string{"notification acme/shop/web/shipped/Tell them updated"}},
		"ANotificationsTemplate": {func(o *app.BlueprintOrganization) { event(o).Notifications[0].Templates[0].Markdown = "<b>Hi</b>" },
			[]string{"template acme/shop/web/shipped/Tell them/bulk updated"}},
		"ThePreferenceOnItsWayToALaterChannel": {func(o *app.BlueprintOrganization) {
			o.Channels = append(o.Channels, smtpChannel("other"))
			o.Channels[0].Preferred, o.Channels[1].Preferred = false, true
		}, []string{"channel acme/mail updated", "channel acme/other created"}},
		"ThePreferenceOnItsWayToAnEarlierChannel": {func(o *app.BlueprintOrganization) {
			o.Channels = append([]app.BlueprintChannel{smtpChannel("other")}, o.Channels...)
			o.Channels[0].Preferred, o.Channels[1].Preferred = true, false
		}, []string{"channel acme/other created", "channel acme/mail updated"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			was := apply(t, store, shop())
			b := shop()
			c.change(&b.Organizations[0])
			is := apply(t, store, b)
			assert.Equal(t, c.want, changed(is))
			for _, now := range is {
				for _, before := range was {
					if now.Kind == before.Kind && now.Path == before.Path {
						assert.Equal(t, before.ID, now.ID, "%s stays the same object", now.Path)
					}
				}
			}
			assert.Empty(t, changed(apply(t, store, b)), "applied again it changes nothing")
		})
	}
}

func event(o *app.BlueprintOrganization) *app.BlueprintEvent {
	return &o.Projects[0].Applications[0].Events[0]
}

// TestApplyRefuses checks that faults name their fields, and that nothing of a faulty blueprint is
// stored.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	const (
		project = "organizations[0].projects[0]"
		web     = project + ".applications[0]"
		shipped = web + ".events[0]"
	)
	for name, c := range map[string]struct {
		change func(o *app.BlueprintOrganization)
		want   []string
	}{
		"InvalidSlug":        {func(o *app.BlueprintOrganization) { o.Slug = "Acme!" }, []string{"organizations[0].slug: must consist of lower-case letters, digits, - and _"}},
		"TheReservedSlug":    {func(o *app.BlueprintOrganization) { o.Slug = orgs.SystemSlug }, []string{"organizations[0].slug: the slug system is reserved"}},
		"MissingNames":       {func(o *app.BlueprintOrganization) { o.Name, o.Projects[0].Name, event(o).Name = "", " ", "" }, []string{"organizations[0].name: is required", project + ".name: is required", shipped + ".name: is required"}},
		"AGroupWithoutAName": {func(o *app.BlueprintOrganization) { o.Groups = []string{"Staff", ""} }, []string{"organizations[0].groups[1]: is required"}},
		"InvalidQuota":       {func(o *app.BlueprintOrganization) { o.Quotas = quotas.Limits{"speed": 1} }, []string{"organizations[0].quotas.speed: there is no such quota"}},
		"InvalidLimit":       {func(o *app.BlueprintOrganization) { o.Quotas = quotas.Limits{quotas.Requests: -1} }, []string{"organizations[0].quotas.rate_limit: must be 0, which is no limit, or a number above it"}},
		"InvalidSchema":      {func(o *app.BlueprintOrganization) { event(o).Schema = map[string]any{"type": "text"} }, []string{shipped + ".context_schema: is not a JSON Schema: /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; /type: got string, want array"}},
		"InvalidPriority":    {func(o *app.BlueprintOrganization) { event(o).Priority = "soon" }, []string{shipped + ".priority: must be one of urgent, normal, bulk"}},
		"AGroupTwice":        {func(o *app.BlueprintOrganization) { o.Groups = []string{"Staff", "STAFF"} }, []string{"organizations[0].groups[1]: appears twice"}},
		"AProjectTwice": {func(o *app.BlueprintOrganization) {
			o.Projects = append(o.Projects, app.BlueprintProject{Slug: "shop", Name: "x"})
		}, []string{"organizations[0].projects[1].slug: appears twice"}},
		"AnUnknownProtocol": {func(o *app.BlueprintOrganization) { o.Channels[0].Protocol = "FAX" }, []string{"organizations[0].channels[0].protocol: must be one of EMAIL, SMS, WEBHOOK, SLACK, PLAINTEXT"}},
		"SettingsOfAChannel": {func(o *app.BlueprintOrganization) {
			o.Channels[0].Settings["concurrency"] = 0
		}, []string{"organizations[0].channels[0].settings.concurrency: must be a whole number from 1 to 256"}},
		"AChannelTwice":            {func(o *app.BlueprintOrganization) { o.Channels = append(o.Channels, smtpChannel("Mail")) }, []string{"organizations[0].channels[1].name: appears twice"}},
		"AListTwice":               {func(o *app.BlueprintOrganization) { o.Projects[0].Lists[1].Name = "CUSTOMERS" }, []string{project + ".lists[1].name: appears twice"}},
		"AnEventsChannelTwice":     {func(o *app.BlueprintOrganization) { event(o).Channels = []string{"mail", "Mail"} }, []string{shipped + ".channels[1]: appears twice"}},
		"ATemplateWithoutAChannel": {func(o *app.BlueprintOrganization) { event(o).Templates[0].Channel = "" }, []string{shipped + ".templates[0].channel: is required"}},
		"ATemplateTwice": {func(o *app.BlueprintOrganization) {
			event(o).Templates = append(event(o).Templates, event(o).Templates[0])
		}, []string{shipped + ".templates[1].channel: appears twice"}},
		"TooLongText": {func(o *app.BlueprintOrganization) {
			event(o).Notifications[0].Templates[0].Text = strings.Repeat("x", 256<<10+1)
		}, []string{shipped + ".notifications[0].templates[0].text: is too long"}},
		"ANotificationTwice": {func(o *app.BlueprintOrganization) {
			event(o).Notifications = append(event(o).Notifications, app.BlueprintNotification{Name: "TELL THEM"})
		}, []string{shipped + ".notifications[1].name: appears twice"}},
		"AnUnknownApplication":      {func(o *app.BlueprintOrganization) { o.Projects[0].Lists[1].Application = "app" }, []string{project + ".lists[1].application: the application does not exist"}},
		"AnUnknownChannelOfAnEvent": {func(o *app.BlueprintOrganization) { event(o).Channels[1] = "fax" }, []string{shipped + ".channels[1]: the channel does not exist"}},
		"AnUnknownChannel":          {func(o *app.BlueprintOrganization) { event(o).Notifications[0].Templates[0].Channel = "fax" }, []string{shipped + ".notifications[0].templates[0].channel: the channel does not exist"}},
		"InvalidVariable": {func(o *app.BlueprintOrganization) {
			event(o).Schema = map[string]any{"properties": map[string]any{"order": map[string]any{}}}
			event(o).Templates[0].Text = "{{ context.ordr }}"
			event(o).Notifications[0].Templates[0].Text = "{{ user.frist_name }}"
		}, []string{shipped + `.templates[0].text: line 1: there is no variable "context.ordr", did you mean "context.order"?`}},
		"VariableOfNoNotification": {func(o *app.BlueprintOrganization) {
			event(o).Notifications[0].Templates[0].Text = "{{ user.frist_name }}"
		},
			[]string{shipped + `.notifications[0].templates[0].text: line 1: there is no variable "user.frist_name", did you mean "user.first_name"?`}},
		"AnUnknownList": {func(o *app.BlueprintOrganization) { event(o).Notifications[0].List = "nobody" }, []string{shipped + ".notifications[0].list: the distribution list does not exist"}},
		"TwoPreferredForOneProtocol": {func(o *app.BlueprintOrganization) {
			o.Channels = append(o.Channels, smtpChannel("other"))
			o.Channels[1].Preferred = true
		}, nil},
		"AListOfAnotherApplication": {func(o *app.BlueprintOrganization) {
			o.Projects[0].Applications = append(o.Projects[0].Applications, app.BlueprintApplication{Slug: "app", Name: "App", Active: true})
			o.Projects[0].Lists[1].Application = "app"
		}, []string{shipped + ".notifications[0].list: the distribution list is pinned to another application"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			b := shop()
			c.change(&b.Organizations[0])
			done, err := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, b, false)
			require.Error(t, err)
			assert.Empty(t, done)
			assert.Equal(t, fault.Invalid, fault.KindOf(err))
			said := complaints(err)
			if c.want == nil {
				require.Len(t, said, 1)
				assert.Contains(t, said[0], "organizations[0].channels[1]")
				assert.Contains(t, said[0], "mail", "the other one is named")
			} else {
				assert.Equal(t, c.want, said)
			}
			require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Orgs().First(t.Context())
				require.ErrorIs(t, err, orgs.ErrNotFound, "something was kept")
				return nil
			}))
		})
	}
}

// complaints returns the fields of a fault, each with its messages.
func complaints(err error) []string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	var all []string
	for _, field := range f.Fields() {
		for _, m := range field.Messages {
			all = append(all, field.Name+": "+m)
		}
	}
	return all
}

func TestApplyRefusesToTakeFromOthers(t *testing.T) {
	t.Parallel()
	t.Run("AListFromANotificationThatUsesIt", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		b := shop()
		b.Organizations[0].Projects[0].Lists[1].Application = ""
		b.Organizations[0].Projects[0].Applications = append(b.Organizations[0].Projects[0].Applications, app.BlueprintApplication{Slug: "app", Name: "App"})
		apply(t, store, b)
		b.Organizations[0].Projects[0].Lists[1].Application = "app"
		event(&b.Organizations[0]).Notifications = nil
		_, err := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, b, false)
		require.Error(t, err)
		said := complaints(err)
		require.Len(t, said, 1)
		assert.Contains(t, said[0], "organizations[0].projects[0].lists[1].application: the list cannot be pinned to this application: it is used by ")
		assert.Contains(t, said[0], "Tell them")
	})
	t.Run("AChannelFromItsAddresses", func(t *testing.T) {
		t.Parallel()
		store := emptyInstallation(t)
		apply(t, store, shop())
		b := shop()
		b.Organizations[0].Channels[0].Protocol, b.Organizations[0].Channels[0].Driver = "SMS", "other"
		_, err := app.NewProvisioning(store, channels.Channel.CheckSettings, nil, nil).Apply(t.Context(), operators.Editor{}, b, false)
		assert.Equal(t, []string{"organizations[0].channels[0].protocol: cannot be changed: the channel carries EMAIL and addresses are assigned to it"}, complaints(err))
	})
}
