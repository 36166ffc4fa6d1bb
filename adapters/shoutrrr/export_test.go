package shoutrrr

// Remember sets the maximum number of messages that the driver remembers.
func (d *Driver) Remember(messages int) { d.accepted = newAccepted(messages) }
