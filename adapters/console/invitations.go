package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// The rate limits of invitation mails: of an organization, and to one member.
const (
	mailBurst          = 30
	mailInterval       = time.Minute
	memberMailBurst    = 3
	memberMailInterval = 10 * time.Minute
)

// invitationView is a newly created invitation.
type invitationView struct {
	Link    string // to pass on; empty: it was mailed
	To      string // where it was mailed
	Failed  words.Phrase
	Expires time.Time
}

// invite creates an invitation. It mails the link, or shows it once. A mailed link opens no more
// than those of the organization, because the organization chooses its members' addresses.
func (c call) invite() error {
	id, by := c.member(), c.editor()
	mailed := c.FormValue("mail") == "true" && c.console.use.SystemMail.On()
	if mailed {
		by.Level = min(by.Level, operators.Administrator)
	}
	token, expires, err := c.console.use.Administration.Invite(c.ctx, by, c.at(), id, c.FormValue("reset") == "true")
	if err != nil {
		return err
	}
	made := invitationView{Link: c.publicURL() + operators.WelcomePath + token + "/", Expires: expires}
	if mailed {
		if err := c.mailInvitation(id, token, &made); err != nil {
			return err
		}
	}
	return c.accessPage(http.StatusOK, made)
}

// mailInvitation mails an invitation. If that fails, the page shows the link.
func (c call) mailInvitation(id users.MemberID, token string, made *invitationView) error {
	if c.console.invitationMails.Take(c.at().Organization) > 0 || c.console.memberMails.Take(id) > 0 {
		made.Failed = words.Of("too many invitations were mailed in the last minutes")
		return nil
	}
	at, err := c.console.use.Orgs.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	subject := words.Of("Invitation to %s", at.Name)
	text := strings.Join([]string{
		c.said(words.Of("%s invites you to %s.", c.operator.User.Username, at.Name)),
		c.said(words.Of("Open this link to set a password or add a passkey:")),
		made.Link,
		c.said(words.Of("The link works once, until %s. Whoever has it can sign in as you: do not pass it on.", formatTime(made.Expires))),
		c.said(words.Of("If you did not expect this message, ignore it.")),
	}, "\n\n") + "\n"
	done, to, err := c.console.use.SystemMail.Invite(c.ctx, c.editor(), c.at(), id, c.said(subject), text, token)
	if err != nil {
		return err
	}
	switch done {
	case app.Mailed:
		made.Link, made.To = "", to
	case app.NoAddress:
		made.Failed = words.Of("this organization has no e-mail address for this user")
	case app.AddressRefused:
		made.Failed = words.Of("the mail server does not accept mail for %s", to)
	case app.MessageRefused:
		made.Failed = words.Of("the driver refused the message to %s before anything was sent", to)
	case app.ChannelFailed:
		made.Failed = words.Of("the channel of this installation does not work")
	}
	return nil
}
