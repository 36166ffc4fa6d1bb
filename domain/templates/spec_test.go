package templates_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The tables below go through the Mustache specification, module by module and case by case, under
// the names it gives its cases; the specification escapes, so they are rendered as HTML. Its
// optional modules and partials are refused, see TestParse.
type specCase struct{ data, template, want string }

func check(t *testing.T, cases map[string]specCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, html(t, c.template, c.data))
		})
	}
}

func TestInterpolation(t *testing.T) {
	t.Parallel()
	const chars, nested = `{"chars": "& \" < >"}`, `{"owner": {"name": "Ada"}}`
	check(t, map[string]specCase{
		"No Interpolation":    {`{}`, "A {single} brace\n", "A {single} brace\n"},
		"Basic Interpolation": {`{"name": "Ada"}`, "Dear {{name}},\n", "Dear Ada,\n"},
		"No Re-interpolation": {`{"tag": "{{name}}", "name": "Ada"}`, "{{tag}}: {{name}}", "{{name}}: Ada"},

		"HTML Escaping":   {chars, "chars: {{chars}}\n", "chars: &amp; &quot; &lt; &gt;\n"},
		"Triple Mustache": {chars, "chars: {{{chars}}}\n", "chars: & \" < >\n"},
		"Ampersand":       {chars, "chars: {{&chars}}\n", "chars: & \" < >\n"},

		"Basic Integer Interpolation":           {`{"n": 85}`, "{{n}} km", "85 km"},
		"Triple Mustache Integer Interpolation": {`{"n": 85}`, "{{{n}}} km", "85 km"},
		"Ampersand Integer Interpolation":       {`{"n": 85}`, "{{&n}} km", "85 km"},
		"Basic Decimal Interpolation":           {`{"n": 1.21}`, "{{n}} GW", "1.21 GW"},
		"Triple Mustache Decimal Interpolation": {`{"n": 1.21}`, "{{{n}}} GW", "1.21 GW"},
		"Ampersand Decimal Interpolation":       {`{"n": 1.21}`, "{{&n}} GW", "1.21 GW"},

		"Basic Null Interpolation":                   {`{"n": null}`, "({{n}})", "()"},
		"Triple Mustache Null Interpolation":         {`{"n": null}`, "({{{n}}})", "()"},
		"Ampersand Null Interpolation":               {`{"n": null}`, "({{&n}})", "()"},
		"Basic Context Miss Interpolation":           {`{}`, "({{none}})", "()"},
		"Triple Mustache Context Miss Interpolation": {`{}`, "({{{none}}})", "()"},
		"Ampersand Context Miss Interpolation":       {`{}`, "({{&none}})", "()"},

		"Dotted Names - Basic Interpolation":           {nested, "{{owner.name}} = {{#owner}}{{name}}{{/owner}}", "Ada = Ada"},
		"Dotted Names - Triple Mustache Interpolation": {nested, "{{{owner.name}}} = {{#owner}}{{{name}}}{{/owner}}", "Ada = Ada"},
		"Dotted Names - Ampersand Interpolation":       {nested, "{{&owner.name}} = {{#owner}}{{&name}}{{/owner}}", "Ada = Ada"},
		"Dotted Names - Arbitrary Depth":               {`{"a": {"b": {"c": {"d": {"e": {"name": "Ada"}}}}}}`, "{{a.b.c.d.e.name}}", "Ada"},
		"Dotted Names - Broken Chains":                 {`{"a": {}}`, "({{a.b.c}})", "()"},
		"Dotted Names - Broken Chain Resolution":       {`{"a": {"b": {}}, "c": {"name": "Eve"}}`, "({{a.b.c.name}})", "()"},
		"Dotted Names - Initial Resolution":            {`{"a": {"b": {"c": {"name": "Ada"}}}, "b": {"c": {"name": "Eve"}}}`, "{{#a}}{{b.c.name}}{{/a}}", "Ada"},
		"Dotted Names - Context Precedence":            {`{"a": {"b": {}}, "b": {"c": "Eve"}}`, "({{#a}}{{b.c}}{{/a}})", "()"},
		"Dotted Names are never single keys":           {`{"a.b": "c"}`, "({{a.b}})", "()"},
		"Dotted Names - No Masking":                    {`{"a.b": "c", "a": {"b": "d"}}`, "({{a.b}})", "(d)"},

		"Implicit Iterators - Basic Interpolation":         {`{"l": ["world"]}`, "Hello, {{#l}}{{.}}{{/l}}!", "Hello, world!"},
		"Implicit Iterators - HTML Escaping":               {`{"l": ["& \" < >"]}`, "{{#l}}{{.}}{{/l}}", "&amp; &quot; &lt; &gt;"},
		"Implicit Iterators - Triple Mustache":             {`{"l": ["& \" < >"]}`, "{{#l}}{{{.}}}{{/l}}", "& \" < >"},
		"Implicit Iterators - Ampersand":                   {`{"l": ["& \" < >"]}`, "{{#l}}{{&.}}{{/l}}", "& \" < >"},
		"Implicit Iterators - Basic Integer Interpolation": {`{"l": [85]}`, "{{#l}}{{.}} km{{/l}}", "85 km"},

		"Interpolation - Surrounding Whitespace":   {`{"s": "---"}`, "| {{s}} |", "| --- |"},
		"Triple Mustache - Surrounding Whitespace": {`{"s": "---"}`, "| {{{s}}} |", "| --- |"},
		"Ampersand - Surrounding Whitespace":       {`{"s": "---"}`, "| {{&s}} |", "| --- |"},
		"Interpolation - Standalone":               {`{"s": "---"}`, "  {{s}}\n", "  ---\n"},
		"Triple Mustache - Standalone":             {`{"s": "---"}`, "  {{{s}}}\n", "  ---\n"},
		"Ampersand - Standalone":                   {`{"s": "---"}`, "  {{&s}}\n", "  ---\n"},
		"Interpolation With Padding":               {`{"s": "---"}`, "|{{ s }}|", "|---|"},
		"Triple Mustache With Padding":             {`{"s": "---"}`, "|{{{ s }}}|", "|---|"},
		"Ampersand With Padding":                   {`{"s": "---"}`, "|{{& s }}|", "|---|"},
	})
}

