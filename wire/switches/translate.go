package switches

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A Grade says how much of a setting a translation kept.
type Grade string

const (
	Exact       Grade = "exact"       // all of it
	Approximate Grade = "approximate" // the amount is another, or the server decides otherwise when to think
	Lost        Grade = "lost"        // the amount, or a member beside it, is gone
)

// A Result says what a translation did.
type Result struct {
	Body    []byte   // the request to send
	Says    Setting  // what the client asked for
	Words   Words    // what it was translated to; empty if the request is untouched
	Grade   Grade    // likewise
	From    []string // the members that were translated, as paths
	Dropped []string // members beside them that are gone: display, keep, clear_thinking or other
	// Client has the top-level members of the request that changed, as the client sent
	// them, byte for byte, in a JSON object.
	Client []byte
}

// Translated reports whether the body changed.
func (r *Result) Translated() bool { return r.Words != "" }

// String is the result as one line of ASCII, for a header or a log. It holds no text of
// the request.
func (r *Result) String() string {
	if !r.Translated() {
		return ""
	}
	text := r.Says.String() + "; " + strings.Join(r.From, " ") + " -> " + string(r.Words) + "; " + string(r.Grade)
	if len(r.Dropped) > 0 {
		text += "; dropped " + strings.Join(r.Dropped, " ")
	}
	return text
}

// Translate writes how a request of an API controls thinking in the words of a server. The
// body must be a JSON object that was checked. rendered says that it holds a rendered
// prompt, so that no member can change how the model thinks. An error says why the request cannot be
// translated, for its sender.
func Translate(api string, rendered bool, body []byte, words Words) (Result, error) {
	r := Result{Body: body}
	asked := words
	words = words.In(api)
	if words == Untouched {
		return r, nil
	}
	if rendered {
		words = ""
	}
	root := jsonedit.Parse(body)
	list, err := find(root)
	if err != nil {
		return r, err
	}
	w := writer{words, api, mostOf(root)}
	if w.ownsAll(list) || words != asked && words != "" && (writer{alsoNative[api], api, w.most}).ownsAll(list) {
		return r, nil
	}
	says, err := join(list)
	if err != nil {
		return r, err
	}
	sets, err := w.write(says)
	if err != nil {
		return r, err
	}
	e := editor{drop: map[string]bool{}}
	for _, s := range list {
		r.From = append(r.From, s.path)
		e.remove(s, sets)
	}
	edits, _ := e.object(nil, root, "", sets)
	r.Body = jsonedit.Splice(make([]byte, 0, len(body)+maxAdded), body, edits)
	r.Says, r.Words, r.Dropped = says, words, e.dropped
	r.Client = clientMembers(root, r.From, sets)
	r.Grade, err = gradeOf(says, r.Body)
	if len(r.Dropped) > 0 {
		r.Grade = Lost
	}
	return r, err
}

// maxAdded is more than the members that are written.
const maxAdded = 256

// gradeOf reads a translated request again, and compares what it says.
func gradeOf(says Setting, body []byte) (Grade, error) {
	list, err := find(jsonedit.Parse(body))
	if err != nil {
		return "", err
	}
	now, err := join(list)
	switch {
	case err != nil:
		return "", err
	case (now.Mode == Off) != (says.Mode == Off):
		return "", errors.New("the switch of thinking of the request cannot be translated")
	case now == says:
		return Exact, nil
	case says.amount() && !now.amount():
		return Lost, nil
	}
	return Approximate, nil
}

// An editor collects what changes in a request.
type editor struct {
	drop    map[string]bool // members to remove, by their paths
	dropped []string
}

// remove notes that a member goes. Of the thinking object only those members go that are
// read, if another is written in its place.
func (e *editor) remove(s said, sets []set) {
	if s.path != thinkingPath || !s.value.IsObject() {
		e.drop[s.path] = true
		return
	}
	stays := slices.ContainsFunc(sets, func(w set) bool { return strings.HasPrefix(w.path, thinkingPath+".") })
	e.drop[s.path] = !stays
	for _, m := range jsonedit.Members(s.value) {
		switch {
		case m.Key == "type" || slices.Contains(budgetMembers, m.Key):
			e.drop[s.path+"."+m.Key] = true
		case stays:
		case slices.Contains([]string{"display", "keep", "clear_thinking"}, m.Key):
			e.dropped = append(e.dropped, m.Key)
		case !slices.Contains(e.dropped, "other"):
			e.dropped = append(e.dropped, "other")
		}
	}
}

