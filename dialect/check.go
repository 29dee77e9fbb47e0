package dialect

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/prompttext"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// A fieldError is an invalid value in a dialect. Path is the key as the dialect
// file spells it.
type fieldError struct {
	Path string // "markers[2].role"
	Msg  string // what is wrong, and what to write instead
}

func (e *fieldError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

func badField(path, format string, args ...any) error {
	return &fieldError{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// These are the values that the words of a dialect may take; the empty one is the default.
var dialectWords = map[string][]string{
	"pre_opens":      {string(PreOpensNo), string(PreOpensYes), string(PreOpensPrompt)},
	"placement":      {string(PlacementAnywhere), string(PlacementLeading)},
	"output":         {string(PlacementLeading), string(PlacementAnywhere)},
	"close":          {string(CloseOwn), string(CloseFamily)},
	"on_doubt":       {string(DoubtWithhold), string(DoubtDeliver)},
	"header.between": {string(RoleAside), string(RoleText)},
}

// These are the values of [Dialect.Start], besides "inside:NAME".
const startOutside, startAuto, startInside = "outside", "auto", "inside"

// channelRoles are the roles that the body of a header may have.
var channelRoles = []string{
	string(RoleText), string(RoleReasoning), string(RoleNarration), string(RoleTool), string(RoleAside),
}

// markerRoles are the roles that a marker may have.
var markerRoles = []string{
	string(RoleReasoning), string(RoleNarration), string(RoleOutput),
	string(RoleWrapper), string(RoleTool),
}

func checkWord(path, value string) error {
	if value == "" || slices.Contains(dialectWords[path], value) {
		return nil
	}
	return badField(path, "unknown value %q: %s", value, choice(value, dialectWords[path]))
}

// Check reports whether the fields of a dialect are valid, each alone and beside the
// others. The error names the field as a dialect file spells it. [Parse] checks more:
// a dialect of a file has a name, and a part that is reasoning.
func (d Dialect) Check() error {
	if strings.ContainsFunc(d.Name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '/' }) {
		return badField("name", "%q holds white space, a quote or a slash: use letters, digits and _", d.Name)
	}
	for _, w := range []struct{ path, value string }{
		{"pre_opens", string(d.PreOpens)}, {"placement", string(d.Placement)}, {"output", string(d.Output)},
		{"close", string(d.Close)}, {"on_doubt", string(d.OnDoubt)},
	} {
		if err := checkWord(w.path, w.value); err != nil {
			return err
		}
	}
	if d.Placement == PlacementLeading && d.Output == PlacementAnywhere {
		return badField("output", "\"anywhere\" contradicts placement \"leading\", in which no marker counts after the first visible byte: leave one of them out")
	}
	if d.Header != nil {
		if d.Code != nil && *d.Code {
			return badField("code", "cannot be on in a dialect with a header, whose tokens count in code too: leave it out")
		}
	}
	if d.Header != nil && d.Output == PlacementAnywhere {
		return badField("output", "\"anywhere\" contradicts a header, whose channels decide what the answer is: leave one of them out")
	}
	if d.AfterTool != "" && d.AfterTool != RoleText && d.AfterTool != RoleReasoning {
		return badField("after_tool", "what follows tool markup cannot be %q: write text or reasoning", d.AfterTool)
	}
	if d.PreOpensSince != "" && d.PreOpens == "" {
		return badField("pre_opens_since", "needs pre_opens: write pre_opens as well")
	}
	if n := d.MaxMarker; n != 0 && (n < leastMaxMarker || n > mostMaxMarker) {
		return badField("max_marker", "%d: write %d to %d bytes, or leave it out for %d", n, leastMaxMarker, mostMaxMarker, defaultMaxMarker)
	}
	for i, p := range d.Models {
		if err := checkModelPattern(p); err != nil {
			return badField(fmt.Sprintf("models[%d]", i), "%v", err)
		}
	}
	if len(d.Markers) == 0 && d.Header == nil {
		return badField("markers", "missing: a dialect needs markers or a header")
	}
	if err := d.checkMarkers(); err != nil {
		return err
	}
	if d.Header != nil {
		if err := d.Header.check(d.longestMarker()); err != nil {
			return err
		}
	}
	if err := d.checkLiterals(); err != nil {
		return err
	}
	return d.checkStart()
}

func (d Dialect) checkMarkers() error {
	names := map[string]int{}
	for i, m := range d.Markers {
		path := fmt.Sprintf("markers[%d]", i)
		if err := m.check(path, d.longestMarker()); err != nil {
			return err
		}
		if m.Phrase && d.Placement != PlacementLeading {
			return badField(path+".phrase", "needs placement \"leading\": phrases count only before the answer begins")
		}
		// A start could not tell two blocks of one name apart, and an opener could
		// not tell two blocks apart.
		key := prompttext.Lower(m.Block())
		if j, ok := names[key]; ok {
			return badField(path, "has the same name as markers[%d]: give each marker its own name", j)
		}
		names[key] = i
	}
	return nil
}

func (m Marker) check(path string, longest int) error {
	switch {
	case m.Role == "":
		return badField(path+".role", "missing: write one of %s", strings.Join(markerRoles, ", "))
	case m.Role == "aside":
		return badField(path+".role", "aside was removed: write reasoning for a part of the message that is not for the user, or tool for one that a program reads")
	case !slices.Contains(markerRoles, string(m.Role)):
		return badField(path+".role", "unknown value %q: %s", m.Role, choice(string(m.Role), markerRoles))
	case m.Special && m.Role != RoleTool:
		return badField(path+".special", "is only for role tool: it says that the opener of a tool call ends reasoning")
	case m.Rescue && m.Role != RoleReasoning:
		return badField(path+".rescue", "is only for role reasoning: it says that an output block inside may be the answer")
	case m.Phrase && m.Family != "":
		return badField(path+".family", "does not work with phrases, which count once each: write the phrases of one block as alternatives of one marker")
	case m.Phrase && m.Tag != "":
		return badField(path+".phrase", "is only for literal markers: write open and close instead of tag")
	}
	if m.Tag != "" {
		if len(m.Open) > 0 || len(m.Close) > 0 {
			return badField(path+".tag", "contradicts open and close: a marker is either a tag or a pair of literals")
		}
		if m.Name != "" && m.Name != m.Tag {
			return badField(path+".name", "is only for literal markers: the name of a tag is its tag")
		}
		return checkTag(path+".tag", m.Tag, longest)
	}
	if len(m.Open) == 0 {
		return badField(path, "has no marker strings: write \"tag\": \"NAME\", or \"open\" and \"close\" with literal strings")
	}
	needsClose := m.Role == RoleReasoning || m.Role == RoleNarration || m.Role == RoleOutput
	if len(m.Close) == 0 && needsClose {
		return badField(path+".close", "missing: a block of role %s needs a string that ends it", m.Role)
	}
	if err := checkTokens(path+".open", m.Open, longest); err != nil {
		return err
	}
	if err := checkTokens(path+".close", m.Close, longest); err != nil {
		return err
	}
	return nil
}

func checkTag(path, tag string, longest int) error {
	bad := strings.IndexFunc(tag, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == utf8.RuneError || unicode.IsSpace(r) || strings.ContainsRune("<>/='\"`", r)
	})
	if bad >= 0 {
		r, _ := utf8.DecodeRuneInString(tag[bad:])
		return badField(path, "%q holds %q: write the name alone (think for <think>), without white space, quotes or < > / =", tag, r)
	}
	if n := len("</>") + len(tag); n > longest {
		return badField(path, "</%s> is longer than max_marker (%d bytes)", tag, longest)
	}
	return nil
}

// checkTokens checks a list of literal strings, which may be empty.
func checkTokens(path string, list []string, longest int) error {
	for i, s := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case strings.Trim(s, "\n") == "":
			return badField(at, "%q holds no visible character: write the marker as the model writes it", s)
		case len(s) > longest:
			return badField(at, "is %d bytes, longer than max_marker (%d)", len(s), longest)
		case slices.Contains(list[:i], s):
			return badField(at, "%q is listed twice: write it once", s)
		}
	}
	return nil
}

