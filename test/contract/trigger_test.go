package contract_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
)

// forecast is the answer of a dry run.
type forecast struct {
	Recipients []forecastGroup `json:"recipients"`
	LeftOut    []forecastGroup `json:"left_out"`
	Messages   []struct {
		To, Channel, Subject, Text, HTML, Error string
		MissingVariables                        []string `json:"missing_variables"`
	} `json:"messages"`
}

type forecastGroup struct {
	Notification string `json:"notification"`
	Channel      string `json:"channel"`
	Reason       string `json:"reason"`
	Recipients   int    `json:"recipients"`
	Users        []string
}

func TestTrigger(t *testing.T) {
	t.Parallel()

	t.Run("IsStoredWithTheAnswerAndSendsOneMessageEach", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		ben := w.buyer("ben", "ben@example.org")
		carl := w.assign("carl", "carl@example.org")
		dora := w.assign("dora", "dora@example.org")
		for _, a := range []int64{ben.Assignments[0].ID, carl.ID, dora.ID} { // Ben is on the list as well.
			w.post(w.subscribePath(webPath, "Buyer"), object{"assignment": a}).is(http.StatusCreated)
		}
		w.delete(w.subscribePath(webPath, "Buyer"), object{"assignment": dora.ID}).is(http.StatusOK)

		answer := w.post(orderPath, object{"context": object{"number": 1}}).is(http.StatusCreated)
		id := read[triggered](answer).Occurrence
		answer.json(fmt.Sprintf(`{"occurrence": %d, "recipients": 3}`, id))
		require.Equal(w, []string{fmt.Sprint(id)}, w.rows(`SELECT id FROM occurrences`))

		box := w.work()
		w.done(id)
		require.Equal(w, []string{"+4915112345678 by text", "anna@example.org by shop-mail", "ben@example.org by shop-mail", "carl@example.org by shop-mail"},
			box.messages())
	}))

	t.Run("SaysHowManyPeopleGetAMessageAndSaysItAgain", both(func(w *world) {
		w.apply(orders())
		require.Equal(w, 0, *read[triggered](w.post(orderPath, object{}).is(http.StatusCreated)).Recipients)
		w.buyer("anna", "anna@example.org", "+4915112345678")
		w.buyer("ben", "ben@example.org")
		require.Equal(w, 2, *read[triggered](w.post(orderPath, object{}).is(http.StatusCreated)).Recipients)
		again := w.with("Idempotency-Key", "a")
		one := object{"options": object{"limit_to": list{"ben"}}}
		require.Equal(w, 1, *read[triggered](again.post(orderPath, one).is(http.StatusCreated)).Recipients)
		w.lockMembership("ben")
		require.Equal(w, 1, *read[triggered](again.post(orderPath, one).is(http.StatusCreated)).Recipients)
		require.Equal(w, 0, *read[triggered](w.post(orderPath, one).is(http.StatusCreated)).Recipients)
		many := list{"anna"}
		for i := range 200 {
			many = append(many, fmt.Sprint("nobody ", i))
		}
		answer := w.post(orderPath, object{"options": object{"limit_to": many, "ignore_unknown": true}}).is(http.StatusCreated)
		answer.json(fmt.Sprintf(`{"occurrence": %d}`, read[triggered](answer).Occurrence))
	}))

	t.Run("ProjectChannelWinsForAnAddress", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.listed(w.assigned("anna", "anna@example.org", "mail", true, true))
		box := w.work()
		w.happens(object{})
		require.Equal(w, []string{"anna@example.org by shop-mail"}, box.messages())
	}))

	t.Run("OptionsChooseAndADryRunForetells", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		w.buyer("ben", "ben@example.org", "+4915187654321")
		box := w.work()
		const annaMail, annaText, benMail, benText = "anna@example.org by shop-mail", "+4915112345678 by text", "ben@example.org by shop-mail", "+4915187654321 by text"
		for _, c := range []struct {
			options object
			want    []string
		}{
			{object{}, []string{annaText, benText, annaMail, benMail}},
			{object{"limit_to": nil, "channels": nil, "dry_run": nil}, []string{annaText, benText, annaMail, benMail}},
			{object{"limit_to": list{"ANNA"}}, []string{annaText, annaMail}},
			{object{"limit_to": list{"Anna@Example.org"}}, []string{annaMail}},
			{object{"limit_to": list{"+49 1511 2345678", "ben"}}, []string{annaText, benText, benMail}},
			{object{"limit_to": list{"nobody", "ben"}, "ignore_unknown": true}, []string{benText, benMail}},
			{object{"limit_to": list{"nobody", "nobody@example.org"}, "ignore_unknown": true}, []string{}},
			{object{"limit_to": list{"ben"}, "ignore_unknown": nil}, []string{benText, benMail}},
			{object{"recipient_filter": object{"usernames": list{"ANNA"}}}, []string{annaText, annaMail}},
			{object{"recipient_filter": nil}, []string{annaText, benText, annaMail, benMail}},
			{object{"channels": list{"Text"}}, []string{annaText, benText}},
			{object{"channels": list{"mail"}}, []string{}},
			{object{"channels": list{"shop-mail"}, "limit_to": list{"ben", "ben"}}, []string{benMail}},
		} {
			asked := object{"dry_run": true}
			for name, value := range c.options {
				if value != nil {
					asked[name] = value
				}
			}
			foretold := 0
			for _, g := range read[forecast](w.post(orderPath, object{"options": asked}).is(http.StatusOK)).Recipients {
				foretold += g.Recipients
			}
			require.Equal(w, len(c.want), foretold, "%v", c.options)
			w.happens(object{"options": c.options})
			require.Equal(w, c.want, box.messages(), "%v", c.options)
			box.empty()
		}
	}))

	t.Run("AProjectsChannelThatTheEventMayNotUseHidesNone", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.listed(w.assigned("anna", "anna@example.org", "mail", true, true))
		m := w.manager()
		m.post(shopPath+"c/", object{"name": "Mail", "protocol": "EMAIL", "driver": "mailbox"}).is(http.StatusCreated)
		box := w.work()
		w.happens(object{"options": object{"channels": list{"mail"}}})
		require.Equal(w, []string{"anna@example.org by mail"}, box.messages())
		box.empty()
		m.patch(webPath+"e/order/", object{"channels": list{}}).is(http.StatusOK)
		w.happens(object{"options": object{"channels": list{"mail"}}})
		require.Empty(w, box.messages(), "now the project's is meant")
	}))

	t.Run("PhoneNumbersWithoutCountryCodeAreThoseOfTheRegion", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		w.buyer("01511 9999999", "ben@example.org") // a username
		number := object{"options": object{"limit_to": list{"01511 2345678", "01511 9999999"}}}
		w.post(orderPath, number).isBadRequestFor("options.limit_to")
		w.manager().patch("/api/o/acme/", object{"default_region": "DE"}).is(http.StatusOK)
		w.post(orderPath, object{"options": object{"limit_to": list{"01511 2345679"}}}).isBadRequestFor("options.limit_to")
		found := read[forecast](w.post(orderPath, object{"options": object{"limit_to": list{"01511 2345678"}, "dry_run": true}}).is(http.StatusOK))
		require.Equal(w, []forecastGroup{{"Buyer", "text", "", 1, nil}}, found.Recipients)
		box := w.work()
		w.happens(number)
		require.Equal(w, []string{"+4915112345678 by text", "ben@example.org by shop-mail"}, box.messages())
		box.empty()
		w.happens(object{"options": object{"limit_to": list{"01511 2345678", "nobody"}, "ignore_unknown": true}})
		require.Equal(w, []string{"+4915112345678 by text"}, box.messages())
	}))

	t.Run("PriorityIsTheTriggersElseTheEventsAndAKeyMayBeLimited", both(func(w *world) {
		b := orders()
		events := b.Organizations[0].Projects[0].Applications[0].Events
		for i := range events {
			events[i].Priority = "urgent"
		}
		w.apply(b)
		limited, text, err := w.other.Console.Keys.Create(w.Context(), audit.Actor{}, "limited", scope("acme/shop/web"),
			[]string{string(access.EventTrigger), string(access.DeliveryRead)}, 0, access.AtMostNormal(true))
		require.NoError(w, err)
		require.True(w, limited.AtMostNormal)
		for _, c := range []struct {
			by      client
			options object
			want    string
		}{
			{w.client, nil, "urgent"}, {w.client, object{"priority": nil}, "urgent"}, {w.client, object{"priority": "bulk"}, "bulk"},
			{w.client, object{"priority": ""}, "urgent"}, {w.client, object{"priority": "normal"}, "normal"}, {w.as(text), nil, "normal"}, {w.as(text), object{"priority": "bulk"}, "bulk"},
		} {
			id := read[triggered](c.by.post(orderPath, object{"options": c.options}).is(http.StatusCreated)).Occurrence
			require.Equal(w, c.want, w.occurrence(id).Priority, "%v", c.options)
		}
		w.unchanged(func() {
			w.as(text).post(orderPath, object{"options": object{"priority": "urgent"}}).isBadRequestFor("options.priority")
		})
	}))

	t.Run("DryRunShowsMessagesAndSkippedAndWritesNothing", both(func(w *world) {
		w.apply(orders())
		for i := range 7 {
			name := fmt.Sprintf("user%d", i)
			w.buyer(name, name+"@example.org")
		}
		w.lockMembership("user3")
		w.buyer("anna", "+4915112345678")
		w.unchanged(func() {
			found := read[forecast](w.with("Idempotency-Key", "a").post(orderPath, raw(`{"context": {"number": 7, "note": "<new>", "price": 1.50},
				"options": {"dry_run": true}}`)).is(http.StatusOK))
			require.ElementsMatch(w, []forecastGroup{{"Buyer", "shop-mail", "", 6, nil}, {"Buyer", "text", "", 1, nil}}, found.Recipients)
			require.Equal(w, []forecastGroup{{"Buyer", "shop-mail", "the application membership is locked", 1, []string{"user3"}}}, found.LeftOut)
			require.Len(w, found.Messages, 5)
			text := found.Messages[1] // the first of each channel, then the second of each
			require.Equal(w, "+4915112345678", text.To)
			require.Equal(w, "text", text.Channel)
			for i, m := range slices.Delete(found.Messages, 1, 2) {
				name := fmt.Sprintf("user%d", []int{0, 1, 2, 4}[i])
				require.Equal(w, name+"@example.org", m.To)
				require.Equal(w, "shop-mail", m.Channel)
				require.Equal(w, "Order 7 of acme", m.Subject)
				require.Equal(w, name+": <new>, 1.50", m.Text)
				require.Equal(w, "<p>&lt;new&gt;</p>", m.HTML)
				require.Empty(w, m.Error)
			}
		})
	}))

	t.Run("DryRunNamesVariablesWithoutAValue", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		found := read[forecast](w.post(orderPath, raw(`{"context": {"nmuber": 7, "note": "x", "price": 1}, "options": {"dry_run": true}}`)).is(http.StatusOK))
		require.Len(w, found.Messages, 1)
		require.Equal(w, []string{"context.number (subject, line 1)"}, found.Messages[0].MissingVariables)
		found = read[forecast](w.post(orderPath, raw(`{"context": {"number": 7, "note": "x", "price": 1}, "options": {"dry_run": true}}`)).is(http.StatusOK))
		require.Equal(w, []string{}, found.Messages[0].MissingVariables)
	}))

	t.Run("DryRunForNobody", both(func(w *world) {
		w.apply(orders())
		w.post(orderPath, object{"options": object{"dry_run": true}}).is(http.StatusOK).json(`{"recipients": [], "left_out": [], "messages": []}`)
	}))

	t.Run("MistakesAre400AndNameTheField", both(func(w *world) {
		w.apply(orders())
		w.unchanged(func() {
			each(map[string]struct {
				body  any
				field string
			}{
				"AnOptionThatDoesNotExist":  {object{"options": object{"limit": list{}}}, "options.limit"},
				"OptionsInAnotherSpelling":  {object{"options": object{"Dry_Run": true}}, "options.Dry_Run"},
				"OptionsAreNotAnObject":     {object{"options": list{}}, "options"},
				"ContextIsNotAnObject":      {object{"context": list{}}, "context"},
				"RecipientIsNotText":        {object{"options": object{"limit_to": list{1}}}, "options.limit_to"},
				"RecipientsAreNotAnArray":   {object{"options": object{"limit_to": "anna"}}, "options.limit_to"},
				"ARecipientWithoutAName":    {object{"options": object{"limit_to": list{" "}}}, "options.limit_to"},
				"NoRecipientAtAll":          {object{"options": object{"limit_to": list{}}}, "options.limit_to"},
				"NoChannelAtAll":            {object{"options": object{"channels": list{}, "dry_run": true}}, "options.channels"},
				"ChannelIsNotText":          {object{"options": object{"channels": list{nil}}}, "options.channels"},
				"AChannelWithoutAName":      {object{"options": object{"channels": list{""}}}, "options.channels"},
				"InvalidDryRun":             {object{"options": object{"dry_run": "true"}}, "options.dry_run"},
				"InvalidIgnore":             {object{"options": object{"ignore_unknown": 1}}, "options.ignore_unknown"},
				"InvalidPriority":           {object{"options": object{"priority": "soon"}}, "options.priority"},
				"PriorityIsNotText":         {object{"options": object{"priority": 1}}, "options.priority"},
				"FilterIsNotAnObject":       {object{"options": object{"recipient_filter": list{"anna"}}}, "options.recipient_filter"},
				"AFilterByNothing":          {object{"options": object{"recipient_filter": object{}}}, "options.recipient_filter.usernames"},
				"FilterByNobody":            {object{"options": object{"recipient_filter": object{"usernames": list{}}}}, "options.recipient_filter.usernames"},
				"FilterBySomethingElse":     {object{"options": object{"recipient_filter": object{"usernames": list{"anna"}, "groups": list{}}}}, "options.recipient_filter.groups"},
				"FilterWithLimitTo":         {object{"options": object{"recipient_filter": object{"usernames": list{"anna"}}, "limit_to": list{"anna"}}}, "options.recipient_filter"},
				"AMemberThatDoesNotExist":   {object{"order": 17}, "order"},
				"AMemberInAnotherSpelling":  {object{"Context": object{"number": 1}}, "Context"},
				"BodyIsNotAnObject":         {list{}, "body"},
				"BodyIsNotJSON":             {raw("{"), "body"},
				"NoBody":                    {nil, "body"},
				"MoreRecipientsThanAllowed": {object{"options": object{"limit_to": strings.Split(strings.Repeat("a,", 10_000)+"a", ",")}}, "options.limit_to"},
			}, func(w *world, c struct {
				body  any
				field string
			},
			) {
				w.post(orderPath, c.body).isBadRequestFor(c.field)
			})(w)
			w.post(orderPath, object{"options": object{"limit": 1, "dry_run": 1}}).isBadRequestFor("options.limit", "options.dry_run")
			for _, blank := range []object{{"priority": "", "send_at": "", "expires_at": ""}, {"priority": " ", "send_at": " ", "expires_at": "\t"},
				{"priority": " bulk ", "send_at": " 2026-12-24T18:00:00Z ", "expires_at": " 2026-12-25T18:00:00Z\n"}} {
				blank["limit"] = 1
				w.post(orderPath, object{"options": blank}).isBadRequestFor("options.limit")
			}
			unknown := w.post(orderPath, object{"options": object{"limit": 1}}).errors()["options.limit"][0]
			names, found := strings.CutPrefix(unknown, "is not an option; there are ")
			require.True(w, found, unknown)
			for name := range strings.SplitSeq(names, ", ") {
				require.NotContains(w, w.post(orderPath, object{"options": object{name: object{}}}).errors()["options."+name][0], "is not an option")
			}
			w.post(orderPath, object{"number": 1, "note": "x", "options": object{"limit": 1}}).isBadRequestFor("number", "note", "options.limit")
			w.post(orderPath+"?cid="+strings.Repeat("x", 201), object{}).isBadRequestFor("cid")
			w.with("Idempotency-Key", strings.Repeat("x", 201)).post(orderPath, object{}).isBadRequestFor("Idempotency-Key")
			w.with("Idempotency-Key", "").post(orderPath, object{}).isBadRequestFor("Idempotency-Key")
			w.with("Idempotency-Key", "a", "a").post(orderPath, object{}).isBadRequestFor("Idempotency-Key")
		})
	}))

	t.Run("UnknownPeopleAndChannelsAre400NamingAll", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		w.post("/api/v1/user/globex/", object{"email": "zoe@globex.example"}).is(http.StatusCreated) // known elsewhere only
		w.unchanged(func() {
			for _, dryRun := range []bool{false, true} {
				w.post(orderPath, object{"options": object{"dry_run": dryRun, "channels": list{"Mail", "nothing", "log", "toString"},
					"limit_to": list{"Anna", "nobody", "ANNA@example.org", "+49 1511 2345678", "zoe@globex.example", " "}}}).isBadRequestFor("options.limit_to")
				found := w.post(orderPath, object{"options": object{"dry_run": dryRun, "channels": list{"Mail", "Nothing", "log", "toString"},
					"limit_to": list{"Anna", "nobody", "ANNA@example.org", "+49 1511 2345678", "zoe@globex.example"}}}).errors()
				require.Equal(w, map[string][]string{
					"options.limit_to": {`"nobody", "zoe@globex.example": neither a member's username nor an address in this organization`},
					"options.channels": {`the event has no channel "nothing"`, `the event has no channel "log"`, `the event has no channel "tostring"`},
				}, found)
				w.post(orderPath, object{"options": object{"dry_run": dryRun, "ignore_unknown": true, "channels": list{"nothing"}, "limit_to": list{"nobody"}}}).
					isBadRequestFor("options.channels")
				w.post(orderPath, object{"options": object{"dry_run": dryRun, "recipient_filter": object{"usernames": list{"anna", "nobody"}}}}).
					isBadRequestFor("options.recipient_filter.usernames")
				w.post(webPath+"e/free/trigger/", object{"options": object{"dry_run": dryRun, "channels": list{"log", "nothing", "post"}}}).isBadRequestFor("options.channels")
			}
		})
		w.post(webPath+"e/free/trigger/", object{"options": object{"channels": list{"LOG", "shop-mail", "mail"}}}).is(http.StatusCreated)
	}))

	t.Run("AContextThatDoesNotFitItsSchemaIs400WithPointers", both(func(w *world) {
		schema := func(s object) {
			b := orders()
			for i, e := range b.Organizations[0].Projects[0].Applications[0].Events {
				if e.Slug == "order" {
					b.Organizations[0].Projects[0].Applications[0].Events[i].Schema = s
					b.Organizations[0].Projects[0].Applications[0].Events[i].Templates = nil // They speak of other variables.
				}
			}
			w.apply(b)
		}
		line := object{"type": "object", "required": list{"price"}, "properties": object{"price": object{"type": "number", "minimum": 0}}}
		schema(object{"required": list{"number"}, "additionalProperties": false, "properties": object{"number": object{"type": "integer"},
			"lines": object{"type": "array", "items": object{"$ref": "#/$defs/line"}}}, "$defs": object{"line": line}})
		w.buyer("anna", "anna@example.org")
		again := w.with("Idempotency-Key", "a")
		fits := object{"context": object{"number": 17, "lines": list{object{"price": 1.5}}}}
		first := again.trigger(fits)
		w.unchanged(func() {
			for _, options := range []object{nil, {"dry_run": true}} {
				wrong := object{"number": "17", "order": 17, "lines": list{object{"price": 1}, object{"price": -1}, object{}}}
				require.Equal(w, map[string][]string{"context": {"/lines/1/price: minimum: got -1, want 0", "/lines/2: missing property 'price'",
					"/number: got string, want integer", "additional properties 'order' not allowed"}},
					w.post(orderPath, object{"context": wrong, "options": options}).errors())
				w.post(orderPath, object{"options": options}).isBadRequestFor("context")
				w.post(orderPath, object{"options": object{"dry_run": options["dry_run"], "limit_to": list{"nobody"}}}).isBadRequestFor("context", "options.limit_to")
			}
		})
		w.post(orderPath, object{"context": object{"number": 17}, "options": object{"dry_run": true}}).is(http.StatusOK)
		schema(object{"required": list{"other"}})
		require.Equal(w, first, again.trigger(fits), "it is known")
		w.post(orderPath, fits).isBadRequestFor("context")
		schema(nil) // Nothing is said of it.
		w.post(orderPath, fits).isBadRequestFor("context")
		schema(object{})
		w.post(orderPath, fits).is(http.StatusCreated)
	}))

	t.Run("ARepetitionIsAnsweredAfterThePeopleHaveGone", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		again := w.with("Idempotency-Key", "a")
		body := object{"options": object{"limit_to": list{"anna"}}}
		first := again.trigger(body)
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		w.unchanged(func() {
			require.Equal(w, first, again.trigger(body))
			w.post(orderPath, body).isBadRequestFor("options.limit_to")
		})
	}))

	t.Run("ADryRunShowsMessagesAndNamesOnlyToKeysThatMayReadDeliveries", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		w.lockMembership("ben")
		body := object{"options": object{"dry_run": true}}
		counts := `"recipients": [{"notification": "Buyer", "channel": "shop-mail", "recipients": 1}],
			"left_out": [{"notification": "Buyer", "channel": "shop-mail", "reason": "the application membership is locked", "recipients": 1, "users": %s}]`
		blind := w.as(w.issue(scope("acme/shop/web"), access.EventTrigger)).post(orderPath, body).is(http.StatusOK)
		blind.json(`{` + fmt.Sprintf(counts, "[]") + `, "messages": []}`)
		require.NotContains(w, string(blind.body), "anna")
		for _, grants := range [][]access.Grant{{access.EventTrigger, access.DeliveryRead}, {access.FullAccess}} {
			seen := w.as(w.issue(scope("acme/shop/web"), grants...)).post(orderPath, body).is(http.StatusOK)
			require.Len(w, read[forecast](seen).Messages, 1)
			require.Equal(w, []string{"ben"}, read[forecast](seen).LeftOut[0].Users)
		}
	}))

	t.Run("AnInactiveEventOrApplicationIs400", both(func(w *world) {
		w.apply(orders())
		w.unchanged(func() {
			for _, body := range []object{{}, {"options": object{"dry_run": true}}} {
				w.post(webPath+"e/quiet/trigger/", body).is(http.StatusBadRequest)
				w.with("Idempotency-Key", "a").post(webPath+"e/quiet/trigger/", body).is(http.StatusBadRequest)
			}
		})
		w.deactivate("web")
		w.unchanged(func() { w.post(orderPath, object{}).is(http.StatusBadRequest) })
	}))

	t.Run("EventOfAnotherApplicationIs404", both(func(w *world) {
		w.apply(orders())
		w.unchanged(func() {
			for _, path := range []string{webPath + "e/nothing/", officePath + "e/order/", webPath + "e/low/", "/api/o/acme/p/blog/a/web/e/order/",
				"/api/o/bare/p/shop/a/web/e/order/", shopPath + "a/nothing/e/order/", webPath + "e/ORDER/"} {
				w.post(path+"trigger/", object{}).is(http.StatusNotFound)
			}
		})
	}))

	t.Run("TwoOrganizationsWithEqualSlugsNeverMix", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org", "+4915112345678")
		theirs := object{"username": "anna", "first_name": "Other", "distribution_list": "web-users",
			"addresses": list{preferred("anna@example.org"), preferred("boss@globex.example")}}
		w.post("/api/o/globex/p/shop/a/web/register/", theirs).is(http.StatusOK)
		box := w.work()
		w.happens(object{"context": object{"number": 1}})
		require.Equal(w, []string{"+4915112345678 by text", "anna@example.org by shop-mail"}, box.messages())
		for _, l := range box.all() {
			require.True(w, l.channel == "text" || strings.HasPrefix(l.Text, "anna: "), "the name that acme recorded: %s", l.Text)
		}
		box.empty()

		globex := strings.ReplaceAll(orderPath, "acme", "globex")
		id := read[triggered](w.post(globex, object{"options": object{"limit_to": list{"anna"}}}).is(http.StatusCreated)).Occurrence
		w.eventually(strings.ReplaceAll(occurrencePath(id), "acme", "globex"), func(o occurrence) bool { return o.State == "done" })
		require.Equal(w, []string{"anna@example.org by shop-mail", "boss@globex.example by shop-mail"}, box.messages())
		for _, l := range box.all() {
			require.Equal(w, "Order of globex", l.Subject)
			require.True(w, strings.HasPrefix(l.Text, "Other: "), "the name that globex recorded: %s", l.Text)
		}
		for _, path := range []string{"", "deliveries/", "explain/?user=anna"} {
			w.get(occurrencePath(id) + path).is(http.StatusNotFound)
		}
	}))
}

