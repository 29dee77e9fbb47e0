package account

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/record"
)

const (
	// maxRevisions bounds the places of a request that are recorded as changed.
	maxRevisions = 4096
	// maxPlaces bounds those of one text. Each costs a search in the rest of the text.
	maxPlaces = 64
)

// anchors are how many bytes that agree end a piece that was taken out. The kept text
// between two pieces may be short.
var anchors = []int{32, 16, 8}

// Revisions returns what was done to the messages of a request, from those that the
// client sent and those that went to the upstream. items says that reasoning is a
// message of its own. If the messages do not belong together, it returns nothing.
func Revisions(client, sent []record.Message, items bool, room *Room) []record.Revision {
	r := reviser{room: room, sent: sent}
	i := 0
	for k := range sent {
		if items && onlyThought(&sent[k]) {
			if i < len(client) && onlyThought(&client[i]) && sameThoughts(&client[i], &sent[k]) {
				i++
			} else {
				r.thoughts(k, nil, sent[k].Reasoning)
			}
			continue
		}
		for ; items && i < len(client) && onlyThought(&client[i]); i++ {
			r.whole(k, &client[i])
		}
		if i == len(client) || client[i].Role != sent[k].Role || client[i].CallID != sent[k].CallID {
			return nil
		}
		r.text(k, string(client[i].Text.Text), string(sent[k].Text.Text))
		r.thoughts(k, client[i].Reasoning, sent[k].Reasoning)
		i++
	}
	for ; items && i < len(client) && onlyThought(&client[i]); i++ {
		r.whole(len(sent), &client[i])
	}
	if i < len(client) {
		return nil
	}
	return r.list
}

// onlyThought reports whether a message is an item of reasoning.
func onlyThought(m *record.Message) bool {
	return m.Text.Text == "" && len(m.ToolCalls) == 0 && m.CallID == "" && len(m.Reasoning) > 0
}

func sameThought(a, b record.Thought) bool { return a.Field == b.Field && a.Text.Text == b.Text.Text }

func sameThoughts(a, b *record.Message) bool {
	return slices.EqualFunc(a.Reasoning, b.Reasoning, sameThought)
}

// A reviser collects revisions.
type reviser struct {
	room *Room
	sent []record.Message
	list []record.Revision
}

func (r *reviser) revise(v record.Revision, removed string) {
	if len(r.list) == maxRevisions || !r.room.Entry() {
		r.room.Cut = true
		return
	}
	v.Removed = record.Say(r.room.bounded(removed))
	r.list = append(r.list, v)
}

// whole notes that a message was taken out before message k.
func (r *reviser) whole(k int, m *record.Message) {
	for _, t := range m.Reasoning {
		r.revise(record.Revision{Message: k, Role: m.Role, Field: t.Field}, string(t.Text.Text))
	}
}

// thoughts notes which thoughts of message k were taken out, and which were put in.
func (r *reviser) thoughts(k int, client, sent []record.Thought) {
	for _, t := range client {
		if !slices.ContainsFunc(sent, func(u record.Thought) bool { return sameThought(t, u) }) {
			r.revise(record.Revision{Message: k, Field: t.Field}, string(t.Text.Text))
		}
	}
	for _, t := range sent {
		if !slices.ContainsFunc(client, func(u record.Thought) bool { return sameThought(t, u) }) {
			r.revise(record.Revision{Message: k, Field: t.Field, Added: len(t.Text.Text)}, "")
		}
	}
}

// text notes where the text of message k differs. It looks for the next place at which
// both agree for a while, so that the pieces are those that a policy takes out. Any
// pieces that it finds turn the one text into the other.
func (r *reviser) text(k int, client, sent string) {
	i, at := 0, 0
	for places := 0; ; places++ {
		n := agree(client[i:], sent[at:])
		i, at = i+n, at+n
		if i == len(client) && at == len(sent) {
			return
		}
		gone, put := len(client)-i, len(sent)-at
		if n := piece(client[i:], sent[at:]); n > 0 && places < maxPlaces {
			gone, put = n, 0
		} else {
			end := agreeAtEnd(client[i:], sent[at:])
			gone, put = gone-end, put-end
		}
		r.revise(record.Revision{Message: k, At: at, Added: put}, client[i:i+gone])
		i, at = i+gone, at+put
	}
}

// piece returns how long the piece is with which client begins and that sent does not
// have, or 0.
func piece(client, sent string) int {
	if strings.HasSuffix(client, sent) {
		return len(client) - len(sent)
	}
	for _, size := range anchors {
		if len(sent) >= size {
			if n := strings.Index(client, sent[:size]); n > 0 {
				return n
			}
		}
	}
	return 0
}

// agree returns how many bytes two texts begin with alike.
func agree(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// agreeAtEnd returns how many bytes two texts end with alike.
func agreeAtEnd(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
