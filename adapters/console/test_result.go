package console

import (
	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// testView is the result of a test message for display.
type testView struct {
	Accepted bool
	Verdict  words.Phrase
	Answer   string // by the provider
	Refusal  string // by the driver, which sent nothing
}

// testResult returns the result of a test for display. Only operators of the installation see the
// response of a service at a private address.
func (c call) testResult(done app.TestResult) *testView {
	v := &testView{Accepted: done.Failure == nil}
	switch f := done.Failure; {
	case f == nil:
		v.Verdict = words.Of("Accepted: the provider took the message to %s.", done.To)
		return v
	case f.Unsent:
		v.Verdict = words.Of("Not sent: the driver refused the message to %s before anything was sent. This proves nothing about the channel.", done.To)
		v.Refusal = c.failureText(f)
		return v
	case f.Channel:
		v.Verdict = words.Of("Unreachable: the channel does not work for any recipient.")
	case f.Temporary:
		v.Verdict = words.Of("Postponed: the channel works, but %s cannot be reached now. Another attempt may succeed.", done.To)
	default:
		v.Verdict = words.Of("Refused: the channel works, but the provider does not accept the message to %s. Trying again would not help.", done.To)
	}
	v.Answer = c.failureText(done.Failure)
	return v
}

// failureText returns as much of a failure as the operator may see.
func (c call) failureText(f *deliveries.Failure) string {
	if c.editor().OfInstallation() {
		return f.Detailed()
	}
	return f.Error()
}
