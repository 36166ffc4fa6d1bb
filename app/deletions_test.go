package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// deletable returns a blueprint with unused objects whose names look like paths.
func deletable() app.Blueprint {
	return app.Blueprint{Organizations: []app.BlueprintOrganization{{
		Slug: "acme", Name: "Acme", Channels: []app.BlueprintChannel{smtpChannel("mail"), smtpChannel("post/mail"), smtpChannel("only")},
		Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Shop", Channels: []app.BlueprintChannel{smtpChannel("mail"), smtpChannel("a/b")},
			Lists: []app.BlueprintList{{Name: "News"}, {Name: "North / South"}},
			Applications: []app.BlueprintApplication{
				{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{Slug: "shipped", Name: "Shipped", Active: true}}},
				{Slug: "app", Name: "App", Active: true},
			},
		}},
	}}}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind app.Deletable
		path string
		gone string
	}{
		"List":                          {app.DeletableList, "acme/shop/News", "list acme/shop/News created"},
		"ListWithoutRegardToCase":       {app.DeletableList, "acme/shop/NEWS", "list acme/shop/News created"},
		"ListWithASlashInItsName":       {app.DeletableList, "acme/shop/North / South", "list acme/shop/North / South created"},
		"ChannelOfTheOrganization":      {app.DeletableChannel, "acme/mail", "channel acme/mail created"},
		"ChannelOfTheProject":           {app.DeletableChannel, "acme/shop/mail", "channel acme/shop/mail created"},
		"ChannelOfTheProjectWithASlash": {app.DeletableChannel, "acme/shop/a/b", "channel acme/shop/a/b created"},
		"ChannelWithASlashInItsName":    {app.DeletableChannel, "acme/post/mail", "channel acme/post/mail created"},
		"Application":                   {app.DeletableApplication, "acme/shop/app", "application acme/shop/app created"},
		"Event":                         {app.DeletableEvent, "acme/shop/web/shipped", "event acme/shop/web/shipped created"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			apply(t, store, deletable())
			deletions := app.NewDeletions(store)
			require.NoError(t, deletions.Delete(t.Context(), audit.Actor{}, c.kind, c.path))
			err := deletions.Delete(t.Context(), audit.Actor{}, c.kind, c.path)
			assert.Equal(t, fault.NotFound, fault.KindOf(err), "it is gone")
			assert.Equal(t, []string{c.gone}, changed(apply(t, store, deletable())), "and nothing else is")
		})
	}
}

func TestDeleteRefusesWhatIsInUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  app.Deletable
		path  string
		want  error
		names string
	}{
		"AListThatANotificationUses":          {app.DeletableList, "acme/shop/Web users", lists.ErrInUse, "Tell them"},
		"AChannelThatAnEventUses":             {app.DeletableChannel, "acme/mail", channels.ErrInUse, "shipped"},
		"AChannelThatATemplateUses":           {app.DeletableChannel, "acme/shop/bulk", channels.ErrInUse, "shipped"},
		"AnApplicationThatHasEventsAndAPin":   {app.DeletableApplication, "acme/shop/web", applications.ErrInUse, "Web users"},
		"AnEventThatHasNotificationsOfItsOwn": {app.DeletableEvent, "acme/shop/web/shipped", events.ErrInUse, "Tell them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := emptyInstallation(t)
			apply(t, store, shop())
			err := app.NewDeletions(store).Delete(t.Context(), audit.Actor{}, c.kind, c.path)
			require.ErrorIs(t, err, c.want)
			assert.Contains(t, err.Error(), c.names, "the users are named")
			assert.Empty(t, changed(apply(t, store, shop())), "nothing was deleted")
		})
	}
}

func TestDeleteRefusesPaths(t *testing.T) {
	t.Parallel()
	store := emptyInstallation(t)
	apply(t, store, deletable())
	for name, c := range map[string]struct {
		kind app.Deletable
		path string
		want error
		says string
	}{
		"Empty":                       {app.DeletableList, "", nil, "path: must be ORGANIZATION/PROJECT/LIST"},
		"TooShort":                    {app.DeletableApplication, "acme/shop", nil, "path: must be ORGANIZATION/PROJECT/APPLICATION"},
		"EndsWithASlash":              {app.DeletableEvent, "acme/shop/web/", nil, "path: must be ORGANIZATION/PROJECT/APPLICATION/EVENT"},
		"AnOrganizationIsNoChannel":   {app.DeletableChannel, "acme", nil, "path: must be ORGANIZATION/CHANNEL or ORGANIZATION/PROJECT/CHANNEL"},
		"AnotherKind":                 {"project", "acme/shop", nil, "kind: cannot be deleted"},
		"UnknownOrganization":         {app.DeletableList, "beta/shop/News", orgs.ErrNotFound, ""},
		"TheReservedOrganization":     {app.DeletableChannel, orgs.SystemSlug + "/mail", orgs.ErrNotFound, ""},
		"UnknownProject":              {app.DeletableList, "acme/store/News", orgs.ErrProjectNotFound, ""},
		"UnknownList":                 {app.DeletableList, "acme/shop/Olds", lists.ErrNotFound, ""},
		"UnknownChannel":              {app.DeletableChannel, "acme/fax", channels.ErrNotFound, ""},
		"TheOrganizationsIsNotTheirs": {app.DeletableChannel, "acme/shop/only", channels.ErrNotFound, "the channel does not exist in this project; the organization has one of this name"},
		"TheProjectsIsNotTheOthers":   {app.DeletableChannel, "acme/a/b", channels.ErrNotFound, ""},
		"UnknownApplication":          {app.DeletableApplication, "acme/shop/tv", applications.ErrNotFound, ""},
		"UnknownApplicationOfAnEvent": {app.DeletableEvent, "acme/shop/tv/shipped", applications.ErrNotFound, ""},
		"UnknownEvent":                {app.DeletableEvent, "acme/shop/web/lost", events.ErrNotFound, ""},
		"EventWithTextAfterItsSlug":   {app.DeletableEvent, "acme/shop/web/shipped/x", events.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := app.NewDeletions(store).Delete(t.Context(), audit.Actor{}, c.kind, c.path)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			} else {
				assert.EqualError(t, c.kind.CheckPath(c.path), c.says)
			}
			if c.says != "" {
				assert.EqualError(t, err, c.says)
			}
			require.NoError(t, store.View(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Orgs().BySlug(t.Context(), "acme")
				return err
			}))
		})
	}
}