func (h *Header) check(longest int) error {
	for _, l := range []struct {
		name   string
		tokens []string
		needed bool
	}{
		{"begin", h.Begin, true}, {"body", h.Body, true}, {"lead", h.Lead, false}, {"end", h.End, false},
		{"close", h.Close, false}, {"name", h.Name, false}, {"tokens", h.Tokens, false},
	} {
		path := "header." + l.name
		if l.needed && len(l.tokens) == 0 {
			return badField(path, "missing: a header runs from a begin token to a body token")
		}
		for i, s := range l.tokens {
			// A line's end alone may begin a body, as it does in Gemma 4.
			if s == "" || len(s) > longest {
				return badField(fmt.Sprintf("%s[%d]", path, i), "%q: write a token of 1 to %d bytes", s, longest)
			}
		}
	}
	for i, s := range h.Close {
		if !slices.Contains(h.Begin, s) {
			return badField(fmt.Sprintf("header.close[%d]", i), "%q is not in header.begin: it must begin a header too", s)
		}
	}
	if len(h.Channels) == 0 {
		return badField("header.channels", "missing: map each name to the channel of its body")
	}
	for _, m := range []struct {
		path  string
		table map[string]Role
	}{{"header.channels", h.Channels}, {"header.recipients", h.Recipients}} {
		for name, r := range m.table {
			if err := checkChannel(m.path+"."+name, r); err != nil {
				return err
			}
		}
	}
	if n := h.MaxHeader; n != 0 && (n < leastMaxHeader || n > mostMaxHeader) {
		return badField("header.max_header", "%d: write %d to %d bytes, or leave it out for %d", n, leastMaxHeader, mostMaxHeader, defaultMaxHeader)
	}
	return checkWord("header.between", string(h.Between))
}

