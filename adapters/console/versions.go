package console

import (
	"errors"
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
)

// versionsView is the versions of a template.
type versionsView struct {
	app.TemplateReport

	Tabs     []tab  // of the event
	Editor   string // the path of the template
	Versions []events.Version
}

func (c call) showVersions() error {
	of, err := c.templateName()
	if err != nil {
		return err
	}
	v := versionsView{Editor: c.templatePath(of)}
	if v.TemplateReport, v.Versions, err = c.console.use.Templates.Versions(c.ctx, c.at(), of); err != nil {
		return err
	}
	v.Tabs, _ = c.templateTabs(v.TemplateReport, of)
	return c.render(http.StatusOK, "versions", words.Of("%s: versions", v.Channel.Name), v)
}

// versionView is an earlier version against the current one.
type versionView struct {
	app.TemplateReport

	Tabs    []tab  // of the event
	Editor  string // the path of the template
	Version events.Version
	Parts   []partView // from this version to the current one
}

// Current reports whether the version is the one that counts.
func (v versionView) Current() bool { return v.Version.Version == v.Template.Version }

func (c call) showVersion() error {
	of, number, err := c.versionName()
	if err != nil {
		return err
	}
	v := versionView{Editor: c.templatePath(of)}
	if v.TemplateReport, v.Version, err = c.console.use.Templates.Version(c.ctx, c.at(), of, number); err != nil {
		return err
	}
	v.Tabs, _ = c.templateTabs(v.TemplateReport, of)
	v.Parts = differences(v.Version.Template, v.Template)
	return c.render(http.StatusOK, "version", words.Of("%s: version %s", v.Channel.Name, text(int64(number))), v)
}

func (c call) restoreVersion() error {
	of, number, err := c.versionName()
	if err != nil {
		return err
	}
	done := "saved"
	err = c.console.use.Templates.Restore(c.ctx, c.actor(), c.at(), of, number, c.base())
	if errors.Is(err, events.ErrOutdated) {
		done, err = "outdated", nil
	}
	if err != nil {
		return err
	}
	return c.done(c.templatePath(of), done)
}

func (c call) versionName() (of app.TemplateName, number int, err error) {
	if of, err = c.templateName(); err != nil {
		return of, 0, err
	}
	n, err := web.ID[int64](c, "version")
	return of, int(n), err
}
