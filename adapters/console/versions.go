package console

import (
	"errors"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/events"
)

// versionsView is the versions of a template or a partial.
type versionsView struct {
	Tabs     []tab  // of the event; a partial has none
	Editor   string // the path of the template or the partial
	Current  int    // the current version
	Versions []savedVersion
}

// savedVersion is a version without its texts.
type savedVersion struct {
	Version int
	By      string
	Saved   time.Time
}

func (c call) showVersions() error {
	of := c.templateName()
	r, found, err := c.console.use.Templates.Versions(c.ctx, c.at(), of)
	if err != nil {
		return err
	}
	v := versionsView{Editor: c.templatePath(of), Current: r.Template.Version}
	for _, old := range found {
		v.Versions = append(v.Versions, savedVersion{old.Version, old.By, old.Saved})
	}
	v.Tabs, _ = c.templateTabs(r, of)
	return c.render(http.StatusOK, "versions", words.Of("%s: versions", r.Channel.Name), v)
}

// versionView is an earlier version compared with the current one.
type versionView struct {
	savedVersion

	Tabs   []tab      // of the event; a partial has none
	Editor string     // the path of the template or the partial
	Base   int        // the current version
	Parts  []partView // the diff from this version to the current one
	Texts  []versionText
}

// versionText is the full text of one part of a version.
type versionText struct {
	Name words.Phrase
	Text string
}

// Current reports whether the version is the current one.
func (v versionView) Current() bool { return v.Version == v.Base }

func (c call) showVersion() error {
	of, number := c.templateName(), c.version()
	r, old, err := c.console.use.Templates.Version(c.ctx, c.at(), of, number)
	if err != nil {
		return err
	}
	v := versionView{savedVersion: savedVersion{old.Version, old.By, old.Saved}, Editor: c.templatePath(of), Base: r.Template.Version, Parts: differences(old.Template, r.Template),
		Texts: []versionText{{words.Of("Subject"), old.Subject}, {words.Of("Text"), old.Text}, {words.Of("HTML"), old.HTML}, {words.Of("Markdown"), old.Markdown}}}
	v.Tabs, _ = c.templateTabs(r, of)
	return c.render(http.StatusOK, "version", words.Of("%s: version %s", r.Channel.Name, formatID(int64(number))), v)
}

func (c call) restoreVersion() error {
	of, number := c.templateName(), c.version()
	done := "saved"
	err := c.console.use.Templates.Restore(c.ctx, c.actor(), c.at(), of, number, c.base())
	if errors.Is(err, events.ErrOutdated) {
		done, err = "outdated", nil
	}
	if err != nil {
		return err
	}
	return c.done(c.templatePath(of), done)
}

// version returns the version number in the path.
func (c call) version() int { return int(web.ID[int64](c, "version")) }
