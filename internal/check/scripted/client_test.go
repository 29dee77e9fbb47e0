package scripted

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A said is a client's reading of one choice.
type said struct {
	text, thought, finish string
	tool, arguments       string
}

// upstream returns an upstream whose clock does not move.
var upstream = New(Options{Now: func() time.Time { return time.Unix(1767225600, 123456789) }})

// post sends a request and returns status, headers and body.
func post(t *testing.T, path string, body any) *httptest.ResponseRecorder {
	t.Helper()
	b, ok := body.(string)
	if !ok {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		b = string(raw)
	}
	w := httptest.NewRecorder()
	upstream.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(b)))
	return w
}

// ok fails the test unless the answer has status OK.
func ok(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// A frame is a server-sent event.
type frame struct {
	event string
	data  []byte
}

// frames reads server-sent events, without comments.
func frames(t *testing.T, body []byte) []frame {
	t.Helper()
	var all []frame
	for event := range strings.SplitSeq(strings.TrimSuffix(string(body), "\n\n"), "\n\n") {
		var f frame
		for line := range strings.SplitSeq(event, "\n") {
			name, value, found := strings.Cut(line, ": ")
			switch {
			case !found:
				t.Fatalf("line %q", line)
			case name == "event":
				f.event = value
			case name == "data":
				f.data = []byte(value)
			}
		}
		if f.data != nil {
			all = append(all, f)
		}
	}
	return all
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
}

// A chatMessageOut is a message or a delta of a chat completion.
type chatMessageOut struct {
	Content          string
	ReasoningContent string `json:"reasoning_content"`
	Reasoning        string
	Details          []struct{ Text string } `json:"reasoning_details"`
	ToolCalls        []struct {
		ID       string
		Function struct{ Name, Arguments string }
		Extra    map[string]map[string]string `json:"extra_content"`
	} `json:"tool_calls"`
}

func (m *chatMessageOut) addTo(s *said) {
	s.text += m.Content
	s.thought += m.ReasoningContent + m.Reasoning
	for _, c := range m.ToolCalls {
		s.tool += c.Function.Name
		s.arguments += c.Function.Arguments
	}
}

type chatFrame struct {
	ID      string
	Object  string
	Choices []struct {
		Index          int
		Delta, Message chatMessageOut
		Text           string
		FinishReason   string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
	Error *struct{ Message string }
}

// readChat reads chat completions and completions.
func readChat(t *testing.T, body []byte, stream bool, n int) []said {
	t.Helper()
	all := make([]said, n)
	add := func(b []byte) {
		var f chatFrame
		decode(t, b, &f)
		for _, c := range f.Choices {
			s := &all[c.Index]
			c.Delta.addTo(s)
			c.Message.addTo(s)
			s.text += c.Text
			s.finish += c.FinishReason
		}
	}
	if !stream {
		add(body)
		return all
	}
	fs := frames(t, body)
	if last := fs[len(fs)-1]; string(last.data) != "[DONE]" {
		t.Errorf("the stream ends with %s", last.data)
	}
	for _, f := range fs[:len(fs)-1] {
		add(f.data)
	}
	return all
}

type responseOut struct {
	Status string
	Output []struct {
		Type, Status, Name, Arguments string
		Content                       []struct{ Type, Text string }
	}
}

func (o *responseOut) said() said {
	s := said{finish: o.Status}
	for _, it := range o.Output {
		for _, c := range it.Content {
			switch c.Type {
			case "output_text":
				s.text += c.Text
			case "reasoning_text":
				s.thought += c.Text
			}
		}
		s.tool += it.Name
		s.arguments += it.Arguments
	}
	return s
}

// readResponse reads a response. From a stream it reads both the deltas and the
// objects.
func readResponse(t *testing.T, body []byte, stream bool) said {
	t.Helper()
	if !stream {
		var o responseOut
		decode(t, body, &o)
		return o.said()
	}
	var s, end said
	for i, f := range frames(t, body) {
		var e struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Delta    string
			Item     struct{ Name string }
			Response responseOut
		}
		decode(t, f.data, &e)
		if e.Type != f.event || e.Sequence != i {
			t.Errorf("event %d is %s, says %s, number %d", i, f.event, e.Type, e.Sequence)
		}
		switch e.Type {
		case "response.output_text.delta":
			s.text += e.Delta
		case "response.reasoning_text.delta":
			s.thought += e.Delta
		case "response.function_call_arguments.delta":
			s.arguments += e.Delta
		case "response.output_item.added":
			s.tool += e.Item.Name
		case "response.completed", "response.incomplete":
			end = e.Response.said()
			s.finish = end.finish
		}
	}
	if s != end {
		t.Errorf("the deltas say %+v, the end %+v", s, end)
	}
	return s
}

// readOllama reads chat and generate.
// readCohere reads a message of Cohere's.
func readCohere(t *testing.T, body []byte, stream bool) (s said) {
	t.Helper()
	type part struct{ Text, Thinking string }
	type call struct {
		Function struct{ Name, Arguments string }
	}
	took := func(p part, plan string) { s.text, s.thought = s.text+p.Text, s.thought+p.Thinking+plan }
	called := func(c call) { s.tool, s.arguments = s.tool+c.Function.Name, s.arguments+c.Function.Arguments }
	if !stream {
		var m struct {
			Message struct {
				Content   []part
				ToolPlan  string `json:"tool_plan"`
				ToolCalls []call `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		decode(t, body, &m)
		for _, p := range m.Message.Content {
			took(p, "")
		}
		took(part{}, m.Message.ToolPlan)
		for _, c := range m.Message.ToolCalls {
			called(c)
		}
		s.finish = m.FinishReason
		return s
	}
	for _, f := range frames(t, body) {
		var e struct {
			Type  string
			Delta struct {
				Message struct {
					Content   json.RawMessage
					ToolPlan  string          `json:"tool_plan"`
					ToolCalls json.RawMessage `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		decode(t, f.data, &e)
		if e.Type != f.event {
			t.Errorf("event %s says %s", f.event, e.Type)
		}
		var p part
		var c call
		_ = json.Unmarshal(e.Delta.Message.Content, &p) // a list in message-start
		_ = json.Unmarshal(e.Delta.Message.ToolCalls, &c)
		took(p, e.Delta.Message.ToolPlan)
		called(c)
		s.finish += e.Delta.FinishReason
	}
	return s
}

// readLlama reads a reply of llama.cpp's server.
func readLlama(t *testing.T, body []byte, stream bool) (s said) {
	t.Helper()
	type object struct {
		Content  string `json:"content"`
		Stop     bool   `json:"stop"`
		StopType string `json:"stop_type"`
	}
	all := [][]byte{body}
	if stream {
		all = nil
		for _, f := range frames(t, body) {
			all = append(all, []byte(f.data))
		}
	}
	for i, one := range all {
		var o object
		if err := json.Unmarshal(one, &o); err != nil || o.Stop != (i == len(all)-1) {
			t.Fatalf("%v, stop %v: %s", err, o.Stop, one)
		}
		s.text, s.finish = s.text+o.Content, o.StopType
	}
	return s
}

func readOllama(t *testing.T, body []byte) said {
	t.Helper()
	var s said
	for line := range bytes.Lines(body) {
		var f struct {
			Message struct {
				Content, Thinking string
				ToolCalls         []struct {
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				} `json:"tool_calls"`
			}
			Response, Thinking string
			Done               bool
			Reason             string `json:"done_reason"`
		}
		decode(t, line, &f)
		if f.Done == (f.Reason == "") {
			t.Errorf("line %s", line)
		}
		s.text += f.Message.Content + f.Response
		s.thought += f.Message.Thinking + f.Thinking
		s.finish += f.Reason
		for _, c := range f.Message.ToolCalls {
			s.tool += c.Function.Name
			s.arguments += string(c.Function.Arguments)
		}
	}
	return s
}

// A contentBlock is a block of Anthropic's content.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// readMessage reads a message: its blocks, and their text.
func readMessage(t *testing.T, body []byte, stream bool) ([]contentBlock, said) {
	t.Helper()
	var m struct {
		Content    []contentBlock
		StopReason string `json:"stop_reason"`
	}
	if stream {
		m.Content, m.StopReason = readMessageStream(t, body)
	} else {
		decode(t, body, &m)
	}
	s := said{finish: m.StopReason}
	for _, b := range m.Content {
		s.text += b.Text
		s.thought += b.Thinking
		s.tool += b.Name
		s.arguments += string(b.Input)
	}
	return m.Content, s
}

func readMessageStream(t *testing.T, body []byte) (blocks []contentBlock, stop string) {
	t.Helper()
	open := false
	for _, f := range frames(t, body) {
		var e struct {
			Type  string
			Index int
			Block contentBlock `json:"content_block"`
			Delta struct {
				Text, Thinking, Signature string
				PartialJSON               string `json:"partial_json"`
				StopReason                string `json:"stop_reason"`
			}
		}
		decode(t, f.data, &e)
		if e.Type != f.event {
			t.Errorf("event %s says %s", f.event, e.Type)
		}
		switch e.Type {
		case "content_block_start":
			if open || e.Index != len(blocks) {
				t.Errorf("block %d starts after %d", e.Index, len(blocks))
			}
			open = true
			e.Block.Input = nil
			blocks = append(blocks, e.Block)
		case "content_block_delta":
			b := &blocks[e.Index]
			b.Text += e.Delta.Text
			b.Thinking += e.Delta.Thinking
			b.Signature += e.Delta.Signature
			b.Input = append(b.Input, e.Delta.PartialJSON...)
		case "content_block_stop":
			open = false
		case "message_delta":
			stop = e.Delta.StopReason
		}
	}
	if open {
		t.Error("a block did not stop")
	}
	return blocks, stop
}
