package httpapi

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
)

// auditEntry is an entry of the audit log.
type auditEntry struct {
	ID      audit.ID     `json:"id"`
	Created time.Time    `json:"created"`
	Actor   string       `json:"actor"`
	Key     *access.ID   `json:"key"`
	Via     audit.Via    `json:"via"`
	Address string       `json:"address"`
	Action  audit.Action `json:"action"`
	Object  string       `json:"object"`
	Before  audit.State  `json:"before"`
	After   audit.State  `json:"after"`
}

func showAuditEntry(e audit.Entry) auditEntry {
	shown := auditEntry{ID: e.ID, Created: e.At, Actor: e.Actor.Name, Via: e.Actor.Via, Address: e.Actor.Address, Action: e.Action, Object: e.Object,
		Before: e.Before, After: e.After}
	if e.Actor.Key != 0 {
		shown.Key = &e.Actor.Key
	}
	if shown.Before == nil {
		shown.Before = audit.State{}
	}
	if shown.After == nil {
		shown.After = audit.State{}
	}
	return shown
}

// listAudit lists entries, the newest first, unlike the other lists.
func (a *API) listAudit(c call) error {
	f := c.filters()
	wanted := audit.Query{Actor: f.text("actor"), Via: oneOf(f, "via", audit.Console, audit.CommandLine, audit.API, audit.Link),
		Action: audit.Action(f.text("action_begins")), Object: f.text("object_begins"), From: f.timestamp("created_after"), Until: f.timestamp("created_before")}
	return listing[audit.Entry]{
		filters: f,
		batch: func(ctx context.Context, p app.Page) (batch[audit.Entry], error) {
			q := wanted
			q.Since, q.Limit = audit.ID(p.After), p.Limit
			found, err := a.use.Audit.Search(ctx, c.at(), q)
			return batch[audit.Entry]{found.Entries, int64(found.Next.ID), found.More}, err
		},
		id:   func(e audit.Entry) int64 { return int64(e.ID) },
		row:  func(e audit.Entry) any { return showAuditEntry(e) },
		size: userBatchSize,
	}.send(c)
}
