package smtp

// Denials is the memory of denied recipients, for tests.
type Denials struct{ *denials }

// NewDenials returns a memory of so many recipients.
func NewDenials(limit int) Denials { return Denials{newDenials(limit)} }

// Count returns how many recipients were denied so far.
func (d Denials) Count() int { return d.count() }

// Accepted records that a message to a recipient was accepted that began after so many denials.
func (d Denials) Accepted(to string, before int) { d.accepted(to, before) }

// IsForAll records a denial.
func (d Denials) IsForAll(to string) bool { return d.isForAll(to) }

// Remembered returns how many recipients are remembered.
func (d Denials) Remembered() int { return len(d.first) }