func TestSections(t *testing.T) {
	t.Parallel()
	const yes, list, scopes = `{"yes": true}`, `{"list": [{"n": 1}, {"n": 2}, {"n": 3}]}`,
		`{"a": {"one": 1}, "b": {"two": 2}, "c": {"three": 3, "d": {"four": 4, "five": 5}}}`
	check(t, map[string]specCase{
		"Truthy":         {yes, "({{#yes}}shown{{/yes}})", "(shown)"},
		"Falsey":         {`{"no": false}`, "({{#no}}shown{{/no}})", "()"},
		"Null is falsey": {`{"no": null}`, "({{#no}}shown{{/no}})", "()"},
		"Context":        {`{"user": {"name": "Ada"}}`, "{{#user}}Hi {{name}}.{{/user}}", "Hi Ada."},
		"Parent contexts": {`{"a": "outer", "b": "hidden", "s": {"b": "inner"}, "c": {"d": "dotted"}}`,
			"{{#s}}{{a}}, {{b}}, {{c.d}}{{/s}}", "outer, inner, dotted"},
		"Variable test": {`{"name": "Ada"}`, "{{#name}}{{.}} is {{name}}{{/name}}", "Ada is Ada"},
		"List Contexts": {`{"tops": [{"t": {"upper": "A", "lower": "a"}, "middles": [{"m": "1", "bottoms": [{"b": "x"}, {"b": "y"}]}]}]}`,
			"{{#tops}}{{#middles}}{{t.lower}}{{m}}.{{#bottoms}}{{t.upper}}{{m}}{{b}}.{{/bottoms}}{{/middles}}{{/tops}}", "a1.A1x.A1y."},
		"Deeply Nested Contexts": {scopes, "{{#a}}\n{{one}}\n{{#b}}\n{{one}}{{two}}\n{{#c}}\n{{one}}{{two}}{{three}}\n{{#d}}\n{{one}}{{two}}{{three}}{{four}}\n" +
			"{{#five}}\n{{one}}{{two}}{{three}}{{four}}{{five}}{{.}}\n{{/five}}\n{{four}}{{three}}\n{{/d}}\n{{three}}{{two}}\n{{/c}}\n{{two}}{{one}}\n{{/b}}\n{{one}}\n{{/a}}\n",
			"1\n12\n123\n1234\n123455\n43\n32\n21\n1\n"},
		"List":            {list, "{{#list}}{{n}}{{/list}}", "123"},
		"Empty List":      {`{"list": []}`, "({{#list}}shown{{/list}})", "()"},
		"Doubled":         {`{"yes": true, "two": "second"}`, "{{#yes}}\n- first\n{{/yes}}\n- {{two}}\n{{#yes}}\n- third\n{{/yes}}\n", "- first\n- second\n- third\n"},
		"Nested (Truthy)": {yes, "| A {{#yes}}B {{#yes}}C{{/yes}} D{{/yes}} E |", "| A B C D E |"},
		"Nested (Falsey)": {`{"yes": false}`, "| A {{#yes}}B {{#yes}}C{{/yes}} D{{/yes}} E |", "| A  E |"},
		"Context Misses":  {`{}`, "[{{#none}}shown{{/none}}]", "[]"},

		"Implicit Iterator - String":          {`{"l": ["a", "b", "c"]}`, "{{#l}}({{.}}){{/l}}", "(a)(b)(c)"},
		"Implicit Iterator - Integer":         {`{"l": [1, 2, 3]}`, "{{#l}}({{.}}){{/l}}", "(1)(2)(3)"},
		"Implicit Iterator - Decimal":         {`{"l": [1.10, 2.20]}`, "{{#l}}({{.}}){{/l}}", "(1.10)(2.20)"},
		"Implicit Iterator - Array":           {`{"l": [[1, 2], ["a", "b"]]}`, "{{#l}}({{#.}}{{.}}{{/.}}){{/l}}", "(12)(ab)"},
		"Implicit Iterator - HTML Escaping":   {`{"l": ["&", "\"", "<", ">"]}`, "{{#l}}({{.}}){{/l}}", "(&amp;)(&quot;)(&lt;)(&gt;)"},
		"Implicit Iterator - Triple mustache": {`{"l": ["&", "\"", "<", ">"]}`, "{{#l}}({{{.}}}){{/l}}", "(&)(\")(<)(>)"},
		"Implicit Iterator - Ampersand":       {`{"l": ["&", "\"", "<", ">"]}`, "{{#l}}({{&.}}){{/l}}", "(&)(\")(<)(>)"},
		"Implicit Iterator - Nothing":         {`{"l": [null, false, 0, ""]}`, "{{#l}}({{.}}){{/l}}", "()(false)(0)()"},
		"Implicit Iterator - Root-level":      {`{"v": 1}`, "{{#.}}({{v}}){{/.}}", "(1)"},

		"Dotted Names - Truthy":        {`{"a": {"b": {"c": true}}}`, "({{#a.b.c}}here{{/a.b.c}})", "(here)"},
		"Dotted Names - Falsey":        {`{"a": {"b": {"c": false}}}`, "({{#a.b.c}}here{{/a.b.c}})", "()"},
		"Dotted Names - Broken Chains": {`{"a": {}}`, "({{#a.b.c}}here{{/a.b.c}})", "()"},

		"Surrounding Whitespace":           {yes, " | {{#yes}}\t|\t{{/yes}} | \n", " | \t|\t | \n"},
		"Internal Whitespace":              {yes, " | {{#yes}} {{! note }}\n {{/yes}} | \n", " |  \n  | \n"},
		"Indented Inline Sections":         {yes, " {{#yes}}YES{{/yes}}\n {{#yes}}GOOD{{/yes}}\n", " YES\n GOOD\n"},
		"Standalone Lines":                 {yes, "| one\n{{#yes}}\n|\n{{/yes}}\n| two\n", "| one\n|\n| two\n"},
		"Indented Standalone Lines":        {yes, "| one\n  {{#yes}}\n|\n\t{{/yes}}\n| two\n", "| one\n|\n| two\n"},
		"Standalone Line Endings":          {yes, "|\r\n{{#yes}}\r\n{{/yes}}\r\n|", "|\r\n|"},
		"Standalone Without Previous Line": {yes, "  {{#yes}}\n#{{/yes}}\n/", "#\n/"},
		"Standalone Without Newline":       {yes, "#{{#yes}}\n/\n  {{/yes}}", "#\n/\n"},
		"Padding":                          {yes, "|{{# yes }}={{/ yes }}|", "|=|"},
		"Padding Before the Mark":          {yes, "|{{ #yes }}={{\n/yes }}|", "|=|"},

		"The empty string is falsey":    {`{"name": ""}`, "({{#name}}shown{{/name}})", "()"},
		"Zero is truthy":                {`{"n": 0}`, "({{#n}}{{n}} left{{/n}})", "(0 left)"},
		"An empty object is truthy":     {`{"o": {}}`, "({{#o}}shown{{/o}})", "(shown)"},
		"Two Sections on one line stay": {yes, "  {{#yes}}  {{/yes}}  \n|", "      \n|"},
	})
}

