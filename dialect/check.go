package dialect

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/prompttext"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// A FieldError is an invalid value in a dialect.
type FieldError struct {
	Path string // the key as a dialect file spells it: "markers[2].role"
	Msg  string // what is wrong, and what to write instead
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// badField joins the parts of a message. This package and the reader of replies do
// without package fmt, so that a program for WebAssembly stays small.
func badField(path string, parts ...string) error {
	return &FieldError{Path: path, Msg: strings.Join(parts, "")}
}

// within puts the path of what a fault is in before the path of the fault.
func within(path string, err error) error {
	if field, ok := err.(*FieldError); ok {
		return &FieldError{Path: strings.TrimSuffix(path+"."+field.Path, "."), Msg: field.Msg}
	}
	return err
}

// quote writes a word of a dialect, or what should be one, as a Go string.
func quote[S ~string](s S) string { return strconv.Quote(string(s)) }

// element is the path of an element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

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
	return badField(path, "unknown value ", quote(value), ": ", choice(value, dialectWords[path]))
}

// Check reports whether the fields of a dialect are valid, each alone and beside the
// others. The error is a [*FieldError]. Package dialectfile checks more: a dialect of a
// file has a name, and a part that is reasoning.
func (d Dialect) Check() error {
	if strings.ContainsFunc(d.Name, func(r rune) bool { return unicode.IsSpace(r) || !strconv.IsPrint(r) || r == '"' || r == '/' }) {
		return badField("name", quote(d.Name), " holds white space, a quote or a slash: use letters, digits and _")
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
		return badField("after_tool", "what follows tool markup cannot be ", quote(d.AfterTool), ": write text or reasoning")
	}
	if d.PreOpensSince != "" && d.PreOpens == "" {
		return badField("pre_opens_since", "needs pre_opens: write pre_opens as well")
	}
	if n := d.MaxMarker; n != 0 && (n < leastMaxMarker || n > mostMaxMarker) {
		return outOfBounds("max_marker", n, leastMaxMarker, mostMaxMarker, defaultMaxMarker)
	}
	for i, p := range d.Models {
		if err := checkModelPattern(p); err != nil {
			return badField(element("models", i), err.Error())
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
		path := element("markers", i)
		if err := m.check(d.longestMarker()); err != nil {
			return within(path, err)
		}
		if m.Phrase && d.Placement != PlacementLeading {
			return badField(path+".phrase", "needs placement \"leading\": phrases count only before the answer begins")
		}
		// A start could not tell two blocks of one name apart, and an opener could
		// not tell two blocks apart.
		key := prompttext.Lower(m.Block())
		if j, ok := names[key]; ok {
			return badField(path, "has the same name as ", element("markers", j), ": give each marker its own name")
		}
		names[key] = i
	}
	return nil
}

// Check reports whether a marker is valid by itself. The error is a [*FieldError], whose
// path begins at the marker: "open[0]".
func (m Marker) Check() error { return m.check(defaultMaxMarker) }

func (m Marker) check(longest int) error {
	switch {
	case m.Role == "":
		return badField("role", "missing: write one of ", strings.Join(markerRoles, ", "))
	case m.Role == "aside":
		return badField("role", "aside was removed: write reasoning for a part of the message that is not for the user, or tool for one that a program reads")
	case !slices.Contains(markerRoles, string(m.Role)):
		return badField("role", "unknown value ", quote(m.Role), ": ", choice(string(m.Role), markerRoles))
	case m.Special && m.Role != RoleTool:
		return badField("special", "is only for role tool: it says that the opener of a tool call ends reasoning")
	case m.Rescue && m.Role != RoleReasoning:
		return badField("rescue", "is only for role reasoning: it says that an output block inside may be the answer")
	case m.Phrase && m.Family != "":
		return badField("family", "does not work with phrases, which count once each: write the phrases of one block as alternatives of one marker")
	case m.Phrase && m.Tag != "":
		return badField("phrase", "is only for literal markers: write open and close instead of tag")
	}
	if m.Tag != "" {
		if len(m.Open) > 0 || len(m.Close) > 0 {
			return badField("tag", "contradicts open and close: a marker is either a tag or a pair of literals")
		}
		if m.Name != "" && m.Name != m.Tag {
			return badField("name", "is only for literal markers: the name of a tag is its tag")
		}
		return checkTag("tag", m.Tag, longest)
	}
	if len(m.Open) == 0 {
		return badField("", "has no marker strings: write \"tag\": \"NAME\", or \"open\" and \"close\" with literal strings")
	}
	needsClose := m.Role == RoleReasoning || m.Role == RoleNarration || m.Role == RoleOutput
	if len(m.Close) == 0 && needsClose {
		return badField("close", "missing: a block of role ", string(m.Role), " needs a string that ends it")
	}
	if err := checkTokens("open", m.Open, longest); err != nil {
		return err
	}
	if err := checkTokens("close", m.Close, longest); err != nil {
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
		return badField(path, quote(tag), " holds ", strconv.QuoteRune(r), ": write the name alone (think for <think>), without white space, quotes or < > / =")
	}
	if n := len("</>") + len(tag); n > longest {
		return badField(path, "</", tag, "> is longer than max_marker (", strconv.Itoa(longest), " bytes)")
	}
	return nil
}

// checkTokens checks a list of literal strings, which may be empty.
func checkTokens(path string, list []string, longest int) error {
	for i, s := range list {
		at := element(path, i)
		switch {
		case strings.Trim(s, "\n") == "":
			return badField(at, quote(s), " holds no visible character: write the marker as the model writes it")
		case len(s) > longest:
			return badField(at, "is ", strconv.Itoa(len(s)), " bytes, longer than max_marker (", strconv.Itoa(longest), ")")
		case slices.Contains(list[:i], s):
			return badField(at, quote(s), " is listed twice: write it once")
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
				return badField(element(path, i), quote(s), ": write a token of 1 to ", strconv.Itoa(longest), " bytes")
			}
		}
	}
	for i, s := range h.Close {
		if !slices.Contains(h.Begin, s) {
			return badField(element("header.close", i), quote(s), " is not in header.begin: it must begin a header too")
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
		return outOfBounds("header.max_header", n, leastMaxHeader, mostMaxHeader, defaultMaxHeader)
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
	return badField(path, "unknown channel ", quote(r), ": ", choice(string(r), channelRoles))
}

func (d Dialect) checkStart() error {
	name, inside := strings.CutPrefix(d.Start, "inside:")
	switch {
	case d.Start == "" || d.Start == startOutside || d.Start == startAuto:
		return nil
	case d.Start == startInside:
		if d.HasReasoning() {
			return nil
		}
		return badField("start", quote(d.Start), ": the dialect has no reasoning block")
	case !inside:
		return badField("start", "unknown value ", quote(d.Start), ": ", choice(d.Start, []string{startOutside, startAuto, startInside, "inside:NAME"}))
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
	return badField("start", quote(d.Start), ": the dialect has no reasoning block named ", quote(name))
}

// HasReasoning reports whether anything in the dialect is reasoning.
func (d Dialect) HasReasoning() bool {
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

// outOfBounds is the fault of a number of bytes.
func outOfBounds(path string, n, least, most, usual int) error {
	return badField(path, strconv.Itoa(n), ": write ", strconv.Itoa(least), " to ", strconv.Itoa(most),
		" bytes, or leave it out for ", strconv.Itoa(usual))
}

// choice names the allowed values, the likely one first.
func choice(got string, of []string) string { return spelling.DidYouMean(got, of, "write one of") }
