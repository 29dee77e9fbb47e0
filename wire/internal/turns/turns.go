// Package turns has what codecs share that read and write requests whose messages are lists
// of blocks.
package turns

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Text takes a string that is not empty. An empty one is left for the extra: the neutral form
// does not tell it from one that is missing.
func Text(f *turn.Fields, name string) string {
	if v := f.Peek(name); v.Type != gjson.String || v.Raw == `""` {
		return ""
	}
	return f.Text(name)
}

// Required takes a string, which may be empty. ok is false if there is none.
func Required(f *turn.Fields, name string) (text string, ok bool) {
	if f.Peek(name).Type != gjson.String {
		return "", false
	}
	return f.Text(name), true
}

// Number takes a number, as it was spelled.
func Number(f *turn.Fields, name string) json.Number { return json.Number(f.Number(name)) }

// Strings takes a list of strings that is not empty.
func Strings(f *turn.Fields, name string) (list []string) {
	v := f.Peek(name)
	if !v.IsArray() {
		return nil
	}
	for _, e := range jsonedit.Members(v) {
		if e.Value.Type != gjson.String {
			return nil
		}
		list = append(list, jsonedit.StringOf(chatjson.ValueText(e.Value)))
	}
	if list != nil {
		f.Take(name)
	}
	return list
}

// List takes a list that is not empty.
func List(f *turn.Fields, name string) (list []jsonedit.Member) {
	if v := f.Peek(name); v.IsArray() {
		if list = jsonedit.Members(v); list != nil {
			f.Take(name)
		}
	}
	return list
}

// Rest returns the members that were not taken. The answer depends neither on those of aside
// nor on one that is empty, and one that is null is as good as missing.
func Rest(f *turn.Fields, api, path string, aside ...string) turn.Extra {
	e := f.Rest(api, path, aside...)
	e.Members = slices.DeleteFunc(e.Members, func(m turn.Member) bool { return m.Value == "null" })
	for i := range e.Members {
		switch m := &e.Members[i]; m.Value {
		case `""`, "[]", "{}":
			m.Aside = true
		}
	}
	return e
}

// Inside reads an object in which several things are said. read reports whether it took any of
// its members. What is left of it becomes a member of the request: see [Put].
func Inside(f *turn.Fields, api, name string, read func(f *turn.Fields) bool) []turn.Member {
	v := f.Peek(name)
	if !v.IsObject() {
		return nil
	}
	in := turn.FieldsOf(v)
	if !read(in) {
		return nil
	}
	f.Take(name)
	rest := Rest(in, api, "")
	if len(rest.Members) == 0 {
		return nil
	}
	var o jsonwrite.Object
	aside := true
	for _, m := range rest.Members {
		o.Raw(m.Key, m.Value)
		aside = aside && m.Aside
	}
	return []turn.Member{{Key: name, Value: string(o.End()), Aside: aside}}
}

// Whole is the extra of an object that only one API has.
func Whole(api, path string, v gjson.Result) turn.Extra {
	return turn.Extra{API: api, Path: path, Whole: v.Raw}
}

// alias has other names of types, which the APIs do not know.
var alias = map[string]string{"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav"}

// TypeOf returns the type of a part's media. If it says none, the beginning of its data does.
func TypeOf(p *turn.Part, api string) string {
	m := &p.Media
	switch to := alias[m.Type]; {
	case p.Extra.API == api:
	case to != "":
		return to
	case m.Type == "" && m.Data != "":
		return m.Kind()
	}
	return m.Type
}

// Spoken returns the parts of a message or a result without blank texts, which the APIs refuse,
// unless the codec itself has read them.
func Spoken(parts []turn.Part, api string) []turn.Part {
	blank := func(p turn.Part) bool {
		return p.Kind == turn.Text && p.Extra.API != api && strings.TrimSpace(p.Text) == ""
	}
	if !slices.ContainsFunc(parts, blank) {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), blank)
}

