package console

import "github.com/tocsin/tocsin/adapters/console/words"

// Notice says what an action did that led to this page.
func (v view) Notice() words.Phrase {
	switch v.call.QueryParam("done") {
	case "saved":
		return words.Of("The change is saved.")
	case "enrolled":
		return words.Of("The user is a member now.")
	case "was-there":
		return words.Of("The user was a member already. What was missing of the Default group, the chosen one and the e-mail address was added; the rest stays as it was.")
	case "removed":
		return words.Of("The membership has ended.")
	case "selected-lock":
		return words.Of("%d users locked.", v.counted())
	case "selected-unlock":
		return words.Of("%d users unlocked.", v.counted())
	case "selected-link":
		return words.Of("%d users added to the group.", v.counted())
	case "selected-unlink":
		return words.Of("%d users removed from the group.", v.counted())
	case "selected-list":
		return words.Of("%d users added to the list.", v.counted())
	case "selected-remove":
		return words.Of("%d users removed.", v.counted())
	case "copied":
		return words.Of("Event copied. The copy is inactive.")
	case "live":
		return words.Of("The event is live.")
	case "deleted":
		return words.Of("It is deleted.")
	case "snoozed":
		return words.Of("Problem snoozed.")
	case "woken":
		return words.Of("Snooze ended.")
	case "problem-over":
		return words.Of("This problem is over. Nothing was snoozed.")
	case "cleared":
		return words.Of("The messages are deleted.")
	case "outdated":
		return words.Of("Nothing was changed: somebody has saved the template in the meantime.")
	case "ended":
		return words.Of("Session ended.")
	case "password":
		return words.Of("Password set. Sign in with it.")
	case "joined":
		return words.Of("Invitation accepted. Sign in again to see the organization.")
	case "new-password":
		return words.Of("Password changed. Your other sessions have ended.")
	case "late":
		return words.Of("This took too long, or was done already. Please begin again.")
	case "factor":
		return words.Of("Second factor set up. Your other sessions have ended.")
	case "factor-removed":
		return words.Of("Second factor removed.")
	case "added":
		return words.Of("%d recipients are new on the list.", v.counted())
	case "taken-off":
		return words.Of("%d recipients are off the list.", v.counted())
	case "cancelled":
		return words.Of("Occurrence cancelled. What has left stays counted.")
	case "over":
		return words.Of("Nothing was left to cancel.")
	case "mapped":
		return words.Of("Columns changed. The file is checked once more.")
	case "mended":
		return words.Of("The corrected rows are checked as an import of their own.")
	case "retried":
		if v.call.number("count") == 0 {
			return words.Of("Nothing was left to send again.")
		}
		return words.Of("%d failed deliveries will be sent again.", v.counted())
	case "retried-one":
		return words.Of("The delivery will be sent again.")
	}
	return nil
}

// counted is the number that a notice says.
func (v view) counted() int { return int(v.call.number("count")) }