// checkChannel checks the role of a header's body.
func checkChannel(path string, r Role) error {
	switch {
	case slices.Contains(channelRoles, string(r)):
		return nil
	case r == "markup":
		return badField(path, "a body cannot be markup: write text, reasoning, narration, tool or aside")
	}
	return badField(path, "unknown channel %q: %s", r, choice(string(r), channelRoles))
}

func (d Dialect) checkStart() error {
	name, inside := strings.CutPrefix(d.Start, "inside:")
	switch {
	case d.Start == "" || d.Start == startOutside || d.Start == startAuto:
		return nil
	case d.Start == startInside:
		if d.hasReasoning() {
			return nil
		}
		return badField("start", "%q: the dialect has no reasoning block", d.Start)
	case !inside:
		return badField("start", "unknown value %q: %s", d.Start, choice(d.Start, []string{startOutside, startAuto, startInside, "inside:NAME"}))
	}
	for _, m := range d.Markers {
		if m.Role == RoleReasoning && (m.Block() == name || m.Tag != "" && prompttext.Lower(m.Tag) == prompttext.Lower(name)) {
			return nil
		}
	}
	if d.Header != nil && name != "" {
		if _, ok := d.Header.Channels[name]; ok {
			return nil
		}
	}
	return badField("start", "%q: the dialect has no reasoning block named %q", d.Start, name)
}

// hasReasoning reports whether anything in the dialect is reasoning.
func (d Dialect) hasReasoning() bool {
	for _, m := range d.Markers {
		if m.Role == RoleReasoning {
			return true
		}
	}
	if d.Header == nil {
		return false
	}
	for _, table := range []map[string]Role{d.Header.Channels, d.Header.Recipients} {
		for _, r := range table {
			if r == RoleReasoning {
				return true
			}
		}
	}
	return false
}

// choice names the allowed values, the likely one first.
func choice(got string, of []string) string {
	if near := spelling.Nearest(got, of); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "write one of " + strings.Join(of, ", ")
}