func TestTriggerRenders(t *testing.T) {
	t.Parallel()

	t.Run("NumbersAsTheyWereSentAndOnlyHTMLEscaped", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		box := w.work()
		w.done(read[triggered](w.post(orderPath, raw(`{"context": {"number": 12345678901234567890, "price": 1.50, "note": "Fish & <Chips>"}}`)).
			is(http.StatusCreated)).Occurrence)
		require.Len(w, box.all(), 1)
		m := box.all()[0]
		require.Equal(w, "Order 12345678901234567890 of acme", m.Subject)
		require.Equal(w, "anna: Fish & <Chips>, 1.50", m.Text)
		require.Equal(w, "<p>Fish &amp; &lt;Chips&gt;</p>", m.HTML)
		require.Equal(w, "order", m.Facts["event"])
	}))

	t.Run("AMessageKeepsItsIDOnEveryAttemptAndSharesItWithNoOther", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := &outbox{}
		box.answers(refusing("anna@example.org", "greylisted", true))
		w.workInto(box)
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["sent"] == 1 && o.Counts["retrying"] == 1 })
		w.clock.Advance(time.Minute)
		w.eventually(occurrencePath(id), func(occurrence) bool { return len(box.all()) == 3 })
		// Wait before the clock moves on: otherwise the pause begins only then.
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["retrying"] == 1 })
		box.answers(nil)
		w.clock.Advance(time.Minute)
		w.done(id)
		ids := map[string]string{}
		for _, l := range box.all() {
			require.Contains(w, []string{"", l.ID}, ids[l.To])
			ids[l.To] = l.ID
		}
		require.NotEqual(w, ids["anna@example.org"], ids["ben@example.org"])
	}))
}

