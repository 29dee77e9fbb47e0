package record

import (
	"maps"
	"slices"
	"strings"
)

// The names under which [Exchange.IDs], [RunStart.IDs] and [CycleStart.IDs] have what a
// request says of its trace, by traceparent of W3C Trace Context.
const (
	IDTrace      = "trace_id"
	IDParentSpan = "parent_span_id"
	IDSpan       = "span_id" // the exchange's own, if the gateway traces
)

// sessionNames are the names of identifiers that name a conversation, in lower case.
// The first that a request has is its session.
var sessionNames = []string{
	"sotto-conversation", "x-openwebui-chat-id", "x-claude-code-session-id",
	"conversation", "conversation.id", "conversation_id", "session_id", "thread_id",
	"metadata.conversation_id", "metadata.session_id", "metadata.thread_id", "metadata.chat_id",
	"x-session-id", "x-conversation-id",
	"websocket", // the lane of a connection to the gateway
}

// SessionHeaders returns the headers by which clients name a conversation, and
// nothing else: none of them is a login.
func SessionHeaders() []string {
	return []string{"Sotto-Conversation", "X-OpenWebUI-Chat-Id", "X-Claude-Code-Session-Id"}
}

// Session returns the identifier of the conversation that an exchange belongs to, and
// the name under which IDs has it; both are empty if the request names none.
func (x Exchange) Session() (name, id string) {
	best := len(sessionNames)
	for _, key := range slices.Sorted(maps.Keys(x.IDs)) {
		value := x.IDs[key]
		lower := strings.ToLower(key)
		for i, known := range sessionNames[:best] {
			if lower == known && value != "" {
				best, name, id = i, key, value
				break
			}
		}
	}
	return name, id
}
