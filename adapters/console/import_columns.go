package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/imports"
)

// The fields of the form of columns, each with the number of its column behind it, from 0 on.
const (
	columnField = "field-"
	columnKey   = "key-"
)

// mappedColumn is a column of the file of an import and what it becomes.
type mappedColumn struct {
	imports.Meaning
	Label      any    // for those who do not see the table
	Field, Key string // of the form
	Samples    []string
}

// fieldChoices are what a column can become.
var fieldChoices = []option{
	{Value: string(imports.LeftOut), Text: words.Of("leave out")},
	{Value: string(imports.Email), Text: words.Of("e-mail: who the user is, and an address")},
	{Value: string(imports.FirstName), Text: words.Of("first name, for new users")},
	{Value: string(imports.LastName), Text: words.Of("last name, for new users")},
	{Value: string(imports.Metadata), Text: words.Of("metadata, under the key beside it")},
}

// Words say what the column becomes.
func (c mappedColumn) Words() any {
	if c.Meaning.Field == imports.LeftOut {
		return words.Of("left out")
	}
	i := slices.IndexFunc(fieldChoices, func(o option) bool { return o.Value == string(c.Meaning.Field) })
	return fieldChoices[i].Text
}

// columns takes over what the columns become, and what stands in them. The form shows it unless it
// was refused.
func (v *importView) columns(p imports.Preview) {
	values := url.Values{}
	for i, m := range v.Mapping() {
		c := mappedColumn{Meaning: m, Label: columnName(m.Name, i), Field: columnField + strconv.Itoa(i), Key: columnKey + strconv.Itoa(i)}
		if i < len(p.Samples) {
			c.Samples = p.Samples[i]
		}
		values.Set(c.Field, string(m.Field))
		values.Set(c.Key, m.Key)
		v.Mapped = append(v.Mapped, c)
	}
	if v.Form.values == nil {
		v.Form.values = values
	}
}

// Choices are what a column can become.
func (importView) Choices() []option { return fieldChoices }

// Fields are the fields of the form of columns.
func (v importView) Fields() []string {
	var all []string
	for _, c := range v.Mapped {
		all = append(all, c.Field, c.Key)
	}
	return all
}

// mapImport has a file checked once more whose columns become something else.
func (c call) mapImport() error {
	id, err := web.ID[imports.ID](c, "import")
	if err != nil {
		return err
	}
	job, _, err := c.console.use.ImportJobs.Show(c.ctx, c.at(), id, 0)
	if err != nil {
		return err
	}
	m := make(imports.Mapping, len(job.Mapping()))
	for i, was := range job.Mapping() {
		n := strconv.Itoa(i)
		m[i] = imports.Meaning{Name: was.Name, Field: imports.Field(c.FormValue(columnField + n))}
		if m[i].Field == imports.Metadata {
			m[i].Key = cmp.Or(strings.TrimSpace(c.FormValue(columnKey+n)), was.Name)
		}
	}
	err = c.console.use.ImportJobs.Map(c.ctx, c.actor(), c.at(), id, m)
	again := func(f form) error {
		return c.importPage(id, func(v *importView) error {
			v.Form = f
			return nil
		})
	}
	return c.settle(err, again, c.below("imports", id), "mapped")
}

// columnName is what a column is called: its name, else its number.
func columnName(name string, i int) any {
	if name == "" {
		return words.Of("column %d", i+1)
	}
	return name
}
