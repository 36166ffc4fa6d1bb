package events

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

// MaxVersions is how many versions of a template are kept, the current one included.
const MaxVersions = 50

// MaxTemplates is the maximum size of all templates of an event, or of a notification, in bytes:
// they are read together.
const MaxTemplates = 8 << 20

// Errors of templates.
var (
	ErrTemplateNotFound  = fault.New(fault.NotFound, "the template does not exist")
	ErrVersionNotFound   = fault.New(fault.NotFound, "this version of the template does not exist, or is no longer kept")
	ErrTemplatesTooLarge = fault.New(fault.Invalid, "the templates of an event, or of a notification, may have 8 MiB together")
	ErrOutdated          = fault.New(fault.Invalid, "the template was saved by somebody else in the meantime")
)

// Template is the text of a message on one channel. It belongs to an event or to one of its
// notifications.
type Template struct {
	ID      TemplateID
	Version int // counts the saves; 0: not stored yet
	Channel channels.ID
	Subject string
	Text    string
	HTML    string // empty where there is Markdown

	Markdown string // that the HTML is made from
}

// Source is what the template says.
func (t Template) Source() templates.Source {
	return templates.Source{Subject: t.Subject, Text: t.Text, HTML: t.HTML, Markdown: t.Markdown}
}

// NewTemplate checks an operator's input for a template; a part that cannot be read is refused
// with line and reason. Whether the partials exist is not known here.
func NewTemplate(channel channels.ID, says templates.Source) (Template, error) {
	var faults fault.Fields
	faults.Add("subject", checkText(says.Subject, MaxSubject))
	faults.Add("text", checkText(says.Text, MaxBody))
	faults.Add("html", checkText(says.HTML, MaxBody))
	faults.Add("markdown", checkText(says.Markdown, len(says.Markdown)))
	if len(says.Markdown) > templates.MaxMarkdown { // It is rendered up to so many bytes.
		faults.Addf("markdown", "is longer than %d KiB", templates.MaxMarkdown>>10)
	}
	if strings.TrimSpace(says.Subject+says.Text+says.HTML+says.Markdown) == "" {
		faults.Addf("text", "a template needs a subject, a text, HTML or Markdown")
	}
	if len(faults) == 0 {
		_, err := templates.Uses(says)
		faults.Add("", err)
	}
	return Template{Channel: channel, Subject: says.Subject, Text: says.Text, HTML: says.HTML, Markdown: says.Markdown}, faults.Err()
}

// CheckChannel refuses Markdown for a channel whose messages have no HTML.
func (t Template) CheckChannel(p channels.Protocol) error {
	if t.Markdown != "" && !p.HasHTML() {
		return fault.Field("markdown", "is for channels whose messages have HTML; those of %s have none", p)
	}
	return nil
}

// SameContent reports whether both have the same texts.
func (t Template) SameContent(other Template) bool { return t.Source() == other.Source() }

// Version is a template as it was saved.
type Version struct {
	Template

	By    string // empty: saved before versions were kept
	Saved time.Time
}

func checkText(s string, limit int) error {
	switch {
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "is not valid UTF-8")
	case utf8.RuneCountInString(s) > limit:
		return fault.New(fault.Invalid, "is too long")
	}
	for _, r := range s {
		if r == 0 {
			return fault.New(fault.Invalid, "contains a NUL character")
		}
	}
	return nil
}
