package shoutrrr

import (
	"net/url"
	"slices"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
)

// The limits of Discord, in characters.
const (
	maxDiscordTitle   = 256
	maxDiscordContent = 2_000
	maxDiscordEmbed   = 4_096
	// maxDiscordSearch is how far from the end of a part a place to divide the text is searched.
	maxDiscordSearch = 200
)

// discordMessage is the JSON of a message.
type discordMessage struct {
	Content  string          `json:"content,omitempty"`
	Embeds   []discordEmbed  `json:"embeds,omitempty"`
	Username string          `json:"username,omitempty"`
	Avatar   string          `json:"avatar_url,omitempty"`
	Mentions discordMentions `json:"allowed_mentions"`
}

type discordEmbed struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Color       uint   `json:"color,omitempty"`
}

type discordMentions struct {
	Parse []string `json:"parse"`
}

// discordPosts returns a request for each part of the text. The library would lose characters of
// texts that it divides, and would let a text mention everyone.
func discordPosts(link *url.URL, n note) ([]post, error) {
	var s discord.Service
	if err := s.Initialize(link, nil); err != nil {
		return nil, err
	}
	c := s.Config
	target := discord.CreateAPIURLFromConfig(c)
	if c.JSON {
		return []post{{url: target, header: map[string]string{"Content-Type": "application/json"}, body: []byte(n.text)}}, nil
	}
	if n.title != "" {
		c.Title = n.title
	}
	most := maxDiscordContent
	if c.Title != "" {
		most = maxDiscordEmbed
	}
	var posts []post
	for i, part := range divided(n.text, most) {
		m := discordMessage{Username: c.Username, Avatar: c.Avatar, Mentions: discordMentions{[]string{"users", "roles"}}}
		switch {
		case c.Title == "":
			m.Content = part
		case i == 0:
			m.Embeds = []discordEmbed{{shortenedTitle(c.Title, maxDiscordTitle), part, c.Color}}
		default:
			m.Embeds = []discordEmbed{{Description: part, Color: c.Color}}
		}
		p, err := asJSON(target, m)
		if err != nil {
			return nil, err
		}
		posts = append(posts, p)
	}
	return posts, nil
}

// shortenedTitle returns the beginning of a title that is longer than so many characters.
func shortenedTitle(title string, limit int) string {
	characters := []rune(title)
	if len(characters) <= limit {
		return title
	}
	return string(characters[:limit-1]) + "…"
}

// divided divides a text into parts of at most so many characters: at the end of a line or else of
// a word, if there is one near the end of the part.
func divided(text string, most int) (parts []string) {
	rest := []rune(text)
	for len(rest) > most {
		end, next := most, most
		for _, gap := range []rune{'\n', ' '} {
			if i := lastIndex(rest[:most+1], gap); i > most-maxDiscordSearch {
				end, next = i, i+1
				break
			}
		}
		parts, rest = append(parts, string(rest[:end])), rest[next:]
	}
	if len(rest) > 0 || len(parts) == 0 {
		parts = append(parts, string(rest))
	}
	return parts
}

// lastIndex returns the last index of a character, or -1.
func lastIndex(text []rune, of rune) int {
	for i, r := range slices.Backward(text) {
		if r == of {
			return i
		}
	}
	return -1
}
