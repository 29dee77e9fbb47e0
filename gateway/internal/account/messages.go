package account

import (
	"bytes"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// Messages returns the messages in the body of a request, which its codec reports.
// Parts that are not text, such as images, are left out. A rendered prompt becomes a
// message of the role prompt. What an API has outside its messages becomes one of
// the role system. Results of tools become messages of the role tool.
func Messages(c wire.Codec, body []byte, room *Room) []record.Message {
	if !foreignjson.Valid(body) {
		return nil
	}
	m := &messages{room: room}
	c.Transcribe(body, m)
	return m.list
}

// Messages are a wire.Transcript that is bounded by a room.
type messages struct {
	room *Room
	list []record.Message
	last *record.Message
}

// Message adds a message, cut to the room there is. An empty message is added too,
// to show that it was there.
func (m *messages) Message(role, callID string, texts ...[]byte) {
	if !m.room.Entry() {
		m.last = &record.Message{} // it is discarded
		return
	}
	m.list = append(m.list, record.Message{Role: m.room.bounded(role), Text: m.text(bytes.Join(texts, []byte("\n"))), CallID: m.room.bounded(callID)})
	m.last = &m.list[len(m.list)-1]
}

func (m *messages) text(text []byte) record.Content { return record.Say(string(m.room.Take(text))) }

func (m *messages) Thought(name string, text []byte, sealed bool) {
	if len(text) > 0 && m.room.Entry() {
		m.last.Reasoning = append(m.last.Reasoning, record.Thought{Field: strings.Clone(name), Text: m.text(text), Sealed: sealed})
	}
}

func (m *messages) Call(id, name string, arguments []byte) {
	if m.room.Entry() {
		m.last.ToolCalls = append(m.last.ToolCalls, record.Call{ID: m.room.bounded(id), Name: m.room.bounded(name), Arguments: m.text(arguments)})
	}
}
