package record

import (
	"bytes"
	"slices"
)

// needles search for the sets of secrets that apply to an event.
type needles struct {
	sets       []*automaton
	unsearched int // secrets that did not fit
}

// newNeedles makes the needles of values. Earlier values take precedence.
func newNeedles(values []string) *needles {
	n := &needles{}
	room := maxSecretBytes
	var patterns []string
	for i, v := range values {
		if i >= maxSecrets || len(v) > room {
			n.unsearched++
			continue
		}
		forms, size := spellings(v), 0
		for _, form := range forms {
			size += len(form)
		}
		if size > room {
			n.unsearched++
			continue
		}
		room -= size
		patterns = append(patterns, forms...)
	}
	if len(patterns) > 0 {
		n.sets = append(n.sets, newAutomaton(patterns))
	}
	return n
}

// and returns the union of two sets.
func (n *needles) and(more *needles) *needles {
	switch {
	case n == nil:
		return more
	case more == nil:
		return n
	}
	return &needles{slices.Concat(n.sets, more.sets), n.unsearched + more.unsearched}
}

// find returns the places of secrets in a text: spans in order that do not overlap.
func (n *needles) find(text string) []Span {
	if n == nil {
		return nil
	}
	var all []Span
	for _, a := range n.sets {
		spans, _ := matches(a, text)
		all = append(all, spans...)
	}
	if len(n.sets) > 1 {
		all = merged(all)
	}
	return all
}

// touches reports whether JSON that this package wrote may hold a secret: it
// contains one as it is, or it has text in base64.
func (n *needles) touches(payload []byte) bool {
	if bytes.Contains(payload, []byte(`"`+base64Mark)) {
		return true
	}
	return slices.ContainsFunc(n.sets, func(a *automaton) bool { return a.has(payload) })
}

// scrub returns a text with every secret replaced.
func (n *needles) scrub(text string) string {
	if spans := n.find(text); len(spans) > 0 {
		return string(render(text, add(nil, spans, "secret")).Text)
	}
	return text
}
