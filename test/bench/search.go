package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/users"
)

// index writes the search words of populate's people into the database without the program. Their
// names differ only in a number, so their words are those of the first one with another number.
func (d database) index(ctx context.Context, people int) (err error) {
	pool, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	first := populatedFrom(0)
	address := populated(0, 0)
	words := users.Words(users.Member{User: users.User{Username: address}, Details: users.Details{Email: address, FirstName: "First", LastName: "Last"}},
		[]string{address}, nil)
	for _, word := range words {
		before, after, numbered := strings.Cut(word, strconv.Itoa(first))
		text := "'" + before + "'"
		if numbered {
			text = "'" + before + "' || m.id || '" + after + "'"
		}
		if _, err := pool.ExecContext(ctx, fmt.Sprintf("INSERT INTO member_words (organization_id, word, member_id)"+
			" SELECT m.organization_id, %s, m.id FROM members m WHERE m.id BETWEEN %d AND %d", text, first, first+people-1)); err != nil {
			return err
		}
	}
	if d.kind == postgres {
		if _, err := pool.ExecContext(ctx, "VACUUM ANALYZE member_words"); err != nil {
			return err
		}
	}
	return d.settle(ctx)
}

// searches returns the pages of the first results of the search box for texts that find one, few,
// very many and no users.
func searches(people int) []page {
	whole := func(n int) string { return populated(0, n*7919%people) }
	name := func(n int) string { name, _, _ := strings.Cut(whole(n), "@"); return name }
	var pages []page
	for _, s := range []struct {
		what string
		text func(n int) string
	}{
		{"an e-mail address", whole},
		{"the beginning of a name that a hundred have", func(n int) string { return name(n)[:len(name(n))-2] }},
		{"a letter that begins a word of everybody", func(int) string { return "p" }},
		{"two words that everybody has", func(int) string { return "first last" }},
		{"a word that one has and the beginning of one that everybody has", func(n int) string { return "fir " + name(n) }},
		{"a word that everybody has and one that nobody has", func(n int) string { return "last x" + name(n) }},
	} {
		pages = append(pages, page{"the search for " + s.what, func(n int) string { return "o/" + organization + "/search/?" + url.Values{"q": {s.text(n)}}.Encode() }})
	}
	return pages
}