// object appends the edits of an object whose path is given, and returns how many members
// it keeps. The paths of the sets are below it.
func (e *editor) object(edits []jsonedit.Edit, v gjson.Result, path string, sets []set) ([]jsonedit.Edit, int) {
	members := jsonedit.Members(v)
	gone := make([]bool, len(members))
	var inner []jsonedit.Edit
	left := 0
	for i, m := range members {
		name := nameOf(m.Key, path)
		full := path + name
		var here []set
		if name != "" {
			here, sets = split(sets, name)
		}
		switch {
		case len(here) == 1 && here[0].path == "":
			inner = append(inner, jsonedit.Edit{Span: m.ValueSpan(), With: []byte(here[0].value)})
		case len(here) > 0 && !m.Value.IsObject():
			inner = append(inner, jsonedit.Edit{Span: m.ValueSpan(), With: build(nil, here)})
		case e.drop[full]:
			gone[i] = true
		case name != "" && m.Value.IsObject() && e.changes(full+".", here):
			below, kept := e.object(nil, m.Value, full+".", here)
			if gone[i] = kept == 0 && len(below) > 0; !gone[i] {
				inner = append(inner, below...)
			}
		}
		if !gone[i] {
			left++
		}
	}
	if len(sets) > 0 {
		text := build(nil, sets)
		text = text[1 : len(text)-1]
		if left > 0 {
			text = append(text, ',')
		}
		left++
		inner = append(inner, jsonedit.Edit{Span: jsonedit.Span{Start: v.Index + 1, End: v.Index + 1}, With: text})
	}
	edits = append(edits, inner...)
	return jsonedit.Cut(edits, members, func(i int) bool { return gone[i] }), left
}

// changes reports whether anything below a path changes.
func (e *editor) changes(path string, sets []set) bool {
	for drop, yes := range e.drop {
		if yes && strings.HasPrefix(drop, path) {
			return true
		}
	}
	return len(sets) > 0
}

// nameOf returns the name that a place has for a key below a path, or "".
func nameOf(key, path string) string {
	if path == thinkingPath+"." {
		if key == "type" || slices.Contains(budgetMembers, key) {
			return key
		}
		return ""
	}
	for _, p := range places {
		if rest, below := strings.CutPrefix(p.path, path); below {
			if name, _, _ := strings.Cut(rest, "."); chatjson.Named(key, name) {
				return name
			}
		}
	}
	return ""
}

// split returns the sets at or below a name, with the rest of their paths, and the others.
func split(sets []set, name string) (here, others []set) {
	for _, s := range sets {
		if first, rest, _ := strings.Cut(s.path, "."); first == name {
			here = append(here, set{rest, s.value})
		} else {
			others = append(others, s)
		}
	}
	return here, others
}

// build appends an object of sets.
func build(dst []byte, sets []set) []byte {
	dst = append(dst, '{')
	for first := true; len(sets) > 0; first = false {
		name, _, _ := strings.Cut(sets[0].path, ".")
		var here []set
		here, sets = split(sets, name)
		if !first {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
		if here[0].path == "" {
			dst = append(dst, here[0].value...)
		} else {
			dst = build(dst, here)
		}
	}
	return append(dst, '}')
}

// clientMembers returns the top-level members that a translation changes, in an object.
func clientMembers(root gjson.Result, from []string, sets []set) []byte {
	changed := map[string]bool{}
	for _, path := range from {
		name, _, _ := strings.Cut(path, ".")
		changed[name] = true
	}
	for _, s := range sets {
		name, _, _ := strings.Cut(s.path, ".")
		changed[name] = true
	}
	object := []byte{'{'}
	root.ForEach(func(key, v gjson.Result) bool {
		if changed[nameOf(key.Str, "")] {
			if len(object) > 1 {
				object = append(object, ',')
			}
			object = append(append(append(object, key.Raw...), ':'), v.Raw...)
		}
		return true
	})
	return append(object, '}')
}
