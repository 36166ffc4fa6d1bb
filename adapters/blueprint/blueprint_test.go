package blueprint_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/blueprint"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

func environ() []string {
	return []string{"HOST=mail.example.org", "EMPTY=", "PASSWORD=overridden", "PASSWORD= p=${HOST}$ ", "NUL=a\x00b", "LATIN=\xe9", "BIG=" + strings.Repeat("x", 100<<10)}
}

func parse(t *testing.T, text string) app.Blueprint {
	t.Helper()
	f, err := blueprint.Parse("demo.yaml", []byte(text), environ())
	require.NoError(t, err)
	return f.Blueprint
}

const everyMember = `
organizations:
  - slug: acme
    name: " Acme Inc. "
    groups: [Staff, "Crew "]
    quotas: {rate_limit: 0.5, organization_rate_limit: 1000}
    require_second_factor: true
    default_region: " DE "
    searchable_metadata: [plan, " address.city "]
    channels:
      - {name: mail, protocol: EMAIL, driver: smtp, preferred: true, pool: post, weight: 80, active: false, settings: {host: localhost, port: 25}}
    projects:
      - slug: shop
        name: Shop
        channels:
          - {name: bulk, protocol: EMAIL, driver: smtp}
        lists:
          - {name: News}
          - {name: Web, application: web}
        applications:
          - slug: web
            name: Web
            active: false
            events:
              - slug: shipped
                name: Shipped
                description: |
                  A parcel left.
                active: false
                priority: bulk
                context_schema: {properties: {order: {type: integer, minimum: 1}}}
                channels: [mail]
                templates:
                  - {channel: mail, subject: " Hi ", text: " Hello ", html: "<p>\n"}
                notifications:
                  - {name: Tell, list: Web, active: false, templates: [{channel: bulk, markdown: " # Hi "}]}
                  - {name: All}
              - {slug: lost, name: Lost}
          - {slug: app, name: App}
`

func TestParseReadsEveryMember(t *testing.T) {
	t.Parallel()
	assert.Equal(t, app.Blueprint{Organizations: []app.BlueprintOrganization{{
		Slug: "acme", Name: "Acme Inc.", Groups: []string{"Staff", "Crew"}, Quotas: quotas.Limits{quotas.Requests: 0.5, quotas.OrganizationRequests: 1000}, Region: new("DE"), Factor: new(true),
		Searchable: &[]string{"plan", "address.city"},
		Channels: []app.BlueprintChannel{{Name: "mail", Protocol: "EMAIL", Driver: "smtp", Preferred: true, Pool: "post", Weight: 80,
			Settings: channels.Settings{"host": "localhost", "port": 25}}},
		Projects: []app.BlueprintProject{{
			Slug: "shop", Name: "Shop",
			Channels: []app.BlueprintChannel{{Name: "bulk", Protocol: "EMAIL", Driver: "smtp", Active: true, Weight: channels.DefaultWeight}},
			Lists:    []app.BlueprintList{{Name: "News"}, {Name: "Web", Application: "web"}},
			Applications: []app.BlueprintApplication{
				{Slug: "web", Name: "Web", Events: []app.BlueprintEvent{
					{Slug: "shipped", Name: "Shipped", Description: "A parcel left.", Priority: "bulk", Channels: []string{"mail"},
						Schema:    map[string]any{"properties": map[string]any{"order": map[string]any{"type": "integer", "minimum": 1}}},
						Templates: []app.BlueprintTemplate{{Channel: "mail", Subject: "Hi", Text: " Hello ", HTML: "<p>\n"}},
						Notifications: []app.BlueprintNotification{
							{Name: "Tell", List: "Web", Templates: []app.BlueprintTemplate{{Channel: "bulk", Markdown: " # Hi "}}},
							{Name: "All", Active: true},
						}},
					{Slug: "lost", Name: "Lost", Active: true},
				}},
				{Slug: "app", Name: "App", Active: true},
			},
		}},
	}}}, parse(t, everyMember))
}

