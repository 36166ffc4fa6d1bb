package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
)

const pageAudit = 50

// auditFilters are the names of the fields in the search form.
var auditFilters = []string{"q", "actor", "via", "action", "object", "from", "to"}

// auditView is one page of the audit log.
type auditView struct {
	Form    form
	Fields  []string // of the form
	Vias    []option
	Entries []auditEntry
	Next    string // the path of the next batch; empty: no more
	First   bool   // the first batch
	// Filtered says that a filter besides the search text is set.
	Filtered bool
	Path     string // of the page
	Export   string // the path of the download
}

// auditEntry is an entry of the log with the path of its object's page.
type auditEntry struct {
	audit.Entry

	Text    any    // what was done
	Path    string // of the object's page; empty: there is none
	Changes []difference
	Version int    // of the template or partial that it made; 0: none
	Here    string // the path of the entry's own page
}

// auditEntry returns an entry for display.
func (c call) auditEntry(e audit.Entry) auditEntry {
	return auditEntry{Entry: e, Text: actionText(e), Path: c.objectPath(e), Changes: differencesOf(e), Version: app.VersionOf(e), Here: c.below("audit", e.ID)}
}

// auditEntryView is one entry with the texts that it changed.
type auditEntryView struct {
	auditEntry

	Log    string // the path of the audit log
	Kept   bool   // the versions before and after are kept
	Editor string // the path of the template or the partial
	Parts  []partView
}

// showAuditEntry shows one entry of an organization's log.
func (c call) showAuditEntry() error {
	id := web.ID[audit.ID](c, "entry")
	r, err := c.console.use.Audit.Entry(c.ctx, c.at(), id)
	if err != nil {
		return err
	}
	v := auditEntryView{auditEntry: c.auditEntry(r.Entry), Log: c.below("audit"), Kept: r.Texts.Kept}
	if v.Kept {
		v.Editor = c.textsPath(r.Texts)
		for _, part := range bodyDifferences(r.Texts.Before, r.Texts.After) {
			if !part.Same {
				v.Parts = append(v.Parts, part)
			}
		}
		v.Path = v.Editor
	}
	return c.render(http.StatusOK, "audit-entry", words.Of("Audit log: entry %s", formatID(id)), v)
}

// textsPath returns the path of the template or the partial that texts belong to.
func (c call) textsPath(t app.AuditedTexts) string {
	if t.Partial != "" {
		return c.partialPath(t.Partial)
	}
	return c.templatePathAt(t.At, t.Template)
}

// showAudit shows the log of the path's organization, or of the installation if the path names
// none.
func (c call) showAudit() error {
	values := c.query()
	q, faults := auditQuery(values)
	q.Limit, q.After = pageAudit, audit.ParseCursor(values.Get("after"))
	v := auditView{Form: form{values: values, faults: faults}, Fields: auditFilters, First: q.After.IsZero(), Path: c.below("audit"), Export: c.below("audit", "export"),
		Vias: append([]option{{Text: words.Of("Any")}}, options(audit.Console, audit.CommandLine, audit.API, audit.Link)...)}
	v.Filtered = v.Form.HasFaults() || slices.ContainsFunc(auditFilters[1:], func(name string) bool { return values.Get(name) != "" })
	if v.Form.HasFaults() {
		return c.render(statusOf(v.Form), "audit", words.Of("Audit log"), v)
	}
	found, err := c.console.use.Audit.Search(c.ctx, c.at(), q)
	if err != nil {
		return err
	}
	for _, e := range found.Entries {
		v.Entries = append(v.Entries, c.auditEntry(e))
	}
	if found.More {
		next := url.Values{"after": {found.Next.String()}}
		for _, name := range auditFilters {
			if text := values.Get(name); text != "" {
				next.Set(name, text)
			}
		}
		v.Next = c.below("audit") + "?" + next.Encode()
	}
	return c.render(http.StatusOK, "audit", words.Of("Audit log"), v)
}

