package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Show returns a key whose scope lies in the path's organization; orgs.ErrNotFound,
// access.ErrKeyNotFound.
func (k *Keys) Show(ctx context.Context, at Path, id access.ID) (KeyReport, error) {
	now := k.clock.Now()
	return ports.View(ctx, k.store, func(tx ports.Tx) (found KeyReport, err error) {
		key, err := keyByID(ctx, tx, at, id)
		found = KeyReport{key, key.State(now)}
		return found, err
	})
}

// Change changes a key whose scope lies in the path's organization: at once here, within
// [KeyCacheLifetime] on other instances. access.ErrKeyNotFound, access.ErrNameTaken,
// access.ErrEnded, access.ErrReplaced, access.ErrWider.
func (k *Keys) Change(ctx context.Context, by audit.Actor, at Path, id access.ID, change access.Change) (KeyReport, error) {
	var is access.Key
	now := k.clock.Now()
	err := changeAt(ctx, k.store, at, within, func(tx ports.Tx, org orgs.ID) error {
		was, err := tx.Keys().ByID(ctx, org, id)
		if err != nil {
			return err
		}
		if is, err = was.Changed(change, now); err != nil {
			return err
		}
		if _, err := k.checkRights(ctx, tx, by, was, is); err != nil {
			return err
		}
		before, after := audit.Changed(keyState(was), keyState(is))
		if len(after) == 0 {
			return nil
		}
		if err := tx.Orgs().Revise(ctx, org); err != nil { // It serializes units, so that a second key of the same name is refused.
			return err
		}
		if err := tx.Keys().Save(ctx, is); err != nil {
			return fieldOf("name", access.ErrNameTaken, err)
		}
		if is.Name != was.Name { // So that Revoke still finds them.
			if err := tx.Keys().RenameReplaced(ctx, was, is.Name); err != nil {
				return err
			}
		}
		return recordKey(ctx, tx, by, audit.KeyUpdated, was, before, after)
	})
	afterUnit(ctx, k.known.Forget)
	if err != nil {
		return KeyReport{}, err
	}
	return KeyReport{is, is.State(now)}, nil
}

// ScopeFault turns an error of making a key into a fault of the form: the form named what was not
// found, or a taken name.
func ScopeFault(err error) error {
	for field, missing := range map[string]error{"organization": orgs.ErrNotFound, "project": orgs.ErrProjectNotFound, "application": applications.ErrNotFound} {
		if errors.Is(err, missing) {
			return fault.Field(field, "%s", missing.Error())
		}
	}
	return fieldOf("name", access.ErrNameTaken, err)
}

// checkRights demands that a key which manages keys has all rights of those keys, and returns when
// it ends; zero: never. The key is read in the unit of work, so that a key which was just revoked
// or changed counts as such. Users are not checked.
func (k *Keys) checkRights(ctx context.Context, tx ports.Tx, by audit.Actor, managed ...access.Key) (ends time.Time, err error) {
	if by.Key == 0 {
		return time.Time{}, nil
	}
	manager, err := tx.Keys().ByID(ctx, 0, by.Key)
	if errors.Is(err, access.ErrKeyNotFound) || err == nil && !manager.Valid(k.clock.Now()) {
		return time.Time{}, access.ErrUnauthenticated
	}
	if err != nil {
		return time.Time{}, err
	}
	for _, key := range managed {
		if err := manager.MayManage(key); err != nil {
			return time.Time{}, err
		}
	}
	return manager.Expires, nil
}
