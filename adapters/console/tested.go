package console

import "github.com/tocsin/tocsin/app"

// testView is what became of a test, in words.
type testView struct {
	Accepted bool
	Verdict  string
	Said     string // by the provider
}

// tested says what became of a test. What a service at a private address said is shown to those who
// look after the installation alone.
func (c call) tested(done app.Tested) *testView {
	v := &testView{Accepted: done.Failure == nil}
	switch f := done.Failure; {
	case f == nil:
		v.Verdict = "Accepted: the provider took the message to " + done.To + "."
		return v
	case f.Channel:
		v.Verdict = "Unreachable: the channel does not work, whoever the message is for."
	case f.Temporary:
		v.Verdict = "Postponed: the channel works, but " + done.To + " cannot be reached now. Another attempt may succeed."
	default:
		v.Verdict = "Refused: the channel works, but the message to " + done.To + " is not accepted, and would not be later."
	}
	v.Said = done.Failure.Error()
	if c.officer().OfInstallation() {
		v.Said = done.Failure.Detailed()
	}
	return v
}
