package console

import "github.com/tocsin/tocsin/adapters/console/words"

// Notice returns the message about the action that redirected to this page.
func (v view) Notice() words.Phrase {
	switch v.call.QueryParam("done") {
	case "saved":
		return words.Of("Changes saved.")
	case "enrolled":
		return words.Of("User added.")
	case "was-there":
		return words.Of("Already a member. Group and address updated.")
	case "removed":
		return words.Of("User removed.")
	case "selected-lock":
		return words.Of("%d users locked.", v.noticeCount())
	case "selected-unlock":
		return words.Of("%d users unlocked.", v.noticeCount())
	case "selected-link":
		return words.Of("%d users added to the group.", v.noticeCount())
	case "selected-unlink":
		return words.Of("%d users removed from the group.", v.noticeCount())
	case "selected-list":
		return words.Of("%d users added to the list.", v.noticeCount())
	case "selected-remove":
		return words.Of("%d users removed.", v.noticeCount())
	case "copied":
		return words.Of("Event copied. The copy is inactive.")
	case "live":
		return words.Of("Event is live.")
	case "draft":
		return words.Of("Event is a draft.")
	case "created-organization":
		return words.Of("Organization created.")
	case "created-project":
		return words.Of("Project created.")
	case "created-application":
		return words.Of("Application created.")
	case "created-channel":
		return words.Of("Channel created.")
	case "created-event":
		return words.Of("Event created.")
	case "created-group":
		return words.Of("Group created.")
	case "created-list":
		return words.Of("List created.")
	case "created-notification":
		return words.Of("Notification created.")
	case "deleted-application":
		return words.Of("Application deleted.")
	case "deleted-channel":
		return words.Of("Channel deleted.")
	case "deleted-event":
		return words.Of("Event deleted.")
	case "deleted-group":
		return words.Of("Group deleted.")
	case "deleted-list":
		return words.Of("List deleted.")
	case "deleted-notification":
		return words.Of("Notification deleted.")
	case "deleted-template":
		return words.Of("Template deleted.")
	case "created-partial":
		return words.Of("Partial created.")
	case "deleted-partial":
		return words.Of("Partial deleted.")
	case "outdated-partial":
		return words.Of("Nothing was changed: somebody has saved the partial in the meantime.")
	case "snoozed":
		return words.Of("Problem snoozed.")
	case "woken":
		return words.Of("Snooze ended.")
	case "problem-over":
		return words.Of("This problem is over. Nothing was snoozed.")
	case "cleared":
		return words.Of("Messages deleted.")
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
		return words.Of("This took too long, or was done already. Please start again.")
	case "factor":
		return words.Of("Second factor set up. Your other sessions have ended.")
	case "factor-removed":
		return words.Of("Second factor removed.")
	case "added":
		return words.Of("%d recipients added to the list.", v.noticeCount())
	case "taken-off":
		return words.Of("%d recipients removed from the list.", v.noticeCount())
	case "cancelled":
		return words.Of("Occurrence cancelled. Sent messages stay counted.")
	case "over":
		return words.Of("Nothing left to cancel.")
	case "mapped":
		return words.Of("Columns changed. The file is checked again.")
	case "corrected":
		return words.Of("The corrected rows are checked as an import of their own.")
	case "retried":
		if v.call.number("count") == 0 {
			return words.Of("Nothing left to send again.")
		}
		return words.Of("%d failed deliveries will be sent again.", v.noticeCount())
	case "retried-one":
		return words.Of("The delivery will be sent again.")
	}
	return nil
}

// noticeCount returns the number for a notice.
func (v view) noticeCount() int { return int(v.call.number("count")) }