func TestTriggerIdempotency(t *testing.T) {
	t.Parallel()
	body := object{"context": object{"number": 1}}

	t.Run("TheSameRequestIsAnsweredWithTheSameOccurrence", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		again := w.with("Idempotency-Key", "a")
		made := again.post(orderPath, body).is(http.StatusCreated)
		first := read[triggered](made).Occurrence
		require.Empty(w, made.header.Values("Idempotency-Replayed"))
		w.unchanged(func() {
			same := again.post(orderPath, body).is(http.StatusCreated)
			require.Equal(w, first, read[triggered](same).Occurrence)
			require.Equal(w, "true", same.header.Get("Idempotency-Replayed"))
		})
		w.unchanged(func() {
			again.post(orderPath, object{"context": object{"number": 2}}).is(http.StatusUnprocessableEntity)
			again.post(strings.ReplaceAll(orderPath, "acme", "globex"), body).is(http.StatusUnprocessableEntity)
		})
		w.unchanged(func() { require.Equal(w, first, again.trigger(body)) })
		without := strings.TrimSuffix(orderPath, "/")
		w.unchanged(func() {
			require.Equal(w, first, read[triggered](again.post(without, body).is(http.StatusCreated)).Occurrence, "it is the same path")
		})
		box := w.work()
		w.done(first)
		require.Len(w, box.all(), 1)
	}))

	t.Run("ParallelEqualRequestsTriggerOnce", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		ids := map[int64]bool{}
		for _, a := range together(w, 16, func(int) (answer, error) { return again.try(http.MethodPost, orderPath, body) }) {
			ids[read[triggered](a.is(http.StatusCreated)).Occurrence] = true
		}
		require.Len(w, ids, 1)
		require.Len(w, w.rows(`SELECT id FROM occurrences`), 1)
	}))

	t.Run("AnotherAPIKeyOrIdempotencyKeyOrNoneIsAnotherRequest", both(func(w *world) {
		w.apply(orders())
		other := w.as(w.issue(scope("acme/shop/web"), access.EventTrigger))
		ids := map[int64]bool{}
		for _, c := range []client{w.with("Idempotency-Key", "a"), w.with("Idempotency-Key", "A"), other.with("Idempotency-Key", "a"), w.client, w.client} {
			ids[c.trigger(body)] = true
		}
		require.Len(w, ids, 5)
	}))

	t.Run("ARepetitionMayHaveAnotherCorrelationID", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		first := read[triggered](again.post(orderPath+"?cid=one", body).is(http.StatusCreated)).Occurrence
		w.unchanged(func() {
			for _, path := range []string{orderPath + "?cid=two", orderPath} {
				require.Equal(w, first, read[triggered](again.post(path, body).is(http.StatusCreated)).Occurrence, path)
			}
		})
		require.Equal(w, []string{"one"}, w.rows(`SELECT correlation_id FROM occurrences`))
	}))

	t.Run("IsForgottenAfter24Hours", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		first := again.trigger(body)
		w.clock.Advance(24*time.Hour - time.Second)
		require.Equal(w, first, again.trigger(body))
		w.clock.Advance(time.Second)
		require.NotEqual(w, first, again.trigger(object{}))
	}))

	t.Run("ARepetitionIsAnsweredAfterTheEventWasMadeInactive", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		first := again.trigger(body)
		w.deactivate("web")
		w.unchanged(func() {
			require.Equal(w, first, again.trigger(body))
			w.post(orderPath, body).is(http.StatusBadRequest)
		})
	}))

	t.Run("ARefusalIsNotRemembered", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		again.post(orderPath, object{"options": object{"limit": 1}}).is(http.StatusBadRequest)
		again.post(webPath+"e/quiet/trigger/", body).is(http.StatusBadRequest)
		again.trigger(body)
	}))
}

// deactivate makes an application of acme/shop inactive.
func (w *world) deactivate(slug string) {
	w.Helper()
	o := app.BlueprintOrganization{Slug: "acme", Name: "ACME", Projects: []app.BlueprintProject{{
		Slug: "shop", Name: "Shop", Applications: []app.BlueprintApplication{{Slug: slug, Name: strings.ToUpper(slug[:1]) + slug[1:]}},
	}}}
	w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{o}})
}
