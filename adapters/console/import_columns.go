package console

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// The fields of the column form, each followed by the number of its column, from 0.
const (
	columnField = "field-"
	columnKey   = "key-"
)

// mappedColumn is a column of an imported file and the field that it is mapped to.
type mappedColumn struct {
	imports.Meaning
	Label      any    // for screen readers
	Field, Key string // of the form
	Samples    []string
}

// fieldChoices are the fields that a column can be mapped to.
var fieldChoices = func() []option {
	all := []option{{Value: string(imports.LeftOut), Text: words.Of("leave out")}}
	for _, name := range users.DetailNames() {
		all = append(all, option{Value: name, Text: detailChoice(name)})
	}
	return append(all, option{Value: string(imports.Metadata), Text: words.Of("metadata, under the key beside it")})
}()

// detailChoices describe what a column becomes that is mapped to a detail of a user.
var detailChoices = map[string]words.Phrase{
	string(imports.Email):     words.Of("e-mail: identifies the user, and is an address"),
	string(imports.FirstName): words.Of("first name, for new users"),
	string(imports.LastName):  words.Of("last name, for new users"),
}

func detailChoice(name string) words.Phrase {
	if known, ok := detailChoices[name]; ok {
		return known
	}
	return words.Of("%s, for new users", name)
}

// Text describes the field that the column is mapped to.
func (c mappedColumn) Text() any {
	if c.Meaning.Field == imports.LeftOut {
		return words.Of("left out")
	}
	return detailChoice(string(c.Meaning.Field))
}

// addColumns adds the columns, their mapping and samples to the view. It fills the form unless the
// form shows faults.
func (v *importView) addColumns(p imports.Preview) {
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

// Choices returns the fields that a column can be mapped to.
func (importView) Choices() []option { return fieldChoices }

// Fields returns the fields of the column form.
func (v importView) Fields() []string {
	var all []string
	for _, c := range v.Mapped {
		all = append(all, c.Field, c.Key)
	}
	return all
}

// mapImport changes the mapping of the columns and starts another check of the file.
func (c call) mapImport() error {
	id := web.ID[imports.ID](c, "import")
	job, _, err := c.console.use.ImportJobs.Show(c.ctx, c.at(), id, 0)
	if err != nil {
		return err
	}
	m := make(imports.Mapping, len(job.Mapping()))
	for i, old := range job.Mapping() {
		n := strconv.Itoa(i)
		m[i] = imports.Meaning{Name: old.Name, Field: imports.Field(c.FormValue(columnField + n))}
		if m[i].Field == imports.Metadata {
			m[i].Key = cmp.Or(strings.TrimSpace(c.FormValue(columnKey+n)), old.Name)
		}
	}
	err = c.console.use.ImportJobs.Map(c.ctx, c.actor(), c.at(), id, m)
	redisplay := func(f form) error {
		return c.importPage(id, func(v *importView) error {
			v.Form = f
			return nil
		})
	}
	return c.answerForm(err, redisplay, c.below("imports", id), "mapped")
}

// columnName returns a column's name, else its number.
func columnName(name string, i int) any {
	if name == "" {
		return words.Of("column %d", i+1)
	}
	return name
}