// auditQuery parses the search form; its days are in UTC.
func auditQuery(values url.Values) (audit.Query, fault.Fields) {
	var faults fault.Fields
	q := audit.Query{Text: values.Get("q"), Actor: values.Get("actor"), Via: audit.Via(values.Get("via")), Action: audit.Action(values.Get("action")), Object: values.Get("object")}
	day := func(name string) time.Time {
		text := values.Get(name)
		if text == "" {
			return time.Time{}
		}
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			faults.Addf(name, "must be a day such as 2026-03-31")
		}
		return t
	}
	q.From = day("from")
	if to := day("to"); !to.IsZero() {
		q.Until = to.AddDate(0, 0, 1)
	}
	return q, faults
}

// auditColumns is the header row of an export as CSV.
var auditColumns = []string{"id", "at", "actor", "key", "via", "address", "action", "object", "before", "after"}

// auditLine is an entry as an exported line of JSON.
type auditLine struct {
	ID      audit.ID     `json:"id"`
	At      time.Time    `json:"at"`
	Actor   string       `json:"actor"`
	Key     int64        `json:"key,omitempty"`
	Via     audit.Via    `json:"via"`
	Address string       `json:"address"`
	Action  audit.Action `json:"action"`
	Object  string       `json:"object"`
	Before  audit.State  `json:"before"`
	After   audit.State  `json:"after"`
}

// exportAudit sends all entries that pass a filter as a file.
func (c call) exportAudit() error {
	q, faults := auditQuery(c.fields())
	if err := faults.Err(); err != nil {
		return err
	}
	name := "audit"
	if org := web.Param(c, "org"); org != "" {
		name += "-" + org
	}
	var file *download
	var write func([]audit.Entry) error
	switch c.FormValue("as") {
	case "csv":
		file = c.download(name+".csv", "text/csv; charset=utf-8")
		write = csvExport(newCSVWriter(file))
	case "jsonl":
		file = c.download(name+".jsonl", "application/jsonl")
		write = jsonExport(json.NewEncoder(file))
	default:
		return errForm
	}
	// Each batch is bounded; the total time depends on the length of the log.
	if err := c.console.use.Audit.Export(c.Request().Context(), c.actor(), c.at(), q, write); err != nil {
		return err
	}
	return file.finish()
}

// csvExport returns a function that writes entries as rows of CSV, after a header row.
func csvExport(out csvWriter) func([]audit.Entry) error {
	started := false
	return func(es []audit.Entry) error {
		if !started {
			started = true
			if err := out.row(auditColumns...); err != nil {
				return err
			}
		}
		for _, e := range es {
			before, errBefore := stateText(e.Before)
			after, errAfter := stateText(e.After)
			if err := errors.Join(errBefore, errAfter); err != nil {
				return err
			}
			key := ""
			if e.Actor.Key != 0 {
				key = formatID(e.Actor.Key)
			}
			if err := out.row(formatID(e.ID), e.At.Format(time.RFC3339Nano), e.Actor.Name, key, string(e.Actor.Via), e.Actor.Address,
				string(e.Action), e.Object, before, after); err != nil {
				return err
			}
		}
		return out.flush()
	}
}

// stateText returns a state for a cell; empty if there is none.
func stateText(s audit.State) (string, error) {
	if len(s) == 0 {
		return "", nil
	}
	return s.Text()
}

// jsonExport returns a function that writes each entry as a line of JSON.
func jsonExport(out *json.Encoder) func([]audit.Entry) error {
	return func(es []audit.Entry) error {
		for _, e := range es {
			if err := out.Encode(auditLine{ID: e.ID, At: e.At, Actor: e.Actor.Name, Key: int64(e.Actor.Key), Via: e.Actor.Via, Address: e.Actor.Address,
				Action: e.Action, Object: e.Object, Before: e.Before, After: e.After}); err != nil {
				return err
			}
		}
		return nil
	}
}
