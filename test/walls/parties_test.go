package walls_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// party is an organization with its keys and users.
type party struct {
	slug     string
	other    string // the slug of the other one
	address  string // where its people come from
	password string // of all of its people
}

// The observing organization, and the one that it must not notice.
var (
	ours   = party{slug: "acme", other: "globex", address: "192.0.2.1", password: "correct horse battery"}
	theirs = party{slug: "globex", other: "acme", address: "198.51.100.7", password: "staple of the others"}
)

var hashes = sync.OnceValue(func() map[string]operators.Hash {
	all := map[string]operators.Hash{}
	for _, p := range []party{ours, theirs} {
		word, err := operators.NewPassword("password", p.password)
		if err != nil {
			panic(err)
		}
		all[p.slug] = word.Hash()
	}
	return all
})

// staff are the users with a role, with the same names in both organizations.
var staff = map[string]users.Role{"eva": users.RoleAdministrator, "oli": users.RoleOperator, "vic": users.RoleViewer}

// apiKeys returns the keys of an organization. Both have the same names.
func apiKeys(slug string) map[string]access.Key {
	return map[string]access.Key{
		"all":  {Scope: access.Scope{Organization: slug}, Grants: access.Grants()},
		"shop": {Scope: access.Scope{Organization: slug, Project: "shop"}, Grants: access.Grants()},
		"web":  {Scope: access.Scope{Organization: slug, Project: "shop", Application: "web"}, Grants: []access.Grant{access.FullAccess}},
		"look": {Scope: access.Scope{Organization: slug}, Grants: []access.Grant{access.UserRead, access.DistributionListRead, access.OrganizationRead}},
		"try":  {Scope: access.Scope{Organization: slug}, Grants: []access.Grant{access.EventTrigger, access.UserWrite}},
	}
}

// blueprint returns the blueprint of a party. It is the same for both.
func blueprint(p party) app.Blueprint {
	template := []app.BlueprintTemplate{{Channel: "mail", Subject: "Hello {{ user.username }}", Text: "{{ context.k }} of {{ organization.name }}"}}
	return app.Blueprint{Organizations: []app.BlueprintOrganization{{
		Slug: p.slug, Name: "Company", Groups: []string{"Staff"},
		Channels: []app.BlueprintChannel{
			{Name: "mail", Protocol: "EMAIL", Driver: "mailbox", Preferred: true, Active: true},
			{Name: "text", Protocol: "SMS", Driver: "broken", Preferred: true, Active: true},
			{Name: "chat", Protocol: "PLAINTEXT", Driver: "mailbox", Preferred: true, Active: true},
		},
		Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Shop", Channels: []app.BlueprintChannel{{Name: "post", Protocol: "EMAIL", Driver: "mailbox", Active: true}},
			Lists: []app.BlueprintList{{Name: "all"}, {Name: "pinned", Application: "web"}},
			Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{
				Slug: "tick", Name: "Tick", Active: true, Templates: template,
				Notifications: []app.BlueprintNotification{{Name: "Ticks", List: "all", Active: true}, {Name: "Extras", Active: true}},
			}}}, {Slug: "spare", Name: "Spare", Active: true}},
		}},
	}}}
}

// found creates an organization with registered users who have received messages.
func found(ctx context.Context, at place, p party) (err error) {
	i, err := open(ctx, at, morning)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.store.Close()) }()
	if _, err := i.use.CLI.Provisioning.Apply(ctx, operators.Editor{}, blueprint(p), false); err != nil {
		return err
	}
	if err := i.store.Update(ctx, func(tx ports.Tx) error { return furnish(ctx, tx, i, p) }); err != nil {
		return err
	}
	c := &client{party: p, at: i, names: newNames(i.tables)}
	key := keyText(p, "all")
	const web = "/p/shop/a/web/"
	people := []string{"ada", "Ben", "bob@globex.example"}
	if p == theirs {
		people = usernames // And all whom the others may come to know.
	}
	for k, name := range people {
		body := fmt.Sprintf(`{"username": %q, "email": %q, "first_name": "First", "last_name": "Last of %s", "custom_fields": {"of": %q}, "distribution_list": "all",
			"addresses": [{"value": %q, "assign_to_preferred_channel": true}, {"value": "+1415555267%d", "assign_to_preferred_channel": true}]}`, name, mailOf(name), p.slug, p.slug, mailOf(name), k%10)
		if a := c.call(ctx, key, http.MethodPost, "/api/o/"+p.slug+web+"register/", body); a.status >= http.StatusMultipleChoices {
			return fmt.Errorf("%s was not registered: %s", name, a.text)
		}
	}
	i.clock.Advance(time.Second)
	if a := c.call(ctx, key, http.MethodPost, "/api/o/"+p.slug+web+"e/tick/trigger/", `{"context": {"k": "first"}}`); a.status != http.StatusCreated {
		return fmt.Errorf("nothing was triggered: %s", a.text)
	}
	file := strings.NewReader("email,first_name\nada@example.org,Ada\n")
	if _, err := i.use.Console.ImportJobs.Upload(ctx, audit.Actor{Name: "eva", Via: audit.Console}, app.Path{Organization: p.slug}, importer.Upload{Name: "people.csv", File: file}); err != nil {
		return err
	}
	return i.work(ctx)
}

// furnish creates what the API cannot create: roles, accounts and keys.
func furnish(ctx context.Context, tx ports.Tx, i *installation, p party) error {
	o, err := tx.Orgs().BySlug(ctx, p.slug)
	if err != nil {
		return err
	}
	for _, name := range []string{"eva", "oli", "vic"} {
		us, _, err := tx.Users().Ensure(ctx, []users.User{{Username: name}})
		if err != nil {
			return err
		}
		ms, _, err := tx.Users().EnsureMembers(ctx, o.ID, []users.Member{{User: us[0], Details: users.Details{Email: mailOf(name), FirstName: "Of", LastName: p.slug}}})
		if err != nil {
			return err
		}
		ms[0].Role = staff[name]
		a := operators.Account{User: us[0], Hash: hashes()[p.slug], Changed: i.clock.Now()}
		id, err := tx.Operators().Save(ctx, a)
		if err != nil {
			return err
		}
		if err := errors.Join(tx.Users().SetRole(ctx, ms[0]), tx.Operators().Accept(ctx, ms[0].ID, id, i.clock.Now())); err != nil {
			return err
		}
	}
	for _, name := range []string{"all", "shop", "web", "look", "try"} {
		like := apiKeys(p.slug)[name]
		words := make([]string, len(like.Grants))
		for k, g := range like.Grants {
			words[k] = string(g)
		}
		key, err := access.NewKey(name, like.Scope, words, i.clock.Now(), 0)
		if err != nil {
			return err
		}
		if key.Digest, err = access.ParseToken(keyText(p, name)); err != nil {
			return err
		}
		if _, err := tx.Keys().Create(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// broken is a driver whose provider refuses everything for good.
type broken struct{}

var (
	_         deliveries.Driver     = broken{}
	_         deliveries.Dispatcher = broken{}
	errBroken                       = errors.New("the provider refuses")
)

func (broken) Name() string                                           { return "broken" }
func (broken) Check(channels.Channel) error                           { return nil }
func (broken) Protocols() []channels.Protocol                         { return channels.Protocols() }
func (broken) Settings() []channels.Setting                           { return nil }
func (b broken) Open(channels.Channel) (deliveries.Dispatcher, error) { return b, nil }
func (broken) Dispatch(context.Context, deliveries.Message) error     { return errBroken }
func (broken) Close() error                                           { return nil }
