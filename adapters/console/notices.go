package console

import "github.com/tocsin/tocsin/adapters/console/words"

// notices are the messages about actions that redirected to a page.
var notices = map[string]words.Phrase{
	"saved":                words.Of("Changes saved."),
	"enrolled":             words.Of("User added."),
	"was-there":            words.Of("Already a member. Nothing has changed."),
	"extended":             words.Of("Already a member. Updated with your entries."),
	"removed":              words.Of("User removed."),
	"copied":               words.Of("Event copied. The copy is inactive."),
	"live":                 words.Of("Event is live."),
	"draft":                words.Of("Event is a draft."),
	"created-organization": words.Of("Organization created."),
	"created-project":      words.Of("Project created."),
	"created-application":  words.Of("Application created."),
	"created-channel":      words.Of("Channel created."),
	"created-event":        words.Of("Event created."),
	"created-group":        words.Of("Group created."),
	"created-list":         words.Of("List created."),
	"created-notification": words.Of("Notification created."),
	"deleted-application":  words.Of("Application deleted."),
	"deleted-channel":      words.Of("Channel deleted."),
	"deleted-event":        words.Of("Event deleted."),
	"deleted-group":        words.Of("Group deleted."),
	"deleted-list":         words.Of("List deleted."),
	"deleted-notification": words.Of("Notification deleted."),
	"deleted-template":     words.Of("Template deleted."),
	"created-partial":      words.Of("Partial created."),
	"deleted-partial":      words.Of("Partial deleted."),
	"outdated-partial":     words.Of("Nothing was changed: somebody has saved the partial in the meantime."),
	"snoozed":              words.Of("Problem snoozed."),
	"woken":                words.Of("Snooze ended."),
	"problem-over":         words.Of("This problem is over. Nothing was snoozed."),
	"cleared":              words.Of("Messages deleted."),
	"outdated":             words.Of("Nothing was changed: somebody has saved the template in the meantime."),
	"ended":                words.Of("Session ended."),
	"password":             words.Of("Password set. Sign in with it."),
	"joined":               words.Of("Invitation accepted. Sign in again to see the organization."),
	"new-password":         words.Of("Password changed. Your other sessions have ended."),
	"late":                 words.Of("This took too long, or was done already. Please start again."),
	"factor":               words.Of("Second factor set up. Your other sessions have ended."),
	"factor-removed":       words.Of("Second factor removed."),
	"cancelled":            words.Of("Occurrence cancelled. Sent messages stay counted."),
	"over":                 words.Of("Nothing left to cancel."),
	"mapped":               words.Of("Columns changed. The file is checked again."),
	"corrected":            words.Of("The corrected rows are checked as an import of their own."),
	"retried-one":          words.Of("The delivery will be sent again."),
	"retried-none":         words.Of("The delivery had not failed; nothing was changed."),
}

// countNotices returns the messages that have the number of objects.
func countNotices(n int) map[string]words.Phrase {
	return map[string]words.Phrase{
		"selected-lock":   words.Of("%d users locked.", n),
		"selected-unlock": words.Of("%d users unlocked.", n),
		"selected-link":   words.Of("%d users added to the group.", n),
		"selected-unlink": words.Of("%d users removed from the group.", n),
		"selected-list":   words.Of("%d users added to the list.", n),
		"selected-remove": words.Of("%d users removed.", n),
		"added":           words.Of("%d recipients added to the list.", n),
		"taken-off":       words.Of("%d recipients removed from the list.", n),
		"retried":         words.Of("%d failed deliveries will be sent again.", n),
	}
}

// Notice returns the message about the action that redirected to this page.
func (v view) Notice() words.Phrase {
	done, count := v.call.QueryParam("done"), int(v.call.number("count"))
	if done == "retried" && count == 0 {
		return words.Of("Nothing left to send again.")
	}
	if text, known := notices[done]; known {
		return text
	}
	text := countNotices(count)[done]
	if done == "selected-list" {
		var left leftOut
		v.call.console.cursors.open(v.call.leftOutPage(), v.call.QueryParam("without"), &left)
		if out := left.text(); len(out) > 0 {
			text = words.Of("%s %s", text, out)
		}
	}
	return text
}