func TestInvertedSections(t *testing.T) {
	t.Parallel()
	const no = `{"no": false}`
	check(t, map[string]specCase{
		"Falsey":          {no, "({{^no}}shown{{/no}})", "(shown)"},
		"Truthy":          {`{"yes": true}`, "({{^yes}}shown{{/yes}})", "()"},
		"Null is falsey":  {`{"no": null}`, "({{^no}}shown{{/no}})", "(shown)"},
		"Context":         {`{"user": {"name": "Ada"}}`, "({{^user}}Hi {{name}}.{{/user}})", "()"},
		"List":            {`{"list": [{"n": 1}, {"n": 2}]}`, "({{^list}}{{n}}{{/list}})", "()"},
		"Empty List":      {`{"list": []}`, "({{^list}}none{{/list}})", "(none)"},
		"Doubled":         {`{"no": false, "two": "second"}`, "{{^no}}\n- first\n{{/no}}\n- {{two}}\n{{^no}}\n- third\n{{/no}}\n", "- first\n- second\n- third\n"},
		"Nested (Falsey)": {no, "| A {{^no}}B {{^no}}C{{/no}} D{{/no}} E |", "| A B C D E |"},
		"Nested (Truthy)": {`{"no": true}`, "| A {{^no}}B {{^no}}C{{/no}} D{{/no}} E |", "| A  E |"},
		"Context Misses":  {`{}`, "[{{^none}}nothing{{/none}}]", "[nothing]"},

		"Dotted Names - Truthy":        {`{"a": {"b": {"c": true}}}`, "({{^a.b.c}}not here{{/a.b.c}})", "()"},
		"Dotted Names - Falsey":        {`{"a": {"b": {"c": false}}}`, "({{^a.b.c}}not here{{/a.b.c}})", "(not here)"},
		"Dotted Names - Broken Chains": {`{"a": {}}`, "({{^a.b.c}}not here{{/a.b.c}})", "(not here)"},

		"Surrounding Whitespace":           {no, " | {{^no}}\t|\t{{/no}} | \n", " | \t|\t | \n"},
		"Internal Whitespace":              {no, " | {{^no}} {{! note }}\n {{/no}} | \n", " |  \n  | \n"},
		"Indented Inline Sections":         {no, " {{^no}}NO{{/no}}\n {{^no}}WAY{{/no}}\n", " NO\n WAY\n"},
		"Standalone Lines":                 {no, "| one\n{{^no}}\n|\n{{/no}}\n| two\n", "| one\n|\n| two\n"},
		"Standalone Indented Lines":        {no, "| one\n  {{^no}}\n|\n  {{/no}}\n| two\n", "| one\n|\n| two\n"},
		"Standalone Line Endings":          {no, "|\r\n{{^no}}\r\n{{/no}}\r\n|", "|\r\n|"},
		"Standalone Without Previous Line": {no, "  {{^no}}\n^{{/no}}\n/", "^\n/"},
		"Standalone Without Newline":       {no, "^{{^no}}\n/\n  {{/no}}", "^\n/\n"},
		"Padding":                          {no, "|{{^ no }}={{/ no }}|", "|=|"},
		"The empty string is falsey":       {`{"name": ""}`, "{{^name}}no name{{/name}}", "no name"},
	})
}

