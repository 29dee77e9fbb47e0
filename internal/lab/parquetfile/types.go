package parquetfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Types find out the columns of records in JSON: one for each member that a record has, in
// the order in which they come first. The type of a column is one that holds each of its
// values as it is: boolean, int64, double and string, and for lists, objects and what has no
// one type JSON.
type Types struct {
	list   []*inferred
	byName map[string]*inferred
	most   int // columns
	rows   int
}

// An inferred is a column.
type inferred struct {
	Column
	row   int  // the first that has a value
	wide  bool // it has an integer that a double does not hold
	mixed int  // the first row whose value has another type; 0 if none
	other Type // that type
	seen  int  // the last row that has the member
	value gjson.Result
}

// NewTypes returns types of records beside which there are so many other columns.
func NewTypes(more int) *Types {
	return &Types{byName: map[string]*inferred{}, most: maxColumns/2 - more}
}

// Add looks at the next record. An error says which record it is, and which member.
func (t *Types) Add(record []byte) error {
	t.rows++
	members, err := t.members(record)
	if err != nil {
		return err
	}
	for _, m := range members {
		c := t.byName[m.Key]
		if c == nil {
			if len(t.list) >= t.most {
				return fmt.Errorf("record %d: %s is the member with number %d: a Parquet file has %d columns at most here; write JSON Lines instead", t.rows, quoted(m.Key), len(t.list)+1, t.most)
			}
			c = &inferred{Column: Column{Name: strings.Clone(m.Key)}}
			t.byName[c.Name], t.list = c, append(t.list, c)
		}
		if c.seen == t.rows {
			return fmt.Errorf("record %d has the member %s twice: a column has one value for each record", t.rows, quoted(m.Key))
		}
		c.seen = t.rows
		c.add(m.Value, t.rows)
	}
	return nil
}

func (t *Types) members(record []byte) ([]jsonedit.Member, error) {
	if err := foreignjson.Check(record); err != nil {
		return nil, fmt.Errorf("record %d %w", t.rows, err)
	}
	return jsonedit.Members(jsonedit.Parse(record)), nil
}

func quoted(name string) string { return strconv.Quote(shorttext.Ellipsis(name, 60)) }

// add makes the type of a column one that holds a value, too.
func (c *inferred) add(v gjson.Result, row int) {
	kind, wide := typeOf(v)
	c.wide = c.wide || wide
	switch {
	case kind == "" || kind == c.Type:
		return
	case c.Type == "":
		c.Type, c.row = kind, row
		return
	case c.Type == Integer && kind == Real || c.Type == Real && kind == Integer:
		c.Type = Real
		return
	case c.mixed == 0:
		c.mixed, c.other = row, kind
	}
}

// typeOf returns the type of a value; "" for null. wide says that it is an integer that a
// double does not hold.
func typeOf(v gjson.Result) (t Type, wide bool) {
	switch v.Type {
	case gjson.Null:
		return "", false
	case gjson.True, gjson.False:
		return Truth, false
	case gjson.String:
		return Text, false
	case gjson.Number:
		if n, err := strconv.ParseInt(v.Raw, 10, 64); err == nil && v.Raw != "-0" {
			return Integer, n > 1<<53 || n < -1<<53
		}
		if _, err := strconv.ParseFloat(v.Raw, 64); err == nil && strings.ContainsAny(v.Raw, ".eE") {
			return Real, false
		}
	}
	return JSON, false // also a number that neither type holds
}

// Columns returns the columns. It is called after the last Add.
func (t *Types) Columns() []Column {
	var list []Column
	for _, c := range t.list {
		switch {
		case c.mixed > 0 || c.Type == Real && c.wide:
			c.Type = JSON
		case c.Type == "":
			c.Type = Text // nothing but null
		}
		list = append(list, c.Column)
	}
	return list
}

// maxNotes bounds the columns that are named.
const maxNotes = 8

// Notes name the columns whose values have several types.
func (t *Types) Notes() (notes []string) {
	for _, c := range t.list {
		switch {
		case c.mixed > 0:
			notes = append(notes, fmt.Sprintf("column %s holds JSON: its values have several types, as in records %d and %d (%s)", quoted(c.Name), c.row, c.mixed, c.other))
		case c.Type == JSON && c.wide:
			notes = append(notes, fmt.Sprintf("column %s holds JSON: it has fractions, and integers that a double does not hold", quoted(c.Name)))
		}
		if len(notes) == maxNotes {
			return append(notes, "there are more such columns")
		}
	}
	return notes
}

// Put adds the values of a record to a row of a table with these columns.
func (t *Types) Put(to *Table, record []byte) error {
	members, err := t.members(record)
	if err != nil {
		return err
	}
	for _, m := range members {
		t.byName[m.Key].value = m.Value
	}
	for _, c := range t.list {
		c.put(to)
		c.value = gjson.Result{}
	}
	return nil
}

func (c *inferred) put(to *Table) {
	v := c.value
	switch {
	case v.Type == gjson.Null:
		to.Null()
	case c.Type == JSON:
		to.Text(valid(v.Raw))
	case c.Type == Truth:
		to.Truth(v.Bool())
	case c.Type == Integer:
		n, _ := strconv.ParseInt(v.Raw, 10, 64) // typeOf has read it
		to.Integer(n)
	case c.Type == Real:
		to.Real(v.Num)
	default:
		to.Text(valid(v.String()))
	}
}

// valid returns a text as UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
