// Package recordtable makes tables of records, for programs that analyze data: a row
// for each reply, thought, call, cycle, extraction, reference or verdict.
//
// The columns are described where they are filled, so that the documentation, the
// types in a file and the values cannot differ.
package recordtable

import (
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A Writer gets the values of a table, row by row, in the order of the columns.
type Writer interface {
	Null()
	Text(string)
	Integer(int64)
	Real(float64)
	Truth(bool)
	Time(time.Time)
	End() error   // of a row
	Close() error // after the last row
}

// A Type is the type of a column.
type Type string

// The types of columns. A time is UTC, in microseconds.
const (
	Text    Type = "string"
	Integer Type = "int64"
	Real    Type = "double"
	Truth   Type = "boolean"
	Time    Type = "timestamp"
)

// A Column describes a column of a table.
type Column struct {
	Name string
	Type Type
	Unit string // such as bytes, ms or tokens; empty if there is none
	Doc  string
}

// A Table is a kind of table that can be made of records.
type Table struct {
	Name    string
	Doc     string // what a row is
	Columns []Column
	// Types are the types of the events that it is made of.
	Types []record.Type
	// begin returns the functions that write the rows of an event, and the rows that
	// are left after the last event.
	begin func(Writer) (event func(*recordset.Event) error, end func() error)
}

// Tables returns all kinds of tables.
func Tables() []*Table {
	return []*Table{replies, thoughts, calls, cycles, extractions, verdicts, edges}
}

// Named returns the kind of table with a name, or nil.
func Named(name string) *Table {
	for _, t := range Tables() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Write writes the rows of events, and closes the writer. A failed reading is passed
// to failed; if it returns nil, the reading continues.
func (t *Table) Write(w Writer, events iter.Seq2[recordset.Event, error], failed func(error) error) error {
	event, end := t.begin(w)
	for e, err := range events {
		if err == nil && e.Type == record.TypeSealed {
			err = e.Source.Err(record.ErrSealed)
		}
		if err != nil {
			if err = failed(err); err != nil {
				return err
			}
			continue
		}
		if err := event(&e); err != nil {
			return err
		}
	}
	if err := end(); err != nil {
		return err
	}
	return w.Close()
}

// A column of rows of type R: its description, and how it is filled.
type column[R any] struct {
	Column
	put func(*R, *cells)
}

// define makes a kind of table. each calls row for the rows of an event; begin makes
// what one table keeps from event to event.
func define[R any](t Table, columns []column[R], begin func(row func(*R) error) (event func(*recordset.Event) error, end func() error)) *Table {
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	t.begin = func(w Writer) (func(*recordset.Event) error, func() error) {
		c := &cells{Writer: w}
		return begin(func(r *R) error {
			for i := range columns {
				columns[i].put(r, c)
			}
			return w.End()
		})
	}
	return &t
}

// stateless makes a begin of define from a function that keeps nothing.
func stateless[R any](each func(e *recordset.Event, row func(*R) error) error) func(row func(*R) error) (func(*recordset.Event) error, func() error) {
	return func(row func(*R) error) (func(*recordset.Event) error, func() error) {
		return func(e *recordset.Event) error { return each(e, row) }, func() error { return nil }
	}
}

// cells writes values of which some mean that there is none.
type cells struct{ Writer }

// text writes a text; bytes that are not UTF-8 become U+FFFD.
func (c *cells) text(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	c.Text(s)
}

// word writes a text that is not empty.
func (c *cells) word(s string) {
	if s == "" {
		c.Null()
		return
	}
	c.text(s)
}

// content writes a text of which nothing is missing.
func (c *cells) content(x record.Content) {
	if !x.Whole() {
		c.Null()
		return
	}
	c.text(string(x.Text))
}

// count writes a number that is not 0.
func (c *cells) count(n int64) {
	if n == 0 {
		c.Null()
		return
	}
	c.Integer(n)
}

// int writes a number.
func (c *cells) int(n int) { c.Integer(int64(n)) }

// digest writes a digest that is set.
func (c *cells) digest(d record.Digest) {
	if d.IsZero() {
		c.Null()
		return
	}
	c.Text(d.String())
}

// Shorthands for the descriptions of columns.

func textColumn[R any](name, doc string, put func(*R, *cells)) column[R] {
	return column[R]{Column{name, Text, "", doc}, put}
}

func intColumn[R any](name, unit, doc string, put func(*R, *cells)) column[R] {
	return column[R]{Column{name, Integer, unit, doc}, put}
}

func realColumn[R any](name, unit, doc string, put func(*R, *cells)) column[R] {
	return column[R]{Column{name, Real, unit, doc}, put}
}

func truthColumn[R any](name, doc string, put func(*R, *cells)) column[R] {
	return column[R]{Column{name, Truth, "", doc}, put}
}

// where returns the columns that every table begins with: the place of an event.
func where[R any](event func(*R) *recordset.Event) []column[R] {
	return []column[R]{
		textColumn("record", "The name of the record: that of its folder.", func(r *R, c *cells) { c.text(event(r).Source.Name) }),
		intColumn("seq", "", "The number of the event in the record.", func(r *R, c *cells) { c.Integer(int64(event(r).Seq)) }),
		{Column{"time", Time, "UTC", "When the event was recorded, after the reply, the call or the cycle ended; of an imported event, the time in its log."}, func(r *R, c *cells) { c.Time(event(r).When()) }},
		textColumn("run", "The run that the event belongs to; null if none, as for exchanges of the gateway.", func(r *R, c *cells) { c.word(event(r).Run) }),
		intColumn("cycle", "", "The cycle of the run, from 1; 0 before the first; null without a run.", func(r *R, c *cells) {
			if event(r).Run == "" {
				c.Null()
				return
			}
			c.int(event(r).Cycle)
		}),
	}
}
