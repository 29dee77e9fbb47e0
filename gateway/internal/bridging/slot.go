package bridging

import (
	"encoding/json"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire/turn"
)

// What a copy holds: the thoughts of a reply between two others of its parts, as the upstream's codec
// has them, and the signature of the call that follows.
type copied struct {
	Thoughts []copiedThought `json:"thoughts,omitempty"`
	Sign     string          `json:"sign,omitempty"`
	// After says where the thoughts began: after how much of what the client got since the copy before.
	After Place `json:"after,omitzero"`
}

type copiedThought struct {
	Name      string `json:"name,omitempty"`
	Text      string `json:"text,omitempty"`
	ID        string `json:"id,omitempty"`
	Signature string `json:"signature,omitempty"`
	Sealed    string `json:"sealed,omitempty"`
	Summary   bool   `json:"summary,omitempty"`
	Whole     string `json:"whole,omitempty"`
}

// A Place is one among the calls and the texts of a reply.
type Place struct {
	Calls int `json:"calls,omitempty"`
	Bytes int `json:"bytes,omitempty"` // of texts
}

// MaxCopy is the size of the largest copy, before it is sealed. What is larger gets none.
const MaxCopy = sealedslot.Most

// MaxCopies bounds the copies that are opened in a request.
const MaxCopies = 4096

// Copy returns what is sealed of parts of a reply: thoughts, and a call that is signed. It is empty if
// there is nothing in them that must come back.
func Copy(parts []turn.Part, after Place) string {
	c := copied{After: after}
	for _, p := range parts {
		switch p.Kind {
		case turn.Thought:
			c.Thoughts = append(c.Thoughts, copiedThought{p.Name, p.Text, p.ID, p.Signature, p.Sealed, p.Summary, p.Extra.Whole})
		case turn.Call:
			c.Sign = p.Signature
		}
	}
	if len(c.Thoughts) == 0 && c.Sign == "" {
		return ""
	}
	b, _ := json.Marshal(c) // strings, numbers and a bool
	return string(b)
}

// part is the thought as the upstream's codec reads it. One that stood in a text is the
// beginning of a text again.
func (t *copiedThought) part(api string) turn.Part {
	if t.Name == history.Inline && t.Whole != "" {
		return turn.Part{Kind: turn.Text, Name: history.Inline, Text: t.Whole}
	}
	return turn.Part{
		Kind: turn.Thought, Name: t.Name, Text: t.Text, ID: t.ID, Signature: t.Signature, Sealed: t.Sealed, Summary: t.Summary,
		Extra: turn.Extra{API: api, Whole: t.Whole},
	}
}
