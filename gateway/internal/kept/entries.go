package kept

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
)

// An entry is what a conversation keeps of one turn, or of one change that its client made. JSON of
// others stands in it as text, so that it is kept byte for byte.
type entry struct {
	ID    string `json:"id,omitempty"`    // of the reply
	Input string `json:"input,omitempty"` // the items that the client sent, with commas between them
	Reply string `json:"reply,omitempty"` // as the client got it
	Begun bool   `json:"begun,omitempty"` // the reply is under way in the background; an entry with the same id ends it

	Deleted  string `json:"deleted,omitempty"`  // a reply that was deleted
	Removed  string `json:"removed,omitempty"`  // an item that was removed
	Prefix   string `json:"prefix,omitempty"`   // of the ids that items got which had none
	Metadata string `json:"metadata,omitempty"` // the client's
}

func (e entry) text() string {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	_ = w.Encode(e) // texts cannot fail
	return b.String()
}

var errOdd = errors.New("an entry was not written by a gateway")

// entriesOf reads entries, which anybody may have changed.
func entriesOf(texts []string) ([]entry, error) {
	all := make([]entry, len(texts))
	limits := foreignjson.Limits{Members: foreignjson.ReplyMembers}
	for i, text := range texts {
		if foreignjson.Check([]byte(text)) != nil || json.Unmarshal([]byte(text), &all[i]) != nil {
			return nil, errOdd
		}
		e := &all[i]
		for _, inside := range []string{"[" + e.Input + "]", or(e.Reply, "{}"), or(e.Metadata, "{}")} {
			if limits.Check([]byte(inside)) != nil {
				return nil, errOdd
			}
		}
	}
	return all, nil
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

// pieces returns the items of each entry: those that its client sent, and those of the reply.
func pieces(c wire.KeptCodec, all []entry) (list [][]byte) {
	add := func(items []byte) {
		if len(items) > 0 {
			list = append(list, items)
		}
	}
	for _, e := range all {
		add([]byte(e.Input))
		if e.Reply != "" {
			add(c.KeptOutput([]byte(e.Reply)))
		}
	}
	return list
}

// joined returns the items of entries as they were sent and got, with commas between them.
func joined(c wire.KeptCodec, all []entry) []byte {
	prefix := ""
	for _, e := range all {
		if e.Removed != "" {
			prefix = e.Prefix
		}
	}
	if prefix == "" {
		return bytes.Join(pieces(c, all), []byte{','})
	}
	var left [][]byte
	for _, it := range items(c, all, prefix) {
		left = append(left, it.Sent)
	}
	return bytes.Join(left, []byte{','})
}

// items returns the items of entries as the API shows them, without those that were removed.
func items(c wire.KeptCodec, all []entry, prefix string) []wire.KeptItem {
	gone := map[string]bool{}
	for _, e := range all {
		gone[e.Removed] = true
	}
	delete(gone, "")
	list := c.KeptItems(bytes.Join(pieces(c, all), []byte{','}), prefix)
	left := list[:0]
	for _, it := range list {
		if !gone[it.ID] {
			left = append(left, it)
		}
	}
	return left
}
