// Package sayings reads what a request for a reply says, whichever API it is in, so that a test can
// compare requests of two APIs. It knows the APIs from their documentation, and uses none of the code
// that it helps to test.
package sayings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type (
	obj  = map[string]any
	list = []any
)

// A Said is one thing that a request says.
type Said struct {
	Role string // system, user or assistant
	Kind string // text, image, thought, call or result
	What any    // the text, the arguments or the result
	Name string // of the tool, of a call and of a result
	// Place is the member or the kind of block that holds a thought.
	Place string
	// Proof is what the provider signed or encrypted.
	Proof string
	ID    string // of a call, and that of the call that a result is of

	message int // the number of the message, or of the item, that says it
}

// A Saying is what a request says.
type Saying struct {
	System, Turns []Said
	Tools         []string
	Settings      map[string]any
	// Unknown are members that the reader does not know, as KIND.NAME.
	Unknown []string

	names    map[string]string // of tools by the ids of calls
	messages int               // read so far
	switches []string          // the members that switch thinking
	amount   string            // of thinking that is asked for: low, medium or high
}

// Of reads the body of a request. api is the name of its API, as in the settings of the gateway.
func Of(api string, body []byte) (*Saying, error) {
	read := readers[api]
	if read == nil {
		return nil, fmt.Errorf("no API %q", api)
	}
	var q obj
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	s := &Saying{Settings: obj{}, names: map[string]string{}}
	read(s, q)
	return s, nil
}

// begin begins a message, or an item.
func (s *Saying) begin() { s.messages++ }

func (s *Saying) add(d Said) {
	d.message = s.messages
	switch {
	case d.Role == "system":
		s.System = append(s.System, d)
	case d.Kind != "text" || d.What != "":
		s.Turns = append(s.Turns, d)
	}
}

func (s *Saying) say(role, kind string, what any) { s.add(Said{Role: role, Kind: kind, What: what}) }

func (s *Saying) thought(place string, text, proof any) {
	if p := str(proof); p != "" || text != nil && text != "" {
		s.add(Said{Role: "assistant", Kind: "thought", What: text, Place: place, Proof: p})
	}
}

func (s *Saying) call(id, name, arguments, proof any) {
	if id := str(id); id != "" {
		s.names[id] = str(name)
	}
	s.add(Said{Role: "assistant", Kind: "call", What: arguments, Name: str(name), ID: str(id), Proof: str(proof)})
}

func (s *Saying) result(id, name, what any) {
	s.add(Said{Role: "user", Kind: "result", What: what, Name: cmp.Or(s.names[str(id)], str(name)), ID: str(id)})
}

func (s *Saying) set(name string, v any) {
	if v != nil {
		s.Settings[name] = v
	}
}

func (s *Saying) tool(name, description, schema any) {
	if description == nil {
		description = ""
	}
	s.Tools = append(s.Tools, fmt.Sprint("tool ", canonical(name), canonical(description), canonical(schema)))
}

// knows notes the members of an object that are not among names, which are divided by spaces.
func (s *Saying) knows(kind string, o obj, names string) {
	known := strings.Fields(names)
	for name := range o {
		if path := kind + "." + name; !slices.Contains(known, name) && !slices.Contains(s.Unknown, path) {
			s.Unknown = append(s.Unknown, path)
		}
	}
}