func TestParseForms(t *testing.T) {
	t.Parallel()
	want := app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Acme", Groups: []string{"Staff"}}}}
	for name, text := range map[string]string{
		"JSON":            `{"organizations": [{"slug": "acme", "name": "Acme", "groups": ["Staff"]}]}`,
		"Document":        "---\norganizations: [{slug: acme, name: Acme, groups: [Staff]}]\n...\n",
		"NullIsMissing":   "organizations: [{slug: acme, name: Acme, groups: [Staff], channels: null, projects: ~}]",
		"Alias":           "organizations: [{slug: acme, name: &n Acme, groups: [Staff]}]",
		"ByteOrderMark":   "\ufefforganizations: [{slug: acme, name: Acme, groups: [Staff]}]",
		"WindowsLineEnds": "organizations:\r\n  - slug: acme\r\n    name: Acme\r\n    groups: [Staff]\r\n",
		"MergeKey":        "organizations: [{<<: {slug: acme, name: Other, groups: [Staff]}, name: Acme}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, parse(t, text))
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"APairOfSurrogates":   {`{"organizations": [{"slug": "acme", "name": "\ud83d\udE00 \u00e9 \/ \uD834\uDD1E"}]}`, "😀 é / 𝄞"},
		"AnEscapedBackslash":  {`{"organizations": [{"slug": "acme", "name": "\\ud83d\\ude00"}]}`, `\ud83d\ude00`},
		"AfterABackslash":     {`{"organizations": [{"slug": "acme", "name": "\\\ud83d\ude00"}]}`, `\😀`},
		"AfterAByteOrderMark": {"\ufeff" + `{"organizations": [{"slug": "acme", "name": "\ud83d\ude00"}]}`, "😀"},
	} {
		t.Run("JSON/"+name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, parse(t, c.text).Organizations[0].Name)
		})
	}
	for name, text := range map[string]string{"High": `\ud83d`, "Low": `\ude00`, "TwoHigh": `\ud83d\ud83d`} {
		t.Run("HalfASurrogatePair/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := blueprint.Parse("demo.json", []byte("{\"organizations\":\n[{\"name\": \""+text+"\"}]}"), nil)
			require.ErrorContains(t, err, "is not YAML: found invalid Unicode character escape code")
		})
	}
	assert.Empty(t, parse(t, "organizations: []").Organizations)
	assert.Empty(t, parse(t, "organizations:").Organizations)
}

func TestParseAliases(t *testing.T) {
	t.Parallel()
	b := parse(t, `
organizations:
  - &acme
    slug: acme
    name: Acme
    channels:
      - &smtp {name: one, protocol: EMAIL, driver: smtp, settings: {host: a}}
      - {<<: *smtp, name: two}
      - {<<: [{name: three}, *smtp], active: false}
  - {<<: *acme, slug: beta}
`)
	require.Len(t, b.Organizations, 2)
	assert.Equal(t, b.Organizations[0].Channels, b.Organizations[1].Channels)
	assert.Equal(t, "beta", b.Organizations[1].Slug)
	assert.Equal(t, "Acme", b.Organizations[1].Name)
	cs := b.Organizations[0].Channels
	assert.Equal(t, []string{"one", "two", "three"}, []string{cs[0].Name, cs[1].Name, cs[2].Name})
	assert.Equal(t, cs[0].Settings, cs[2].Settings)
	assert.False(t, cs[2].Active)
}

func settings(t *testing.T, text string) channels.Settings {
	t.Helper()
	return parse(t, "organizations: [{channels: [{settings: "+text+"}]}]").Organizations[0].Channels[0].Settings
}

