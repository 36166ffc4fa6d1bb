package console

import "strings"

// Notice says what an action did that led to this page.
func (v view) Notice() string {
	switch v.call.QueryParam("done") {
	case "saved":
		return "The change is saved."
	case "enrolled":
		return "The user is a member now."
	case "was-there":
		return "The user was a member already. What was missing of the Default group, the chosen one and the e-mail address was added; the rest stays as it was."
	case "removed":
		return "The membership has ended."
	case "selected-lock", "selected-unlock", "selected-link", "selected-unlink", "selected-list", "selected-remove":
		return counted(int(v.call.number("count")), "user", "users") + map[string]string{
			"lock": " locked.", "unlock": " unlocked.", "link": " added to the group.", "unlink": " removed from the group.",
			"list": " added to the list.", "remove": " removed.",
		}[strings.TrimPrefix(v.call.QueryParam("done"), "selected-")]
	case "copied":
		return "Event copied. The copy is inactive."
	case "live":
		return "The event is live."
	case "deleted":
		return "It is deleted."
	case "snoozed":
		return "Problem snoozed."
	case "woken":
		return "Snooze ended."
	case "problem-over":
		return "This problem is over. Nothing was snoozed."
	case "cleared":
		return "The messages are deleted."
	case "outdated":
		return "Nothing was changed: somebody has saved the template in the meantime."
	case "ended":
		return "Session ended."
	case "password":
		return "Password set. Sign in with it."
	case "joined":
		return "Invitation accepted. Sign in again to see the organization."
	case "new-password":
		return "Password changed. Your other sessions have ended."
	case "late":
		return "This took too long, or was done already. Please begin again."
	case "factor":
		return "Second factor set up. Your other sessions have ended."
	case "factor-removed":
		return "Second factor removed."
	case "added":
		return counted(int(v.call.number("count")), "recipient is", "recipients are") + " new on the list."
	case "taken-off":
		return counted(int(v.call.number("count")), "recipient is", "recipients are") + " off the list."
	case "cancelled":
		return "Occurrence cancelled. What has left stays counted."
	case "over":
		return "Nothing was left to cancel."
	case "mapped":
		return "Columns changed. The file is checked once more."
	case "mended":
		return "The corrected rows are checked as an import of their own."
	case "retried":
		if v.call.number("count") == 0 {
			return "Nothing was left to send again."
		}
		return counted(int(v.call.number("count")), "failed delivery", "failed deliveries") + " will be sent again."
	case "retried-one":
		return "The delivery will be sent again."
	}
	return ""
}
