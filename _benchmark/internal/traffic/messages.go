package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// understandMessages reads a streamed reply of the Messages API as a client does. An incomplete reply
// is an error.
func understandMessages(body string) (Said, error) {
	var content, reasoning strings.Builder
	reason, done := "", false
	for event := range strings.SplitSeq(body, "\n\n") {
		for line := range strings.Lines(event) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data: ")
			if !ok {
				continue
			}
			if done {
				return Said{}, errors.New("a frame behind message_stop")
			}
			var f struct {
				Type  string
				Error json.RawMessage
				Delta struct {
					Text, Thinking string
					Reason         string `json:"stop_reason"`
				}
			}
			if err := json.Unmarshal([]byte(data), &f); err != nil {
				return Said{}, fmt.Errorf("%w in %q", err, data)
			}
			if len(f.Error) > 0 && string(f.Error) != "null" {
				return Said{}, fmt.Errorf("the reply has an error: %s", f.Error)
			}
			content.WriteString(f.Delta.Text)
			reasoning.WriteString(f.Delta.Thinking)
			reason += f.Delta.Reason
			done = f.Type == "message_stop"
		}
	}
	if !done || reason != "end_turn" {
		return Said{}, fmt.Errorf("truncated: message_stop %v, stop reason %q", done, reason)
	}
	return Said{content.String(), reasoning.String()}, nil
}

// blank blanks the texts that differ between equal replies: ids, and what is sealed.
func blank(body []byte) {
	for _, name := range []string{`"id":"`, `"signature":"`} {
		for rest := body; ; {
			at := bytes.Index(rest, []byte(name))
			if at < 0 {
				break
			}
			rest = rest[at+len(name):]
			for i := range rest {
				if rest[i] == '"' {
					break
				}
				rest[i] = 'x'
			}
		}
	}
}
