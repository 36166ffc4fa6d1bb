package console

import (
	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
)

// step is one step towards an organization's first message.
type step struct {
	Text, About words.Phrase
	Path        string // of its page; empty: the operator may not open it
	Done        bool
}

// steps returns the steps towards the first message in the recommended order. The last one is never
// done, because the list is hidden once a message was sent.
func (c call) steps(b app.Onboarding) []step {
	org := b.Within.Organization
	channel := step{Text: words.Of("Add a channel"), About: words.Of("The provider that messages go through: SMTP, SMS, a webhook, or a mailbox to try it out."),
		Path: c.link("o", org, "channels", "new")}
	test := step{Text: words.Of("Send yourself a test"), About: words.Of("One message through the channel, to your own address."), Path: channel.Path, Done: b.Tested}
	if b.Channel.ID != 0 {
		of := []any{"o", org}
		if b.Of.Project != "" {
			of = append(of, "p", b.Of.Project)
		}
		channel.Done, channel.Path = true, c.link(append(of, "channels")...)
		test.Path = c.link(append(of, "channels", b.Channel.ID)...) + "#test"
	}
	people := step{Text: words.Of("Import people"), About: words.Of("A CSV file with one person per line. Add single people under People."), Path: c.link("o", org, "imports"), Done: b.People}
	event := step{Text: words.Of("Create an event"), About: words.Of("What people are notified about, with a template for each channel and a list of recipients."), Done: b.Event.ID != 0}
	switch {
	case b.Within.Project == "":
		event.Path, event.About = c.link("o", org, "projects"), words.Of("It belongs to an application of a project: create a project first.")
	case b.Within.Application == "":
		event.Path, event.About = c.link("o", org, "p", b.Within.Project, "a"), words.Of("It belongs to an application: create one first.")
	default:
		event.Path = c.link("o", org, "p", b.Within.Project, "a", b.Within.Application, "e")
	}
	send := step{Text: words.Of("Send the first message"), About: words.Of("Trigger the event by hand. You see who gets what before anything is sent."), Path: event.Path}
	if event.Done {
		send.Path = c.link("o", org, "p", b.Within.Project, "a", b.Within.Application, "e", b.Event.Slug, liveTab)
	}
	all := []step{channel, test, people, event, send}
	for i := range all {
		needs := operators.Administrator
		if i == 2 {
			needs = operators.Operator
		}
		if !c.operator.May(org, needs) {
			all[i].Path = ""
		}
	}
	return all
}
