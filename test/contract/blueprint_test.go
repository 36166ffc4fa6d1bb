package contract_test

import (
	"strings"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

// blueprint is what every world starts with: acme and globex are alike to the letter, so that
// whatever crosses the border between them is noticed; bare has no channels.
//
//	ORG/mail*, post, text*, hook*, chat*, log*     channels of the organization; * is preferred
//	ORG/shop/shop-mail*                            the project's own, before the organization's
//	ORG/shop/web, office                           applications with events and notifications
//	ORG/shop/customers, web-users, office-users    lists, the last two pinned
//	ORG/blog/quiet*                                a preferred channel that is not active
//	ORG/blog/web, customers                        the same names in another project
func blueprint() app.Blueprint {
	return app.Blueprint{Organizations: []app.BlueprintOrganization{
		organization("acme"),
		organization("globex"),
		{Slug: "bare", Name: "Bare", Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Shop",
			Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true}},
			Lists:        []app.BlueprintList{{Name: "customers"}},
		}}},
	}}
}

func organization(slug string) app.BlueprintOrganization {
	return app.BlueprintOrganization{
		Slug: slug, Name: strings.ToUpper(slug), Groups: []string{"Staff"},
		Channels: []app.BlueprintChannel{
			mail("mail", true),
			mail("post", false),
			channel("text", channels.SMS),
			channel("hook", channels.WEBHOOK),
			channel("chat", channels.SLACK),
			channel("log", channels.PLAINTEXT),
		},
		Projects: []app.BlueprintProject{shop(), blog()},
	}
}

func shop() app.BlueprintProject {
	return app.BlueprintProject{
		Slug: "shop", Name: "Shop",
		Channels: []app.BlueprintChannel{mail("shop-mail", true)},
		Lists: []app.BlueprintList{
			{Name: "customers"}, {Name: "web-users", Application: "web"}, {Name: "office-users", Application: "office"},
		},
		Applications: []app.BlueprintApplication{
			{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{
				{
					Slug: "shipped", Name: "Shipped", Description: "A parcel has left.", Active: true, Channels: []string{"shop-mail", "mail"},
					Notifications: []app.BlueprintNotification{
						{Name: "Customer", List: "web-users", Active: true}, {Name: "Copy"},
					},
				},
				{Slug: "news", Name: "News", Notifications: []app.BlueprintNotification{{Name: "All", List: "customers", Active: true}}},
			}},
			{Slug: "office", Name: "Office", Active: true, Events: []app.BlueprintEvent{
				{Slug: "low", Name: "Low", Active: true, Notifications: []app.BlueprintNotification{{Name: "Clerk", Active: true}}},
			}},
		},
	}
}

func blog() app.BlueprintProject {
	quiet := mail("quiet", true)
	quiet.Active = false
	return app.BlueprintProject{
		Slug: "blog", Name: "Blog",
		Channels:     []app.BlueprintChannel{quiet},
		Lists:        []app.BlueprintList{{Name: "customers"}},
		Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true}},
	}
}

func mail(name string, preferred bool) app.BlueprintChannel {
	return app.BlueprintChannel{
		Name: name, Protocol: string(channels.EMAIL), Driver: "smtp", Preferred: preferred, Active: true,
		Settings: channels.Settings{"host": "mail.invalid", "port": 25, "from": "tocsin@example.org", "password": mailPassword},
	}
}

// mailPassword is a setting that no answer may show.
const mailPassword = "xyzzy-plugh"

func channel(name string, p channels.Protocol) app.BlueprintChannel {
	return app.BlueprintChannel{Name: name, Protocol: string(p), Driver: "gateway", Preferred: true, Active: true}
}

// blogNotification gives acme/blog/web an event with a notification.
func blogNotification() app.Blueprint {
	return app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Projects: []app.BlueprintProject{{
		Slug: "blog", Name: "Blog", Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{
			Slug: "posted", Name: "Posted", Active: true, Notifications: []app.BlueprintNotification{{Name: "Post", Active: true}},
		}}}},
	}}}}}
}
