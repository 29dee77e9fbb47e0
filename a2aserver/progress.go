package a2aserver

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

const (
	progressGap   = 500 * time.Millisecond // between two updates, at least
	chunkGap      = 200 * time.Millisecond // between two pieces of the answer, at least
	progressParts = 32                     // of one update
	progressBytes = 256 << 10              // of narration, reasoning and previews, of one turn
	maxName       = 128                    // bytes of a tool's name
	maxPreview    = 4 << 10                // bytes of what a tool gets or gives
)

// gaps are the times between updates, at least.
type gaps struct{ progress, chunk time.Duration }

// A pace says when the next update may be sent. The gap grows with the age of the
// turn, so that a turn of any length has few updates: a day has about a hundred.
type pace struct {
	begun, last time.Time
	least       time.Duration
}

func (p *pace) due() time.Time {
	if p.last.IsZero() {
		return p.begun
	}
	return p.last.Add(max(p.least, p.last.Sub(p.begun)/8))
}

// progress collects what happens until the next update. Its zero value is ready.
type progress struct {
	items []item
	bytes int  // of texts so far, of the whole turn
	left  int  // tool events that an update has no room for
	full  bool // the client was told that no more text is sent
	since time.Time
	// previews says that tool events have what the tool gets or gives.
	previews bool
}

// An item is a part to be sent: a run of narration or reasoning, or a tool's event.
type item struct {
	channel string
	text    string
	meta    map[string]any
}

func (p *progress) gather(e Event) {
	if len(p.items) == 0 {
		p.since = time.Now()
	}
	switch e := e.(type) {
	case Narration:
		p.say("narration", e.Text)
	case Reasoning:
		p.say("reasoning", e.Text)
	case ToolStart:
		p.tool(e.Name, e.ID, "start", "started", e.Arguments)
	case ToolEnd:
		if e.Failed {
			p.tool(e.Name, e.ID, "failed", "failed", e.Result)
		} else {
			p.tool(e.Name, e.ID, "end", "done", e.Result)
		}
	}
}

func (p *progress) tool(name, id, state, word, preview string) {
	if len(p.items) >= progressParts {
		p.left++
		return
	}
	// Models make up both, so they are bounded.
	name, id = shorttext.Ellipsis(name, maxName), shorttext.Ellipsis(id, maxName)
	meta := map[string]any{"tool": name, "state": state}
	if id != "" {
		meta["call"] = id
	}
	if preview = shorttext.Ellipsis(preview, maxPreview); p.previews && preview != "" && p.bytes+len(preview) <= progressBytes {
		p.bytes += len(preview)
		word += " " + preview
	}
	p.items = append(p.items, item{"tool", name + ": " + word, meta})
}

func (p *progress) say(channel, text string) {
	if text == "" || p.full {
		return
	}
	if p.bytes+len(text) > progressBytes || len(p.items) >= progressParts {
		p.full = p.bytes+len(text) > progressBytes
		if p.full {
			p.items = append(p.items, item{channel: channel, text: "… (the rest is left out here)"})
		}
		return
	}
	p.bytes += len(text)
	if n := len(p.items); n > 0 && p.items[n-1].channel == channel {
		p.items[n-1].text += text
		return
	}
	p.items = append(p.items, item{channel: channel, text: text})
}

func (p *progress) pending() bool { return len(p.items) > 0 }

// dueAt returns when the waiting items make an update: a tool's event at once, a
// sentence when there was time for more than a word of it.
func (p *progress) dueAt(gap time.Duration) time.Time {
	for _, it := range p.items {
		if it.channel == "tool" {
			return p.since
		}
	}
	return p.since.Add(gap)
}

// unsent returns what is to be sent. An incomplete character at the end waits for its
// rest, unless last is set.
func (p *progress) unsent(last bool) []*a2a.Part {
	var parts []*a2a.Part
	var wait []item
	for i, it := range p.items {
		if n := cutRune(it.text); n > 0 && !last && i == len(p.items)-1 && it.channel != "tool" {
			wait = []item{{channel: it.channel, text: it.text[len(it.text)-n:]}}
			it.text = it.text[:len(it.text)-n]
		}
		if it.text != "" {
			parts = append(parts, it.part())
		}
	}
	if p.left > 0 {
		parts = append(parts, item{channel: "tool", text: fmt.Sprintf("… and %d more", p.left)}.part())
	}
	p.items, p.left = wait, 0
	return parts
}

func (it item) part() *a2a.Part {
	part := a2a.NewTextPart(valid(it.text))
	part.SetMeta(ChannelKey, it.channel)
	if it.channel == "reasoning" {
		part.SetMeta(ThoughtKey, true)
	}
	for k, v := range it.meta {
		part.SetMeta(k, v)
	}
	return part
}

// valid returns the text in a form that JSON can hold. Each byte that is not part
// of a character is replaced separately, so the result does not depend on where a
// text was cut.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// cutRune returns how many bytes at the end belong to an incomplete character.
func cutRune(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if b := s[len(s)-n]; utf8.RuneStart(b) {
			if b < utf8.RuneSelf || utf8.FullRuneInString(s[len(s)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