// canonical is a value as JSON whose members are in order. A text that is a JSON object is that object.
func canonical(v any) string {
	if text, ok := v.(string); ok {
		var o obj
		if json.Unmarshal([]byte(text), &o) == nil {
			v = o
		}
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Lines are the meaning in order, without what APIs say in ways of their own: ids, places and proofs.
// Messages of the system come first in some APIs, and a choice without tools to choose from says nothing.
func (s *Saying) Lines() (all []string) {
	for _, d := range slices.Concat(s.System, s.Turns) {
		name := ""
		if d.Kind == "call" || d.Kind == "result" {
			name = " " + canonical(d.Name)
		}
		all = append(all, fmt.Sprintf("%s: %s%s %s", d.Role, d.Kind, name, canonical(d.What)))
	}
	return append(all, s.rest()...)
}

// rest returns the lines of the settings and the tools.
func (s *Saying) rest() (all []string) {
	if all = slices.Clone(s.Tools); len(all) == 0 || s.Settings["choice"] == "none" {
		all = []string{"no tool"}
	}
	for _, name := range []string{"choice", "limit", "stop", "temperature", "top_p", "format", "thinking"} {
		v := s.Settings[name]
		if name == "choice" && (v == "none" || v == "auto") {
			v = nil
		}
		all = append(all, name+" "+canonical(v))
	}
	return all
}

// Exact are the lines with all that is known: a thought and a text byte for byte, the place of a thought,
// proofs and ids, where messages begin, in which members thinking is switched and how much is asked for, and the
// members that the reader does not know. Pieces of one text in a message are one, as are those of one thought and of a
// thought in elements of a list. A proof that stands alone after a text is that text's.
func (s *Saying) Exact() (all []string) {
	var joined []Said
	for _, d := range slices.Concat(s.System, s.Turns) {
		if n := len(joined) - 1; n >= 0 && d.Role == "assistant" && (d.Kind == "text" || d.Kind == "thought") {
			if last := &joined[n]; last.Role == d.Role && last.Kind == d.Kind && last.Place == d.Place && last.Proof == "" && last.message == d.message {
				last.What, last.Proof = str(last.What)+str(d.What), d.Proof
				continue
			}
		}
		if n := len(joined) - 1; n >= 0 && d.Kind == "thought" && d.What == nil && joined[n].Kind == "text" && joined[n].Role == d.Role && d.Place == "signature" {
			joined[n].Proof = d.Proof
			continue
		}
		joined = append(joined, d)
	}
	message := -1
	for _, d := range joined {
		if d.message != message {
			message = d.message
			all = append(all, "message of "+d.Role)
		}
		what := fmt.Sprintf("%q", d.What)
		if d.Kind == "call" || d.Kind == "result" {
			what = fmt.Sprintf("%q %q %s", d.ID, d.Name, canonical(d.What))
		}
		all = append(all, strings.TrimRight(fmt.Sprintf("%s: %s %s%s %s", d.Role, d.Kind, strings.TrimLeft(d.Place+" ", " "), what, d.Proof), " "))
	}
	all = append(all, s.rest()...)
	if len(s.switches) > 0 {
		all = append(all, "thinking in "+strings.Join(s.switches, " ")+" "+s.amount)
	}
	for _, path := range slices.Sorted(slices.Values(s.Unknown)) {
		all = append(all, "unknown "+path)
	}
	return all
}

// ForOllama joins the texts of a message, which has one text in that API.
func (s *Saying) ForOllama() *Saying {
	joined := &Saying{Tools: s.Tools, Settings: s.Settings}
	texts := func(said []Said) (all []Said) {
		for _, d := range said {
			if n := len(all) - 1; n >= 0 && d.Kind == "text" && all[n].Kind == "text" && all[n].Role == d.Role {
				all[n].What = str(all[n].What) + "\n" + str(d.What)
				continue
			}
			all = append(all, d)
		}
		return all
	}
	joined.System, joined.Turns = texts(s.System), texts(s.Turns)
	return joined
}

// switched notes a member that switches thinking, or says how much is asked for: a word, or a number of tokens.
func (s *Saying) switched(q any, path ...string) (v any) {
	if v = at(q, path...); v == nil {
		return nil
	}
	s.switches = append(s.switches, strings.Join(path, "."))
	switch n, isNumber := v.(float64); {
	case isNumber && n > 0 && n <= 1024:
		s.amount = "low"
	case isNumber && n > 1024 && n <= 8192:
		s.amount = "medium"
	case isNumber && n > 8192:
		s.amount = "high"
	case v == "low" || v == "medium" || v == "high":
		s.amount = str(v)
	}
	return v
}

// at returns the value at a path of members, or nil.
func at(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(obj)
		v = o[name]
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func each(v any, yield func(e obj)) {
	l, _ := v.(list)
	for _, e := range l {
		o, _ := e.(obj)
		yield(o)
	}
}

// dataURL says what is in a "data:" URL.
func dataURL(url any) string { return strings.TrimPrefix(str(url), "data:") }

func media(kind, data any) string { return str(kind) + ";base64," + str(data) }

// joinedText joins texts of a result.
func joinedText(v any, name string) string {
	if s, ok := v.(string); ok {
		return s
	}
	var all strings.Builder
	each(v, func(p obj) { all.WriteString(str(p[name])) })
	return all.String()
}
