package record_test

import (
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// A conversation's own identifier takes precedence over what may join several; a user
// is not a session.
func TestSession(t *testing.T) {
	for want, ids := range map[string]map[string]string{
		"":                      nil,
		" ":                     {"user": "ann", "previous_response_id": "r"},
		"conversation_id c":     {"conversation_id": "c", "session_id": "s", "x-session-id": "x"},
		"X-OpenWebUI-Chat-Id o": {"metadata.session_id": "m", "X-OpenWebUI-Chat-Id": "o"},
		"conversation.id c":     {"conversation.id": "c"},
		"Metadata.Session_ID s": {"Metadata.Session_ID": "s", "metadata.chat_id": "", "user": "u"},
	} {
		name, id := record.Exchange{IDs: ids}.Session()
		if got := name + " " + id; got != want && !(ids == nil && id == "") {
			t.Errorf("%v: %q, want %q", ids, got, want)
		}
	}
}
