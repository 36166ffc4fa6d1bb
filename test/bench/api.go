package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// api measures single calls, first for new users, then for the same users again.
func (b *bench) api(ctx context.Context, d database) error {
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	return b.serving(ctx, i, func(s *server) error {
		for _, c := range calls {
			known, err := b.loaded(ctx, d, s, c.what+", new users", http.StatusCreated, c.new(i.key), c.new(i.key))
			if err != nil {
				return err
			}
			if _, err := b.loaded(ctx, d, s, c.what+", existing users", http.StatusOK, c.old(i.key, known), c.floorOld(i.key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// loaded measures a server under a load of requests, after the floor under the same load.
func (b *bench) loaded(ctx context.Context, d database, s *server, what string, status int, ask, askFloor requests) (sent []int, err error) {
	l := load{server: b.floor, connections: b.connections, length: b.length, status: status, request: askFloor}
	floor, _, err := l.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s, floor: %w", what, err)
	}
	if err := d.settle(ctx); err != nil {
		return nil, err
	}
	l.server, l.request = s, ask
	tocsin, sent, err := l.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", what, d.kind, err)
	}
	b.result(what, d, "requests/s", figure{tocsin: tocsin, floor: floor, peak: s.peak()})
	return sent, nil
}

// call is a request about one user.
type call struct {
	what, path string
	body       func(b []byte, name string) []byte
}

var calls = []call{
	{"POST user", "/api/v1/user/" + organization + "/", func(b []byte, name string) []byte {
		return fmt.Appendf(b, `{"email": "%s@example.com", "first_name": "Ada", "last_name": "Lovelace", "custom_fields": {"external_id": "%s"}}`, name, name)
	}},
	{"POST register", "/api/o/" + organization + "/p/" + project + "/a/" + application + "/register/", func(b []byte, name string) []byte {
		return fmt.Appendf(b, `{"username": "%s", "email": "%s@example.org", "first_name": "Ada", "last_name": "Lovelace", "custom_fields": {"plan": "pro"},`+
			` "addresses": [{"value": "%s@example.org", "assign_to_preferred_channel": true}], "distribution_list": "`+list+`"}`, name, name, name)
	}},
}

// new returns requests for a new user each.
func (c call) new(key string) requests {
	return c.about(key, func(connection, number int) string { return person("new", connection, number) })
}

// old returns requests for the users of new, the same number on each connection.
func (c call) old(key string, known []int) requests {
	return c.about(key, func(connection, number int) string { return person("new", connection, number%known[connection]) })
}

// floorOld returns requests of the floor for users that it treats as known.
func (c call) floorOld(key string) requests {
	return c.about(key, func(connection, number int) string { return person("old", connection, number) })
}

func (c call) about(key string, name func(connection, number int) string) requests {
	return func(b []byte, connection, number int) []byte {
		return appendPost(b, c.path, key, string(c.body(nil, name(connection, number))))
	}
}

func person(word string, connection, number int) string {
	return word + "-" + strconv.Itoa(connection) + "-" + strconv.Itoa(number)
}
