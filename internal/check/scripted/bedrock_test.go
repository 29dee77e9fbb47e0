package scripted

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/bedrock"
)

var converseQuestion = []any{body{"role": "user", "content": []any{body{"text": "What is it?"}}}}

func conversePath(model string, stream bool) string {
	path := "/model/" + url.PathEscape(model) + "/converse"
	if stream {
		path += "-stream"
	}
	return path
}

// readConverse reads a message of Amazon Bedrock's, whole or as an event stream.
func readConverse(t *testing.T, body []byte, stream bool) (s said) {
	t.Helper()
	type reasoning struct{ Text string }
	type call struct {
		Name  string
		Input json.RawMessage
	}
	if !stream {
		var m struct {
			Output struct {
				Message struct {
					Content []struct {
						Text             string
						ReasoningContent struct{ ReasoningText reasoning }
						ToolUse          call
					}
				}
			}
			StopReason string
		}
		decode(t, body, &m)
		for _, b := range m.Output.Message.Content {
			s.text, s.thought = s.text+b.Text, s.thought+b.ReasoningContent.ReasoningText.Text
			s.tool, s.arguments = s.tool+b.ToolUse.Name, s.arguments+string(b.ToolUse.Input)
		}
		s.finish = m.StopReason
		return s
	}
	c := bedrock.Provider.Carriers[0].Begin(wire.Settings{})
	for len(body) > 0 {
		n, f, err := c.Next(body)
		if err != nil || n == 0 {
			t.Fatalf("%v at %q", err, body)
		}
		body = body[n:]
		var e struct {
			Start struct{ ToolUse call }
			Delta struct {
				Text             string
				ReasoningContent reasoning
				ToolUse          struct{ Input string }
			}
			StopReason string
		}
		decode(t, bytes.Clone(f.Data), &e)
		s.text, s.thought = s.text+e.Delta.Text, s.thought+e.Delta.ReasoningContent.Text
		s.tool, s.arguments = s.tool+e.Start.ToolUse.Name, s.arguments+e.Delta.ToolUse.Input
		s.finish += e.StopReason
	}
	return s
}
