package configs

import (
	"errors"
	"strings"
)

// ChannelRef names a channel of an organization. The zero value names none.
type ChannelRef struct{ Organization, Channel string }

// IsZero reports whether no channel is named.
func (r ChannelRef) IsZero() bool { return r == ChannelRef{} }

func channelRef(text string) (ChannelRef, error) {
	if text == "" {
		return ChannelRef{}, nil
	}
	organization, channel, found := strings.Cut(text, "/")
	if one, err := line(text); err != nil || one != strings.TrimSpace(text) || !found || organization == "" || channel == "" {
		return ChannelRef{}, errors.New("must be the slug of an organization and the name of one of its channels, for example acme/system-mail")
	}
	return ChannelRef{Organization: organization, Channel: channel}, nil
}