func TestParseSettings(t *testing.T) {
	t.Parallel()
	t.Run("ValuesAreThoseOfJSON", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, channels.Settings{"b": true, "i": 7, "f": 1.5, "s": "x", "d": "2026-01-02", "q": "7", "n": nil,
			"list": []any{"a", map[string]any{"k": "v"}}, "u": uint64(18446744073709551615)},
			settings(t, `{b: true, i: 7, f: 1.5, s: x, d: 2026-01-02, q: "7", n: null, list: [a, {k: v}], u: 18446744073709551615}`))
	})
	t.Run("TextsKeepTheirSpace", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, channels.Settings{"s": " x "}, settings(t, `{s: " x "}`))
	})
	for name, c := range map[string]struct{ text, want string }{
		"AVariable":                  {"${HOST}", "mail.example.org"},
		"AmongOtherText":             {"smtp.${HOST}:25", "smtp.mail.example.org:25"},
		"Several":                    {"${HOST}${EMPTY}${HOST}", "mail.example.orgmail.example.org"},
		"SetButEmpty":                {"${EMPTY}", ""},
		"TheLastOfSeveralCounts":     {"${PASSWORD}", " p=${HOST}$ "},
		"Escaped":                    {"$${HOST} ${HOST}", "${HOST} mail.example.org"},
		"OtherDollarsAreText":        {"$HOST $$ $1 {HOST} $", "$HOST $$ $1 {HOST} $"},
		"TheTextIsEscapedOnlyOnce":   {"$$${HOST}", "$${HOST}"},
		"AnEscapeNeedsNoVariable":    {"$${", "${"},
		"VariablesAreNotSoughtTwice": {"$${PASSWORD}${PASSWORD}", "${PASSWORD} p=${HOST}$ "},
	} {
		t.Run("Variables/"+name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, channels.Settings{"s": c.want, "l": []any{c.want}}, settings(t, fmt.Sprintf("{s: %q, l: [%q]}", c.text, c.text)))
		})
	}
	t.Run("VariablesOnlyInSettings", func(t *testing.T) {
		t.Parallel()
		b := parse(t, `organizations: [{slug: "${HOST}", name: "${NOPE}", channels: [{settings: {"${NOPE}": 1}}]}]`)
		assert.Equal(t, "${HOST}", b.Organizations[0].Slug)
		assert.Equal(t, channels.Settings{"${NOPE}": 1}, b.Organizations[0].Channels[0].Settings)
	})
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	channel := func(settings string) string {
		return "organizations:\n- channels:\n  - settings: " + settings
	}
	const path = "organizations[0].channels[0].settings"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"Empty":         {"", []string{"demo.yaml: is empty: there must be a member organizations"}},
		"OnlyComments":  {"# later\n", []string{"demo.yaml: is empty: there must be a member organizations"}},
		"Null":          {"~", []string{"demo.yaml:1: is empty: there must be a member organizations"}},
		"NoYAML":        {"organizations:\n  - slug: acme\n name: x\n", []string{"demo.yaml:3: is not YAML: did not find expected key"}},
		"NoUTF8":        {"organizations: [\xff]", []string{"demo.yaml: is not YAML: invalid leading UTF-8 octet"}},
		"UnknownAnchor": {"organizations: *x", []string{"demo.yaml: is not YAML: unknown anchor 'x' referenced"}},
		"TwoDocuments":  {"organizations: []\n---\norganizations: []\n", []string{"demo.yaml:2: a second document begins, there must be only one"}},
		"BrokenSecond":  {"organizations: []\n---\n]", []string{"demo.yaml:3: is not YAML: did not find expected node content"}},
		"NoMapping":     {"- organizations", []string{"demo.yaml:1: must be a mapping with the members organizations"}},
		"UnknownMember": {"organizations:\n- slug: acme\n  projects:\n  - slug: shop\n    lists:\n    - name: News\n    - nam: Web\n",
			[]string{`demo.yaml:7: organizations[0].projects[0].lists[1]: unknown member "nam" (did you mean "name"?)`}},
		"UnknownAtTheTop":      {"organisations: []", []string{`demo.yaml:1: unknown member "organisations" (did you mean "organizations"?)`}},
		"UnknownLikeNothing":   {"organizations: [{colour: red}]", []string{`demo.yaml:1: organizations[0]: unknown member "colour"`}},
		"UnknownInOtherCase":   {"organizations: [{Slug: acme}]", []string{`demo.yaml:1: organizations[0]: unknown member "Slug" (did you mean "slug"?)`}},
		"MemberTwice":          {"organizations:\n- slug: acme\n  name: Acme\n  slug: beta\n", []string{`demo.yaml:4: organizations[0]: the member "slug" appears twice`}},
		"NumberForAText":       {"organizations:\n- slug: 7\n", []string{"demo.yaml:2: organizations[0].slug: must be a text: put quotes around it"}},
		"TruthForAText":        {"organizations: [{groups: [a, yes, true]}]", []string{"demo.yaml:1: organizations[0].groups[2]: must be a text: put quotes around it"}},
		"MomentForAText":       {"organizations: [{name: 2026-01-02}]", []string{"demo.yaml:1: organizations[0].name: must be a text: put quotes around it"}},
		"MappingForAText":      {"organizations: [{name: {a: b}}]", []string{"demo.yaml:1: organizations[0].name: must be a text"}},
		"TextForATruth":        {"organizations: [{channels: [{active: yes}]}]", []string{"demo.yaml:1: organizations[0].channels[0].active: must be true or false"}},
		"TaggedNonsense":       {"organizations: [{channels: [{active: !!bool maybe}]}]", []string{"demo.yaml:1: organizations[0].channels[0].active: must be true or false"}},
		"TextForASequence":     {"organizations: [{groups: Staff}]", []string{"demo.yaml:1: organizations[0].groups: must be a sequence"}},
		"TextForAMapping":      {"organizations: [acme]", []string{"demo.yaml:1: organizations[0]: must be a mapping with the members channels, default_region, groups, name, partials, projects, quotas, require_second_factor, searchable_metadata, slug"}},
		"ListForQuotas":        {"organizations: [{quotas: [rate_limit]}]", []string{"demo.yaml:1: organizations[0].quotas: must be a mapping"}},
		"TextForANumber":       {"organizations: [{quotas: {rate_limit: \"5\"}}]", []string{"demo.yaml:1: organizations[0].quotas.rate_limit: must be a number"}},
		"TextForADecision":     {"organizations: [{require_second_factor: sometimes}]", []string{"demo.yaml:1: organizations[0].require_second_factor: must be true or false"}},
		"NoFiniteNumber":       {"organizations: [{quotas: {rate_limit: .inf}}]", []string{"demo.yaml:1: organizations[0].quotas.rate_limit: must be a finite number"}},
		"ListForSettings":      {channel("[a]"), []string{"demo.yaml:3: " + path + ": must be a mapping"}},
		"KeyIsAMapping":        {"organizations: [{? {a: b} : c}]", []string{"demo.yaml:1: organizations[0]: the name of a member must be a text"}},
		"NULInAKey":            {channel(`{"a\0": 1}`), []string{"demo.yaml:3: " + path + ": the name of a member contains a NUL character or is not UTF-8"}},
		"MergeOfNothing":       {"organizations: [{<<: a}]", []string{"demo.yaml:1: organizations[0]: << must name a mapping, or a sequence of them"}},
		"MergeOfAMerge":        {"organizations: [{<<: {<<: {slug: a}}}]", []string{"demo.yaml:1: organizations[0]: << must not name a mapping that has a << itself"}},
		"MergeOfItself":        {"organizations: [&a {<<: *a}]", []string{"demo.yaml:1: organizations[0]: << must not name a mapping that has a << itself"}},
		"UnsetVariable":        {channel("{host: h, password: 'a${SECRET}b'}"), []string{"demo.yaml:3: " + path + ".password: the environment variable SECRET is not set"}},
		"BadVariable":          {channel("{a: [x, '${NO SPACE}'], b: '${'}"), []string{"demo.yaml:3: " + path + ".a[1]: ${ begins a variable such as ${NAME}; write $${ for the characters themselves", "demo.yaml:3: " + path + ".b: ${ begins a variable such as ${NAME}; write $${ for the characters themselves"}},
		"NULInAText":           {channel(`{a: "x\0"}`), []string{"demo.yaml:3: " + path + ".a: contains a NUL character or is not UTF-8"}},
		"NULInAVariable":       {channel("{a: '${NUL}'}"), []string{"demo.yaml:3: " + path + ".a: contains a NUL character or is not UTF-8"}},
		"NoUTF8InAVariable":    {channel("{a: '${LATIN}'}"), []string{"demo.yaml:3: " + path + ".a: contains a NUL character or is not UTF-8"}},
		"ManyLargeVariables":   {channel("{a: '" + strings.Repeat("${BIG}", 1000) + "'}"), []string{"demo.yaml:3: " + path + ".a: is longer than 256 KiB"}},
		"NoNumber":             {channel("{a: .nan, b: -.inf}"), []string{"demo.yaml:3: " + path + ".a: must be a finite number", "demo.yaml:3: " + path + ".b: must be a finite number"}},
		"TaggedBinary":         {channel("{a: !!binary aGk=}"), []string{"demo.yaml:3: " + path + ".a: must be true, false, a number or a text"}},
		"DeepSettings":         {channel(strings.Repeat("{a: ", 33) + "1" + strings.Repeat("}", 33)), []string{"demo.yaml:3: " + path + strings.Repeat(".a", 32) + ": is nested deeper than 32 levels"}},
		"SettingsInThemselves": {channel("&a {a: *a}"), []string{"demo.yaml:3: " + path + strings.Repeat(".a", 32) + ": is nested deeper than 32 levels"}},
		"EverythingAtOnceInOrder": {"organizations:\n- name: 1\n  projects:\n  - lists: no\n    appliations: []\n  groups: {}\n", []string{
			"demo.yaml:2: organizations[0].name: must be a text: put quotes around it",
			"demo.yaml:4: organizations[0].projects[0].lists: must be a sequence",
			`demo.yaml:5: organizations[0].projects[0]: unknown member "appliations" (did you mean "applications"?)`,
			"demo.yaml:6: organizations[0].groups: must be a sequence",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := blueprint.Parse("demo.yaml", []byte(c.text), environ())
			require.Error(t, err)
			assert.Equal(t, strings.Join(c.want, "\n"), err.Error())
			assert.Equal(t, err, f.Locate(err), "there is nothing to locate")
		})
	}
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		_, err := blueprint.Parse("demo.yaml", make([]byte, blueprint.MaxBytes+1), nil)
		assert.EqualError(t, err, "demo.yaml: is larger than 16 MiB")
	})
	t.Run("MistakesWithoutEnd", func(t *testing.T) {
		t.Parallel()
		_, err := blueprint.Parse("demo.yaml", []byte("organizations:\n"+strings.Repeat("- 1\n", 500)), nil)
		require.Error(t, err)
		lines := strings.Split(err.Error(), "\n")
		assert.Len(t, lines, 101)
		assert.Equal(t, "and 400 more mistakes", lines[100])
	})
}