func TestComments(t *testing.T) {
	t.Parallel()
	check(t, map[string]specCase{
		"Inline":                           {`{}`, "12345{{! a note }}67890", "1234567890"},
		"Multiline":                        {`{}`, "12345{{!\n  a longer\n  note\n}}67890\n", "1234567890\n"},
		"Standalone":                       {`{}`, "one\n{{! note }}\ntwo\n", "one\ntwo\n"},
		"Indented Standalone":              {`{}`, "one\n  {{! note }}\ntwo\n", "one\ntwo\n"},
		"Standalone Line Endings":          {`{}`, "|\r\n{{! note }}\r\n|", "|\r\n|"},
		"Standalone Without Previous Line": {`{}`, "  {{! note }}\n!", "!"},
		"Standalone Without Newline":       {`{}`, "!\n  {{! note }}", "!\n"},
		"Multiline Standalone":             {`{}`, "one\n{{!\nsome\nnote\n}}\ntwo\n", "one\ntwo\n"},
		"Indented Multiline Standalone":    {`{}`, "one\n  {{!\n    some note\n  }}\ntwo\n", "one\ntwo\n"},
		"Indented Inline":                  {`{}`, "  12 {{! 34 }}\n", "  12 \n"},
		"Surrounding Whitespace":           {`{}`, "12345 {{! note }} 67890", "12345  67890"},
		"Variable Name Collision":          {`{"! note": 1, "note": 2, "!note": 3}`, "({{! note }})", "()"},
		"A Name of Several Words":          {`{}`, "({{! if a > b & {c} }})", "()"},
	})
}

