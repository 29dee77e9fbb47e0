package sidecar

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fact names a number or a word.
type Fact struct {
	Name   string
	Number Number
	Word   Word
	IsWord bool
}

// hidden are numbers that say something about sidecars, or that only they have.
var hidden = []Number{Size, Odd, Time}

// FactNamed returns the fact with a name, as [FactNames] lists it.
func FactNamed(name string) (Fact, error) {
	if i := slices.Index(numberNames[:], name); i >= 0 && !slices.Contains(hidden, Number(i)) {
		return Fact{Name: name, Number: Number(i)}, nil
	}
	if i := slices.Index(wordNames[:], name); i >= 0 {
		return Fact{Name: name, Word: Word(i), IsWord: true}, nil
	}
	return Fact{}, fmt.Errorf("there is no fact %q: want one of %s", name, strings.Join(FactNames(), ", "))
}

// FactNames lists the names of the facts by which events can be selected.
func FactNames() (list []string) {
	for i, name := range numberNames {
		if !slices.Contains(hidden, Number(i)) {
			list = append(list, name)
		}
	}
	return append(list, wordNames[:]...)
}

// Digest reports that the fact is a digest of an identifier, which has no order and no sum.
func (f Fact) Digest() bool { return !f.IsWord && (f.Number == Session || f.Number == Trace) }

// Adds reports whether the fact of several events can be added up.
func (f Fact) Adds() bool {
	return !f.IsWord && !f.Digest() && !slices.Contains([]Number{Seq, Cycle, Status}, f.Number)
}

// list reports that the fact is a list of words.
func (f Fact) list() bool { return f.IsWord && (f.Word == Codes || f.Word == Tools) }

// Text returns the fact of an event as text: a list with commas.
func (f Fact) Text(of *Facts) string {
	switch {
	case f.list():
		return strings.Join(of.List(f.Word), ",")
	case f.IsWord:
		return of.Word[f.Word]
	case f.Digest():
		return digestText(of.Number[f.Number])
	}
	return strconv.FormatInt(of.Number[f.Number], 10)
}

// digestText returns a digest in hexadecimal: it is only there to be compared.
func digestText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", n)
}

// Compare compares the facts of two events; those of the same fact are in the order of the
// record.
func (f Fact) Compare(a, b *Facts) int {
	if f.IsWord {
		return cmp.Compare(a.Word[f.Word], b.Word[f.Word])
	}
	return cmp.Compare(a.Number[f.Number], b.Number[f.Number])
}

// Add makes a fact one of those that are wanted.
func (w *Want) Add(f Fact) {
	switch {
	case f.IsWord && !slices.Contains(w.Words, f.Word):
		w.Words = append(w.Words, f.Word)
	case !f.IsWord && f.Number != Seq && !slices.Contains(w.Numbers, f.Number):
		w.Numbers = append(w.Numbers, f.Number)
	}
}

// A Condition is what the fact of an event must be.
type Condition struct {
	Fact
	op     string
	number int64
	word   string
}

// operators, of which one that begins another comes after it.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

// ParseCondition reads a condition, such as ms>=1000, outcome!=answered, tools=search or
// session=ID. A list of words equals each word that it has.
func ParseCondition(text string) (Condition, error) {
	at := strings.IndexAny(text, "!<>=")
	if at < 0 {
		return Condition{}, fmt.Errorf("%q: want FACT=VALUE, or another of %s", text, strings.Join(operators, " "))
	}
	var c Condition
	var err error
	if c.Fact, err = FactNamed(strings.TrimSpace(text[:at])); err != nil {
		return c, err
	}
	rest := text[at:]
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(rest, op) })
	if i < 0 {
		return c, fmt.Errorf("%q: want one of %s", text, strings.Join(operators, " "))
	}
	c.op = operators[i]
	c.word = strings.TrimSpace(rest[len(c.op):])
	equality := c.op == "=" || c.op == "!="
	switch {
	case (c.Digest() || c.list()) && !equality:
		return c, fmt.Errorf("%q: %s can only be compared with = and !=", text, c.Name)
	case c.Digest():
		c.number = digest(c.word)
	case !c.IsWord:
		if c.number, err = strconv.ParseInt(c.word, 10, 64); err != nil {
			return c, fmt.Errorf("%q: %s is a number, and %q is not", text, c.Name, c.word)
		}
	}
	return c, nil
}

// Holds reports whether the facts of an event fulfil the condition.
func (c *Condition) Holds(f *Facts) bool {
	order := 0
	switch {
	case c.list():
		if in := slices.Contains(f.List(c.Word), c.word) || c.word == "" && f.Word[c.Word] == ""; !in {
			order = 1
		}
	case c.IsWord:
		order = cmp.Compare(f.Word[c.Word], c.word)
	default:
		order = cmp.Compare(f.Number[c.Number], c.number)
	}
	switch c.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
