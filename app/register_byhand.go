package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// RegisterByHand is Register by somebody who looks after members: they may not set what an application records about those who stand above them.
// operators.ErrAbove.
func (a *Applications) RegisterByHand(ctx context.Context, by operators.Officer, at Path, r Registration) (Registered, error) {
	err := a.store.View(ctx, func(tx ports.Tx) error {
		m, err := member(ctx, tx, at, r.User.Username)
		if errors.Is(err, users.ErrNotFound) || (err == nil && names.Fold(m.User.Username) != names.Fold(r.User.Username)) {
			return nil
		}
		if err != nil {
			return err
		}
		return by.MayChange(m)
	})
	if err != nil {
		return Registered{}, err
	}
	c := &registering{Registration: r, by: by.Actor, wanted: distinct(r.Addresses)}
	if err := a.registering.do(ctx, at, c); err != nil {
		return Registered{}, err
	}
	return c.done, c.refused
}