func TestDelimiters(t *testing.T) {
	t.Parallel()
	const on, off = `{"on": true, "data": "filled in"}`, `{"on": false, "data": "filled in"}`
	check(t, map[string]specCase{
		"Pair Behavior":                    {`{"text": "Hey!"}`, "{{=<% %>=}}(<%text%>)", "(Hey!)"},
		"Special Characters":               {`{"text": "works"}`, "({{=[ ]=}}[text])", "(works)"},
		"Sections":                         {on, "[\n{{#on}}\n  {{data}}\n  |data|\n{{/on}}\n\n{{= | | =}}\n|#on|\n  {{data}}\n  |data|\n|/on|\n]\n", "[\n  filled in\n  |data|\n\n  {{data}}\n  filled in\n]\n"},
		"Inverted Sections":                {off, "[\n{{^on}}\n  {{data}}\n  |data|\n{{/on}}\n\n{{= | | =}}\n|^on|\n  {{data}}\n  |data|\n|/on|\n]\n", "[\n  filled in\n  |data|\n\n  {{data}}\n  filled in\n]\n"},
		"Surrounding Whitespace":           {`{}`, "| {{=@ @=}} |", "|  |"},
		"Outlying Whitespace (Inline)":     {`{}`, " | {{=@ @=}}\n", " | \n"},
		"Standalone Tag":                   {`{}`, "Begin.\n{{=@ @=}}\nEnd.\n", "Begin.\nEnd.\n"},
		"Indented Standalone Tag":          {`{}`, "Begin.\n  {{=@ @=}}\nEnd.\n", "Begin.\nEnd.\n"},
		"Standalone Line Endings":          {`{}`, "|\r\n{{= @ @ =}}\r\n|", "|\r\n|"},
		"Standalone Without Previous Line": {`{}`, "  {{=@ @=}}\n=", "="},
		"Standalone Without Newline":       {`{}`, "=\n  {{=@ @=}}", "=\n"},
		"Pair with Padding":                {`{}`, "|{{= @   @ =}}|", "||"},
		"And back again":                   {on, "{{=<% %>=}}<%={{ }}=%>{{data}}", "filled in"},
		"Unescaped":                        {`{"c": "<"}`, "{{=<% %>=}}<%&c%><%{c}%><%c%>", "<<&lt;"},
	})
}