// Split returns what the system says beside the conversation, and the conversation: items are
// joined, and results of tools are the user's. All results that follow a message must be in one
// message, and first in it; the user's own message that follows is the same one. strict says
// that the API refuses two messages of one role after each other, so that these are one, too.
//
// Messages that the codec itself has read stay as they are. system has their extra.
func Split(list []turn.Message, api string, strict bool) (system turn.Message, rest []turn.Message) {
	open := false // the last one may get more
	for _, m := range turn.Joined(list) {
		own := m.Extra.API == api
		if m.Role == turn.System || m.Role == turn.Developer {
			if m.Apart || !own {
				system.Parts = append(system.Parts, m.Parts...)
				if own {
					system.Extra = m.Extra
				}
				continue
			}
			m.Role = turn.System
		}
		tool := m.Role == turn.ToolRole
		if tool {
			m.Role = turn.User
		}
		if n := len(rest) - 1; open && !own && m.Role == rest[n].Role {
			rest[n].Parts = append(rest[n].Parts, m.Parts...) // Joined clips them, so this is not the caller's list
		} else {
			rest = append(rest, m)
		}
		open = tool || strict
	}
	for i, m := range rest {
		if m.Role == turn.User && m.Extra.API != api {
			rest[i].Parts = slices.Clone(m.Parts)
			slices.SortStableFunc(rest[i].Parts, func(a, b turn.Part) int { return rank(a) - rank(b) })
		}
	}
	return system, rest
}

func rank(p turn.Part) int {
	if p.Kind == turn.Result {
		return 0
	}
	return 1
}

// Put adds a member. What is an object, and there already, gets the members of its value.
func Put(all []turn.Member, key, value string) []turn.Member {
	for i := range all {
		was := &all[i].Value
		if all[i].Key != key || !strings.HasPrefix(*was, "{") || !strings.HasPrefix(value, "{") {
			continue
		}
		var o jsonwrite.Object
		for _, from := range []string{*was, value} {
			for _, m := range jsonedit.Members(jsonedit.Parse(jsonedit.BytesOf(from))) {
				o.Raw(m.Key, m.Value.Raw)
			}
		}
		*was = string(o.End())
		return all
	}
	return append(all, turn.Member{Key: key, Value: value})
}

// Default is the limit of a reply for an API that requires one.
const Default = "8192"

// Unsupported returns an error of the first thing in a request that an API of these has no place for, or
// nil.
func Unsupported(q *turn.Request, api string) error {
	zero := func(n string) bool { return strings.Trim(n, "-0.") == "" }
	no := func(of turn.Field, what string) error { return &turn.UnsupportedError{What: what, API: api, Of: of} }
	s := &q.Sampling
	switch {
	case s.Cuts():
		return no(turn.OfMinP, "min_p")
	case !zero(s.PresencePenalty.String()):
		return no(turn.OfPresence, "a presence penalty")
	case !zero(s.FrequencyPenalty.String()):
		return no(turn.OfFrequency, "a frequency penalty")
	case s.Seed != "":
		return no(turn.OfSeed, "a seed")
	case q.Choices != "" && q.Choices != "1":
		return no(turn.OfChoices, "several replies")
	case q.Format.Mode == turn.JSON, q.Format.Mode == turn.Schema && q.Format.Schema == "":
		return no(turn.OfFormat, "a reply in JSON without a schema")
	case len(q.Choice.Names) > 1, len(q.Choice.Names) == 1 && q.Choice.Mode != turn.Required:
		return no(turn.OfChoice, "a choice between several tools")
	}
	for _, t := range q.Tools {
		what := ""
		switch {
		case t.Free:
			what = "a tool that takes a text"
		case t.Within != nil && (t.Extra.API != api || t.Extra.Whole == ""):
			what = "a group of tools"
		case t.Name == "" && (t.Extra.API != api || t.Extra.Whole == ""):
			what = "a tool of another API"
		}
		if what != "" {
			return turn.At(&turn.UnsupportedError{What: what, API: api}, t.Extra.Path)
		}
	}
	for _, m := range q.Messages {
		if m.Name != "" && m.Role != turn.ToolRole {
			return turn.At(&turn.UnsupportedError{What: "the name of a message's author", API: api}, m.Extra.Path)
		}
	}
	return nil
}
