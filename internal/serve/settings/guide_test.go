package settings

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// guideFile has the tables of the settings, which are generated.
const guideFile = "../../../docs/reference/settings.md"

// TestGuide: the tables of the settings in the guide have a row for each, with its default,
// flag and variable. After a change of the settings, run
//
//	go test ./internal/serve/settings -run TestGuide -update
func TestGuide(t *testing.T) {
	data, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	s := new(Settings)
	short := func(prefix string, keys []key) (rows []string) {
		for _, k := range keys {
			rows = append(rows, tableRow("`"+prefix+k.name+"`", k.defaultText(), k.doc))
		}
		return rows
	}
	text = putTable(t, text, "| `v` | `1` |", s.topRows())
	text = putTable(t, text, "| `limits.", short("limits.", s.limitKeys()))
	text = putTable(t, text, "| `tokens.NAME.", short("tokens.NAME.", tokenKeys(new(namedToken))))
	text = putTable(t, text, "| `upstreams.NAME.", short("upstreams.NAME.", upstreamKeys(new(NamedUpstream))))
	text = putTable(t, text, "| `routes[].", short("routes[].", matchKeys(&s.Gateway.Default)))
	var inherited, switches, restart []string
	for _, k := range append(replyKeys(&s.Gateway.Default), guardKeys(&s.Gateway.Default.Guard, &s.guard)...) {
		inherited = append(inherited, "`"+k.name+"`")
	}
	for _, f := range Flags() {
		if f.Negatable {
			switches = append(switches, "`--"+f.Name+"`")
		}
	}
	text = putParagraph(t, text, "An entry of `routes` has the keys ", inherited, ", and those of this table. A key of the first list that the entry leaves out has its value from the top level:")
	text = putParagraph(t, text, "These flags have a `--no-…` form, which takes precedence over the file: ", switches, ".")
	for _, section := range sections() {
		for _, k := range section.keys {
			if k.restart {
				restart = append(restart, "`"+section.prefix+k.name+"`")
			}
		}
	}
	text = putParagraph(t, text, "These keys need a restart: ", restart, ".")
	for _, k := range s.flagKeys() {
		begin := "| `--" + k.flagName() + "` |"
		row := tableRow("`--"+k.flagName()+"`", k.defaultText(), "`"+k.flagVariable()+"`", k.doc)
		text = regexp.MustCompile("(?m)^"+regexp.QuoteMeta(begin)+".*$").ReplaceAllLiteralString(text, row)
		if !strings.Contains(text, row) {
			t.Errorf("the guide has no row for --%s", k.flagName())
		}
	}
	if text == string(data) {
		return
	}
	if *update {
		if err := os.WriteFile(guideFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was := strings.Split(string(data), "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(was) || line != was[i] {
			t.Fatalf("line %d is not that of the settings: want %q. Run go test ./internal/serve/settings -run TestGuide -update", i+1, line)
		}
	}
}

// topRows are the rows of the keys at the top.
func (s *Settings) topRows() []string {
	rows := []string{tableRow("`v`", "`1`", "", "", "the version of this schema")}
	for _, k := range s.keys() {
		flag, variables := "", ""
		if k.hasFlag() {
			flag, variables = "`--"+k.flagName()+"`", "`"+k.flagVariable()+"`"
			if k.repeats() {
				flag += ", repeatable"
			}
			if k.repeats() && !k.colons {
				variables += ", with commas"
			}
		}
		if _, is := k.secretOf(); is {
			variables += "; the " + k.secretNoun() + " itself: `" + secretVariable(k.name) + "`"
		}
		rows = append(rows, tableRow("`"+k.name+"`", k.defaultText(), flag, variables, k.doc))
	}
	return append(rows,
		tableRow("`tokens`", "none", "", "", "the tokens of several callers, by name; see [above](../howto/tokens.md)"),
		tableRow("`upstreams`", "none", "", "", "further model servers, by name; see [Several upstreams](../howto/several-upstreams.md)"),
		tableRow("`limits`", "below", "", "", "bounds on everything that a peer can make larger"),
		tableRow("`routes`", "none", "", "", "other settings for some models or APIs"))
}

// defaultText is the default, as the guide has it.
func (k key) defaultText() string {
	if k.def != "" {
		return "`" + k.def + "`"
	}
	return cmp.Or(k.shown, "none")
}

func tableRow(cells ...string) string {
	row := "|"
	for _, c := range cells {
		row += " " + c + " |"
		if c == "" {
			row = strings.TrimSuffix(row, "  |") + " |"
		}
	}
	return row
}

// putTable puts rows in place of those of the table whose first row begins so.
func putTable(t *testing.T, text, first string, rows []string) string {
	t.Helper()
	at := strings.Index(text, "| --- |\n"+first)
	if at < 0 {
		t.Fatalf("the guide has no table that begins with %s", first)
	}
	at += len("| --- |\n")
	end := at
	for strings.HasPrefix(text[end:], "|") {
		end += strings.Index(text[end:], "\n") + 1
	}
	return text[:at] + strings.Join(rows, "\n") + "\n" + text[end:]
}

// putParagraph puts a list of words into a paragraph, in lines of 120 characters.
func putParagraph(t *testing.T, text, begin string, list []string, rest string) string {
	t.Helper()
	at := strings.Index(text, "\n\n"+begin)
	if at < 0 {
		t.Fatalf("the guide has no paragraph that begins with %q", begin)
	}
	at += 2
	end := at + strings.Index(text[at:], "\n\n")
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(fmt.Sprint(begin, strings.Join(list, ", "), rest)) {
		n := len([]rune(word))
		switch {
		case i > 0 && width+1+n > 120:
			b.WriteByte('\n')
			width = 0
		case i > 0:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return text[:at] + b.String() + text[end:]
}