// TestParseBoundsAliases checks nine levels of nine aliases each, which would be 387 million nodes.
func TestParseBoundsAliases(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("organizations:\n- slug: acme\n  channels:\n  - settings:\n      a: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&b, "      %c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	for name, text := range map[string]string{
		"InSettings": b.String(),
		"InGroups":   "organizations:\n" + "- &a {slug: a, groups: [" + strings.Repeat("g,", 600) + "]}\n" + strings.Repeat("- *a\n", 600),
		"InMerges":   "organizations:\n" + "- channels:\n  - settings: &a {" + manyKeys(600) + "}\n" + strings.Repeat("  - settings: {<<: *a}\n", 600),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := blueprint.Parse("demo.yaml", []byte(text), nil)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "aliases or members make the file larger than is allowed")
			assert.NotContains(t, err.Error(), "\n", "it is said once")
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	return b.String()
}

func TestLocate(t *testing.T) {
	t.Parallel()
	f, err := blueprint.Parse("demo.yaml", []byte("# remark\norganizations:\n  - slug: acme\n    channels: &c\n      - name: mail\n        settings: {host: x, a.b: 1,\n          port: 0}\n"+
		"  - slug: beta\n    channels: *c\n  - <<: {slug: gamma,\n         name: G}\n    groups:\n    - a\n    - b\n"), nil)
	require.NoError(t, err)
	for path, line := range map[string]int{
		"organizations":                               2,
		"organizations[0]":                            3,
		"organizations[0].slug":                       3,
		"organizations[0].name":                       3, // missing: the line of the organization
		"organizations[0].channels[0].name":           5,
		"organizations[0].channels[0].driver":         5,
		"organizations[0].channels[0].settings.host":  6,
		"organizations[0].channels[0].settings.port":  7,
		"organizations[0].channels[0].settings.a.b":   6,
		"organizations[0].channels[7].name":           4,
		"organizations[1].channels[0].settings.port":  7,
		"organizations[2].name":                       11,
		"organizations[2].groups[1]":                  14,
		"organizations[2].groups[1].x":                14,
		"nothing.like.this":                           2,
		"":                                            2,
		"[5]":                                         2,
		"organizations[0]]":                           3,
		"organizations[99999999999999999999999].slug": 2,
	} {
		located := f.Locate(fault.Field(path, "is wrong"))
		want := fmt.Sprintf("demo.yaml:%d: %s: is wrong", line, path)
		if path == "" {
			want = "demo.yaml:2: is wrong"
		}
		assert.EqualError(t, located, want)
	}
	t.Run("AllOfThemInTheOrderOfTheFile", func(t *testing.T) {
		t.Parallel()
		var faults fault.Fields
		faults.Addf("organizations[2].slug", "is taken")
		faults.Addf("organizations[0].slug", "is odd")
		faults.Addf("organizations[0].slug", "is old")
		assert.EqualError(t, f.Locate(faults.Err()), "demo.yaml:3: organizations[0].slug: is odd\ndemo.yaml:3: organizations[0].slug: is old\ndemo.yaml:10: organizations[2].slug: is taken")
	})
	t.Run("OtherErrorsPass", func(t *testing.T) {
		t.Parallel()
		other := errors.New("the database is away")
		assert.Equal(t, other, f.Locate(other))
		assert.NoError(t, f.Locate(nil))
	})
}

func TestDemoBlueprint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../configs/demo.yaml")
	require.NoError(t, err)
	f, err := blueprint.Parse("demo.yaml", text, nil)
	require.NoError(t, err)
	assert.NotEmpty(t, f.Blueprint.Organizations)
}
