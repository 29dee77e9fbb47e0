// Package things knows what upstreams keep for callers, such as files and stored responses:
// which upstream has it, who made it, and which of them a request or a response names.
package things

import (
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Thing is what an upstream keeps for a caller: a file, a batch, a stored response.
type Thing struct{ kind, id string }

// A List is the things that a document names, at most one more than [Most].
type List []Thing

// namedThings are the members and parameters by which requests name things, in lower case,
// and the kinds of these. Their values are ids, lists of ids, or objects with an id.
var namedThings = map[string]string{
	"previous_response_id":    "responses",
	"conversation":            "conversations",
	"conversation_id":         "conversations",
	"file_id":                 "files",
	"file_ids":                "files",
	"input_file_id":           "files",
	"input_files":             "files",
	"training_file":           "files",
	"validation_file":         "files",
	"file_name":               "files", // only as files/ID
	"filename":                "files", // as fileName; in small letters it is a name only
	"file_uri":                "files", // only as …/files/ID
	"fileuri":                 "files",
	"cachedcontent":           "cachedContents",
	"cached_content":          "cachedContents",
	"previous_interaction_id": "interactions",
	"previousinteractionid":   "interactions",
	"container":               "containers",
	"vector_store_id":         "vector_stores",
	"vector_store_ids":        "vector_stores",
	"assistant_id":            "assistants",
	"thread_id":               "threads",
	"skill_id":                "skills",
	"video_id":                "videos",
}

// Types of objects whose id is that of a thing.
var typesOfThings = map[string]string{"item_reference": "items", "file_id": "files"}

// Members whose values are data of the client's or of a model's: an id in them names
// nothing. The second are so only in calls of tools.
var (
	dataMembers = map[string]bool{
		"arguments": true, "args": true, "metadata": true, "client_metadata": true, "labels": true, "annotations": true, "citations": true,
		"parameters": true, "parametersJsonSchema": true, "input_schema": true, "schema": true, "json_schema": true,
		"responseSchema": true, "response_schema": true, "responseJsonSchema": true,
	}
	callMembers = map[string]bool{"input": true, "results": true, "outputs": true}
)

// Most bounds how many things a request may name.
const Most = 2048

// with adds what the value of a member names.
func (l List) with(kind, member, value string) List {
	parts := strings.Split(value, "/")
	named := len(parts) > 1 && parts[len(parts)-2] == kind // as files/ID, also at the end of a path or a URL
	switch strings.ToLower(member) {
	case "file_name", "filename", "file_uri", "fileuri":
		if !named || member == "filename" {
			return l // a name, or an address elsewhere
		}
	case "container":
		if value == "auto" {
			return l
		}
	}
	if named {
		value, _, _ = strings.Cut(parts[len(parts)-1], "?")
	}
	if len(l) <= Most && value != "" {
		l = append(l, Thing{kind, value})
	}
	return l
}

// In returns the things that a JSON document names, at any depth. It must be one
// that was checked.
func In(data []byte) List {
	w := &walker{data: data}
	w.value(spot{})
	return w.found
}

// A walker goes through a JSON document once.
type walker struct {
	data  []byte
	at    int
	found List
}

// A spot says where a value stands.
type spot struct {
	member  string // its name, or that of the list that it is in
	kind    string // of the things that ids here name
	data    bool   // nothing here names anything
	element bool   // it is an element of a list
}

func (w *walker) space() {
	for w.at < len(w.data) && reading.IsWhite(w.data[w.at]) {
		w.at++
	}
}

func (w *walker) value(p spot) {
	w.space()
	switch c := w.data[w.at]; c {
	case '{':
		w.object(p)
	case '[':
		w.list(p)
	case '"':
		text := w.text(p.kind != "" && !p.data)
		if p.kind != "" && !p.data {
			w.found = w.found.with(p.kind, p.member, text)
		}
	default:
		from := w.at
		for w.at < len(w.data) && !strings.ContainsRune(",]} \t\r\n", rune(w.data[w.at])) {
			w.at++
		}
		if p.kind != "" && !p.data && c != 'n' && c != 't' && c != 'f' {
			w.found = w.found.with(p.kind, p.member, string(w.data[from:w.at]))
		}
	}
}

// text reads a string. Its text is wanted only sometimes.
func (w *walker) text(wanted bool) (text string) {
	end := jsonedit.StringEnd(w.data, w.at+1)
	if wanted {
		text = string(jsontext.AppendText(nil, w.data[w.at+1:end]))
	}
	w.at = end + 1
	return text
}

func (w *walker) list(p spot) {
	p.element = true
	for w.at++; ; w.at++ {
		if w.space(); w.data[w.at] != ']' {
			w.value(p)
			w.space()
		}
		if w.data[w.at] == ']' {
			w.at++
			return
		}
	}
}

// An object is what is known of one when it ends.
type object struct {
	types  []string
	id     string
	role   bool
	inCall List // what the members named that are data in calls of tools
	skills List
}

func (w *walker) object(p spot) {
	var o object
	for w.at++; ; w.at++ {
		if w.space(); w.data[w.at] != '}' {
			name := w.text(true)
			w.space()
			w.at++ // the colon
			w.member(p, &o, name)
			w.space()
		}
		if w.data[w.at] == '}' {
			w.at++
			break
		}
	}
	if !p.data {
		w.end(p, &o)
	}
}

func (w *walker) member(p spot, o *object, name string) {
	w.space()
	isText, from := w.data[w.at] == '"', w.at
	inside := spot{member: name, kind: namedThings[strings.ToLower(name)], data: p.data || dataMembers[name]}
	if name == "id" && p.kind != "" {
		inside.kind, inside.member = p.kind, p.member
	}
	n := len(w.found)
	w.value(inside)
	if callMembers[name] {
		o.inCall = append(o.inCall, w.found[n:]...)
		w.found = w.found[:n]
	}
	if name == "skill_id" {
		o.skills = append(o.skills, w.found[n:]...)
		w.found = w.found[:n]
	}
	switch {
	case name == "role":
		o.role = true
	case isText && (name == "type" || name == "id"):
		end := w.at
		w.at = from
		if text := w.text(true); name == "type" {
			o.types = append(o.types, text)
		} else {
			o.id = text
		}
		w.at = end
	}
}

// end adds what an object names as a whole.
func (w *walker) end(p spot, o *object) {
	only := ""
	if len(o.types) == 1 { // of two, nobody knows which counts
		only = o.types[0]
	}
	if !strings.HasSuffix(only, "_call") && !strings.HasSuffix(only, "_use") {
		w.found = append(w.found, o.inCall...)
	}
	if only == "" || only == "custom" { // others are the provider's own
		w.found = append(w.found, o.skills...)
	}
	if o.id == "" {
		return
	}
	for _, name := range o.types {
		if kind := typesOfThings[name]; kind != "" {
			w.found = w.found.with(kind, "", o.id)
		}
	}
	if p.element && p.member == "input" && len(o.types) == 0 && !o.role { // an item is referred to if nothing else is said
		w.found = w.found.with("items", "", o.id)
	}
}
