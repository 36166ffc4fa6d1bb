package console

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
	case "changed":
		return counted(int(v.call.number("count")), "of the chosen users was", "of the chosen users were") + " changed."
	case "listed":
		return counted(int(v.call.number("count")), "of the chosen users is", "of the chosen users are") + " new on the list."
	case "deleted":
		return "It is deleted."
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
