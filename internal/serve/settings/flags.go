package settings

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// A Flag sets a setting on the command line of sotto serve, and so does its environment
// variable.
type Flag struct {
	Key      string // of the file
	Name     string // without hyphens
	Short    string // in one letter; "" if there is none
	Variable string
	Help     string
	Words    []string // the values, if there are only a few
	// Placeholder stands for the value in the help. It is "" for a switch, which is on or
	// off; Negatable says that --no-NAME turns it off, whatever the file says.
	Placeholder string
	Negatable   bool
	// List says that the flag may be repeated. The items in the variable have commas between
	// them, or colons, if Colons is set.
	List, Colons bool
}

// Flags are the flags of sotto serve that set settings, in the order of the guide.
func Flags() []Flag {
	s := new(Settings)
	var list []Flag
	for _, k := range s.keys() {
		if k.hasFlag() && !k.global {
			list = append(list, k.flag(true))
		}
	}
	for _, k := range s.flagKeys() {
		list = append(list, k.flag(false))
	}
	return list
}

// Variables are the environment variables that sotto serve reads: those of its flags, and
// those that hold secrets.
func Variables() []string {
	var list []string
	for _, f := range Flags() {
		list = append(list, f.Variable)
	}
	for _, k := range new(Settings).keys() {
		if _, is := k.secretOf(); is {
			list = append(list, secretVariable(k.name))
		}
	}
	return list
}

func (k key) isSwitch() bool { _, is := k.field.(*bool); return is }

// repeats reports whether each item of a list has a flag of its own.
func (k key) repeats() bool { return k.list && !k.orOne }

func (k key) hasFlag() bool { return k.arg != "" || k.isSwitch() }

// flagName is the name of the flag. That of a list, such as allow-origins, names one item.
func (k key) flagName() string {
	if k.repeats() {
		return strings.TrimSuffix(k.name, "s")
	}
	return k.name
}

func (k key) flagVariable() string {
	if k.variable != "" {
		return k.variable
	}
	return variableOf(k.flagName())
}

// flag describes the flag. inFile says that the file has the key too.
func (k key) flag(inFile bool) Flag {
	return Flag{
		Key: k.name, Name: k.flagName(), Short: k.short, Variable: k.flagVariable(), Help: k.flagHelp(), Words: k.words,
		Placeholder: k.arg, Negatable: k.isSwitch() && inFile, List: k.repeats(), Colons: k.colons,
	}
}

var (
	seeAlso = lazyregexp.New(`; see \[[^]]*\]\([^)]*\)$`)
	link    = lazyregexp.New(`\[([^]]*)\]\([^)]*\)`)
)

// flagHelp is the help of the flag: sentences without Markdown, with the default in the
// first, and how several items and a secret itself are given.
func (k key) flagHelp() string {
	text := k.help
	if text == "" {
		text = link.ReplaceAllString(seeAlso.ReplaceAllString(k.doc, ""), "$1")
		text = strings.ReplaceAll(text, "`", "")
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	end := strings.Index(text, ". ")
	if end < 0 {
		end = len(text) - 1
	}
	first, rest := text[:end], text[end:]
	if k.def != "" && !k.isSwitch() {
		first += "; default " + k.def
	}
	if k.repeats() {
		rest = "; repeatable" + rest
		if !k.colons {
			rest += " In $" + k.flagVariable() + ", separate several with commas."
		}
	}
	if _, is := k.secretOf(); is {
		rest += " $" + secretVariable(k.name) + " holds the " + k.secretNoun() + " itself."
	}
	return first + rest
}

// secretNoun says what a secret is: a token, a key, a password.
func (k key) secretNoun() string {
	words := strings.Split(secretName(k.name), "-")
	return words[len(words)-1]
}
