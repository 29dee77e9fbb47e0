package honest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// A got is what a client got: the whole of it, and its texts by where they were.
type got struct {
	status  int
	header  http.Header
	body    string
	content map[string]string // by choice and member
	thought map[string]string
}

// hear reads a response: JSON, JSON lines, or server-sent events.
func hear(status int, header http.Header, body string) *got {
	g := &got{status: status, header: header, body: body, content: map[string]string{}, thought: map[string]string{}}
	var all any
	if json.Unmarshal([]byte(body), &all) == nil {
		g.walk("", "0", all, false)
		return g
	}
	lines := strings.Lines(body)
	if strings.Contains(header.Get("Content-Type"), "eventstream") {
		lines = payloads(body)
	}
	for l := range lines {
		l = strings.TrimSpace(l)
		l = strings.TrimSpace(strings.TrimPrefix(l, "data:"))
		var frame any
		if json.Unmarshal([]byte(l), &frame) == nil {
			g.walk("", "0", frame, false)
		}
	}
	return g
}

// payloads are those of the messages of an AWS event stream.
func payloads(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(body) >= 16 {
			size, headers := binary.BigEndian.Uint32([]byte(body)), binary.BigEndian.Uint32([]byte(body[4:]))
			if int(size) > len(body) || int(headers)+16 > int(size) || !yield(body[12+headers:size-4]) {
				return
			}
			body = body[size:]
		}
	}
}

// walk collects the texts below a value.
func (g *got) walk(path, choice string, v any, thinks bool) {
	switch v := v.(type) {
	case object:
		kind, _ := v["type"].(string)
		isThought, _ := v["thought"].(bool)
		thinks = thinks || isThought || strings.Contains(kind, "reasoning") || strings.Contains(kind, "thinking")
		for name, e := range v {
			inside := thinks || strings.Contains(strings.ToLower(name), "reasoning") || strings.Contains(name, "thinking") || name == "thought"
			g.walk(path+"."+kind+"."+name, choice, e, inside)
		}
	case []any:
		for i, e := range v {
			at := choice
			if strings.HasSuffix(path, ".choices") {
				at = strconv.Itoa(i)
				if o, ok := e.(object); ok {
					if n, ok := o["index"].(float64); ok {
						at = fmt.Sprint(n)
					}
				}
			}
			g.walk(path, at, e, thinks)
		}
	case string:
		to := g.content
		if thinks {
			to = g.thought
		}
		to[choice+" "+path] += v
	}
}

var tagged = regexp.MustCompile(`(?s)<think>.*?(</think>|$)`)

// fault says what is wrong with what a client got.
func (g *got) fault(d routing.Display) string {
	switch d {
	case routing.DisplayHide:
		return g.shown()
	case routing.DisplayTags:
		for at, text := range g.content {
			if c := canary.FindString(tagged.ReplaceAllString(text, "")); c != "" {
				return fmt.Sprintf("%s outside of tags in%s", c, at)
			}
		}
		return ""
	}
	for at, text := range g.content {
		if c := canary.FindString(text); c != "" {
			return fmt.Sprintf("%s in%s", c, at)
		}
	}
	return g.twice()
}

// shown finds a canary anywhere: in the bytes, or in the texts that a client joins.
func (g *got) shown() string {
	if c := canary.FindString(g.body); c != "" {
		return c + " in the body"
	}
	for name, values := range g.header {
		if c := canary.FindString(strings.Join(values, " ")); c != "" {
			return c + " in the header " + name
		}
	}
	for _, texts := range []map[string]string{g.content, g.thought} {
		for at, text := range texts {
			if c := canary.FindString(text); c != "" {
				return c + " in" + at
			}
		}
	}
	return ""
}

// twice finds a word that is both in the reasoning and in the content of a choice.
func (g *got) twice() string {
	thoughts := map[string]bool{}
	for _, text := range g.thought {
		for _, w := range word.FindAllString(text, -1) {
			thoughts[w] = true
		}
	}
	for _, text := range g.content {
		for _, w := range word.FindAllString(text, -1) {
			if thoughts[w] {
				return w + " twice"
			}
		}
	}
	return ""
}

// answered reports whether a client got an answer, and all of it.
func (g *got) answered(answer string) bool {
	for _, text := range g.content {
		if strings.Contains(tagged.ReplaceAllString(text, ""), answer) {
			return true
		}
	}
	return false
}
