package sotto

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// BeginningOf returns where a reply begins, as shown by the tail of the rendered
// prompt: inside a block that the prompt opened and did not close, or outside. If
// you have the prompt, this is the best evidence there is: a template opens its
// reasoning block, or does not, depending on each request's thinking switch.
//
// The nearest marker of the dialect before the prompt's end decides. What comes
// after it, except white space, must be text with which the caller began the reply.
// The result ok is false if the token of another turn comes first, if the prompt
// ends in a tool call, and if it holds no marker.
func (g *Grammar) BeginningOf(prompt string) (start Beginning, ok bool) {
	d := g.Dialect()
	prompt = prompt[max(0, len(prompt)-prompttext.TailBytes):]
	last := lastMarker(d.Markers, prompt)
	if d.Header != nil {
		if at, start, ok := (*header)(d.Header).startOf(prompt); at > last.end {
			if !ok {
				start = ""
			}
			return start, ok
		}
	}
	if last.end < 0 {
		return "", false
	}
	rest := prompt[last.end:]
	if prompttext.HasTurnToken(rest) || last.role == dialect.RoleTool {
		return "", false
	}
	if !last.opens || last.role != dialect.RoleReasoning {
		return BeginOutside, true
	}
	// A prompt may mention a tag. A tag followed by text opens a block only where
	// a template or a prefill puts it: at the start of the turn.
	if strings.TrimSpace(rest) != "" && !atTurnStart(prompt[:last.start]) {
		return "", false
	}
	return BeginInside(last.name), true
}

// atTurnStart reports whether s ends in a turn's token and at most a role's name.
func atTurnStart(s string) bool {
	s = strings.TrimRight(s, " \t\r\n")
	role := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
	if len(s)-len(role) > len("<|assistant|>") {
		return false
	}
	return prompttext.EndsTurnToken(role)
}

// A tailMarker is the last marker of a prompt; end is -1 if it has none.
type tailMarker struct {
	start, end int
	role       dialect.Role
	name       string
	opens      bool
}

// lastMarker finds the marker that ends last in the prompt; of several, the longest.
func lastMarker(markers []dialect.Marker, prompt string) tailMarker {
	last := tailMarker{end: -1}
	take := func(start, end int, m dialect.Marker, opens bool) {
		if start >= 0 && (end > last.end || end == last.end && start < last.start) {
			last = tailMarker{start, end, m.Role, m.Block(), opens}
		}
	}
	lower := prompttext.Lower(prompt)
	for _, m := range markers {
		if m.Tag != "" {
			name := prompttext.Lower(m.Tag)
			for _, s := range []string{"<" + name + ">", "</" + name + ">"} {
				i := strings.LastIndex(lower, s)
				take(i, i+len(s), m, s[1] != '/')
			}
			continue
		}
		for _, s := range m.Open {
			s = strings.Trim(s, "\n")
			i := strings.LastIndex(prompt, s)
			take(i, i+len(s), m, true)
		}
		for _, s := range m.Close {
			s = strings.Trim(s, "\n")
			i := strings.LastIndex(prompt, s)
			take(i, i+len(s), m, false)
		}
	}
	return last
}

// startOf reads the tail by the header grammar. at is where its last token ends,
// or -1.
func (h *header) startOf(prompt string) (at int, start Beginning, ok bool) {
	begin, beginEnd := lastOf(h.Begin, prompt)
	ended, endedEnd := lastOf(h.End, prompt)
	if begin < 0 && ended < 0 {
		return -1, "", false
	}
	if ended > begin {
		return endedEnd, BeginOutside, !prompttext.HasTurnToken(prompt[endedEnd:])
	}
	header := prompt[begin:]
	body, bodyEnd := firstOf(h.Body, header[beginEnd-begin:])
	if body < 0 {
		// The prompt ends in a header. The names in it so far apply to the reply too,
		// and no Beginning can say so. A bare turn is outside.
		named := containsAny(header, h.Name) || strings.Contains(header, " to=")
		return len(prompt), BeginOutside, !named && !prompttext.HasTurnToken(prompt[beginEnd:])
	}
	bodyEnd += beginEnd
	if slices.Contains(h.Close, prompt[begin:beginEnd]) {
		return bodyEnd, BeginOutside, !prompttext.HasTurnToken(prompt[bodyEnd:])
	}
	// A header may run over several tokens of Begin ("<|start|>assistant<|channel|>final").
	first := begin
	if i, _ := lastOf(h.Begin, prompt[:begin]); i >= 0 && !containsAny(prompt[i:begin], h.Body) {
		first = i
	}
	start, ok = h.inside(prompt[first : beginEnd+body])
	rest := prompt[bodyEnd:]
	if start == BeginOutside && strings.TrimSpace(rest) != "" {
		ok = false // the body may be of another author's turn
	}
	return bodyEnd, start, ok && !prompttext.HasTurnToken(rest)
}

// inside returns the start within the body of a header.
func (h *header) inside(header string) (Beginning, bool) {
	name := ""
	if i, end := lastOf(h.Name, header); i >= 0 {
		name, _, _ = strings.Cut(strings.TrimLeft(header[end:], " "), " ")
		name = strings.TrimSpace(name)
		if t, _ := firstOf(h.Tokens, name); t >= 0 {
			name = name[:t]
		}
	}
	channel, known := h.Channels[name]
	if _, to, ok := strings.Cut(header, " to="); ok {
		to, _, _ = strings.Cut(to, " ")
		if t, _ := firstOf(append(h.Begin[:len(h.Begin):len(h.Begin)], h.Tokens...), to); t >= 0 {
			to = to[:t]
		}
		if channel, known = h.Recipients[to]; channel != dialect.RoleText {
			_, named := h.Channels[to]
			name, known = to, known && named
		}
	}
	switch {
	case !known || channel == dialect.RoleTool:
		return "", false
	case name == "":
		return BeginOutside, channel == dialect.RoleText
	}
	return BeginInside(name), true
}

// lastOf returns where the last of the tokens begins and ends in s, or -1. Of
// tokens that begin together it returns the longest.
func lastOf(tokens []string, s string) (start, end int) {
	start, end = -1, -1
	for _, t := range tokens {
		switch i := strings.LastIndex(s, t); {
		case i > start:
			start, end = i, i+len(t)
		case i >= 0 && i == start:
			end = max(end, i+len(t))
		}
	}
	return start, end
}

// firstOf is lastOf for the first of the tokens.
func firstOf(tokens []string, s string) (start, end int) {
	start, end = -1, -1
	for _, t := range tokens {
		switch i := strings.Index(s, t); {
		case i < 0:
		case start < 0 || i < start:
			start, end = i, i+len(t)
		case i == start:
			end = max(end, i+len(t))
		}
	}
	return start, end
}

func containsAny(s string, tokens []string) bool {
	i, _ := firstOf(tokens, s)
	return i >= 0
}
