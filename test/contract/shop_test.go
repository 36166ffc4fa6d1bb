package contract_test

import (
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// inShop changes the store in a unit of work, with the project acme/shop and a member of acme.
func (w *world) inShop(username string, change func(tx ports.Tx, shop orgs.Project, m users.Member) error) {
	w.Helper()
	w.update(func(tx ports.Tx) error {
		shop, err := tx.Orgs().Project(w.Context(), "acme", "shop")
		if err != nil {
			return err
		}
		var m users.Member // Of no user, where none is named.
		if username != "" {
			if m, err = tx.Users().ByUsername(w.Context(), shop.Organization, username); err != nil {
				return err
			}
		}
		return change(tx, shop, m)
	})
}

// lockMember locks a member of acme, as the console does.
func (w *world) lockMember(username string) {
	w.Helper()
	w.inShop(username, func(tx ports.Tx, _ orgs.Project, m users.Member) error {
		m.Locked = true
		return tx.Users().SetLocked(w.Context(), m)
	})
}

// optOut unsubscribes an address of a member from the notification Buyer, as the link in a message
// does.
func (w *world) optOut(username, value string) {
	w.Helper()
	w.inShop(username, func(tx ports.Tx, _ orgs.Project, m users.Member) error {
		a, err := tx.Applications().BySlug(w.Context(), "acme", "shop", "web")
		if err != nil {
			return err
		}
		e, err := tx.Events().BySlug(w.Context(), a, "order")
		if err != nil {
			return err
		}
		n, err := tx.Subscriptions().ByName(w.Context(), e, "Buyer")
		if err != nil {
			return err
		}
		_, err = tx.Deliveries().SetOptOut(w.Context(), deliveries.OptOut{Member: m.ID, Notification: n.ID, AddressKey: users.NewEmailAddress(value).Key()}, true)
		return err
	})
}

// assigned assigns an address of a member of acme to a channel that acme/shop can use, and returns
// the id.
func (w *world) assigned(username, value, channel string, active, validated bool) (id int64) {
	w.Helper()
	w.inShop(username, func(tx ports.Tx, shop orgs.Project, m users.Member) error {
		c, err := tx.Channels().Find(w.Context(), shop.Organization, shop.ID, channel)
		if err != nil {
			return err
		}
		all, err := tx.Addresses().List(w.Context(), shop.Organization, m.ID, 0, 100)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(a users.Address) bool { return a.Value == value })
		a := channels.Assign(all[i], c)
		a.Active, a.Validated = active, validated
		made, _, err := tx.Assignments().Ensure(w.Context(), shop.Organization, []channels.Assignment{a})
		if err == nil {
			id = int64(made[0].ID)
		}
		return err
	})
	return id
}

// listed adds an assignment to the list web-users of acme/shop.
func (w *world) listed(assignment int64) {
	w.Helper()
	w.inShop("", func(tx ports.Tx, shop orgs.Project, _ users.Member) error {
		l, err := tx.Lists().ByName(w.Context(), shop.Organization, shop.ID, "web-users")
		if err == nil {
			_, err = tx.Lists().Add(w.Context(), l, []channels.AssignmentID{channels.AssignmentID(assignment)})
		}
		return err
	})
}

// closeChannel makes a channel that acme/shop can use inactive.
func (w *world) closeChannel(name string) {
	w.Helper()
	w.inShop("", func(tx ports.Tx, shop orgs.Project, _ users.Member) error {
		c, err := tx.Channels().Find(w.Context(), shop.Organization, shop.ID, name)
		if err != nil {
			return err
		}
		c.Active = false
		return tx.Channels().Save(w.Context(), c)
	})
}

// retext gives the order event of acme another template for a channel, without checking it.
func (w *world) retext(channel, text string) {
	w.Helper()
	w.inShop("", func(tx ports.Tx, shop orgs.Project, _ users.Member) error {
		c, err := tx.Channels().Find(w.Context(), shop.Organization, shop.ID, channel)
		if err != nil {
			return err
		}
		a, err := tx.Applications().BySlug(w.Context(), "acme", "shop", "web")
		if err != nil {
			return err
		}
		e, err := tx.Events().BySlug(w.Context(), a, "order")
		if err == nil {
			_, err = tx.Events().SaveTemplate(w.Context(), e, events.Template{Channel: c.ID, Text: text}, "eva")
		}
		return err
	})
}
