package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
)

// A growth is by how many bytes a written stream may be larger than the upstream's.
type growth struct {
	frame  int // each frame
	named  int // … if the first one has the longest names that may pass, and no other has any
	change int // each change between a thought and a text
	once   int // the start of a reply, and its end
	texts  int // how often the end repeats all texts
}

// growths are those of the APIs, as docs/reference/replies.md has them.
var growths = map[string]growth{
	"openai.chat":           {50, 2950, 20, 250, 0},
	"openai.completions":    {40, 2950, 20, 250, 0},
	"openai.responses":      {160, 700, 800, 4000, 3},
	"anthropic.messages":    {40, 40, 420, 850, 0},
	"gemini.generate":       {0, 1060, 20, 200, 0},
	"gemini.interactions":   {40, 40, 300, 600, 0},
	"mistral.conversations": {100, 1300, 180, 370, 0},
	"ollama.chat":           {40, 220, 20, 150, 0},
	"ollama.generate":       {20, 200, 20, 150, 0},
	"llamacpp.completion":   {40, 40, 20, 100, 0},
	"cohere.chat":           {40, 40, 300, 600, 0},
	"bedrock.converse":      {30, 30, 220, 350, 0},
}

// A counter is a client that counts the bytes that it gets.
type counter struct {
	http.ResponseWriter
	n int
}

func (c *counter) Flush() {}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// frameByFrame is a body of which each frame comes when what the one before it became has
// been sent. sent are the bytes that the client had at each frame.
type frameByFrame struct {
	frames []string
	client *counter
	sent   []int
}

func (b *frameByFrame) Read(p []byte) (int, error) {
	b.sent = append(b.sent, b.client.n)
	if len(b.frames) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.frames[0])
	if b.frames[0] = b.frames[0][n:]; b.frames[0] == "" {
		b.frames = b.frames[1:]
	}
	return n, nil
}

// longest is the longest word that may pass.
var longest = strings.Repeat("i", 512)

// A terseFrame is the shortest frame of a text, and a first frame with the longest names.
type terseFrame struct{ before, after, named string }

// say is the frame of a text, which is the inside of a string of JSON.
func (f terseFrame) say(text string) string { return f.before + text + f.after }

var terse = map[string]terseFrame{
	"openai.chat":           {`data: {"choices":[{"delta":{"content":"`, "\"}}]}\n\n", longNames("id object created service_tier system_fingerprint", "model provider", `"choices":[{"delta":{"content":"a"}}]`)},
	"openai.completions":    {`data: {"choices":[{"text":"`, "\"}]}\n\n", longNames("id object created service_tier system_fingerprint", "model provider", `"choices":[{"text":"a"}]`)},
	"openai.responses":      {`data: {"type":"response.output_text.delta","delta":"`, "\"}\n\n", event("response.output_item.added", `"output_index":0,"item":{"type":"message","id":"`+longest+`"}`)},
	"anthropic.messages":    {`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"`, "\"}}\n\n", ""},
	"gemini.generate":       {`data: {"candidates":[{"content":{"parts":[{"text":"`, "\"}]}}]}\n\n", longNames("modelVersion responseId", "", `"candidates":[{"content":{"parts":[{"text":"a"}]}}]`)},
	"mistral.conversations": {`data: {"type":"message.output.delta","content":"`, "\"}\n\n", longNames("id agent_id", "model", `"type":"message.output.delta","content":"a"`)},
	"gemini.interactions":   {`data: {"event_type":"step.delta","delta":{"type":"text","text":"`, "\"}}\n\n", ""},
	"ollama.chat":           {`{"message":{"content":"`, "\"}}\n", strings.TrimSpace(strings.TrimPrefix(longNames("created_at", "model", `"message":{"content":"a"}`), "data: ")) + "\n"},
	"ollama.generate":       {`{"response":"`, "\"}\n", strings.TrimSpace(strings.TrimPrefix(longNames("created_at", "model", `"response":"a"`), "data: ")) + "\n"},
	"llamacpp.completion":   {`data: {"content":"`, "\"}\n\n", longNames("", "model", `"content":"a"`)},
	"cohere.chat":           {`data: {"type":"content-delta","delta":{"message":{"content":{"text":"`, "\"}}}}\n\n", ""},
	"bedrock.converse":      {`event: contentBlockDelta` + "\n" + `data: {"delta":{"text":"`, "\"}}\n\n", ""},
}

// longNames is a frame with members that are the longest words and labels, and with others.
func longNames(words, labels, more string) string {
	f := `data: {`
	for word := range strings.FieldsSeq(words) {
		f += `"` + word + `":"` + longest + `",`
	}
	for label := range strings.FieldsSeq(labels) {
		f += `"` + label + `":"` + longest[:128] + `",`
	}
	return f + more + "}\n\n"
}

// A growing is a stream of which is measured what it becomes.
type growing struct {
	frames  []string
	changes int // between a thought and a text, in each frame
	text    int // bytes of text, in each frame
	named   bool
}

// streamsThatGrow are streams of an API whose frames are short, or change between thoughts
// and texts as often as they can.
func streamsThatGrow(s speaker) map[string]growing {
	short := terse[s.name()]
	tersely := func(open string, n int, text string) []string {
		return append(cutFrames(s, open), slices.Repeat([]string{short.say(text)}, n)...)
	}
	usual := append([]string{"<think>", "a", "</think>"}, slices.Repeat([]string{"word "}, 300)...)
	return map[string]growing{
		"usual":      {cutFrames(s, s.stream(usual, sotto.EndStopped)), 1, 8, false},
		"terse":      {tersely("", 300, "a"), 0, 1, false},
		"named":      {tersely(short.named, 300, "a"), 0, 1, true},
		"escapes":    {tersely("", 10, strings.Repeat(`\b\u00e9`, 1000)), 0, 8000, false},
		"thoughts":   {tersely("", 10, strings.Repeat("<think>a</think>b", 100)), 200, 200, false},
		"one by one": {tersely("", 100, "<think>a</think>b"), 2, 2, false},
	}
}

func cutFrames(s speaker, stream string) []string {
	end := "\n\n"
	if s.codec.Framing() == wire.NDJSON {
		end = "\n"
	}
	return slices.DeleteFunc(strings.SplitAfter(stream, end), func(f string) bool { return f == "" })
}

// grown gives a stream to a gateway frame by frame, and returns how many bytes each became,
// and the end.
func grown(t *testing.T, s speaker, route routing.Route, frames []string) []int {
	client := &counter{ResponseWriter: &sink{header: http.Header{}}}
	body := &frameByFrame{frames: slices.Clone(frames), client: client}
	g := handler(t, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response {
		r := response(s.kind(true), nil)
		r.Body = io.NopCloser(body)
		return r
	}))
	q := (&conversation{s: s}).request("qwen3", true, "")
	g.ServeHTTP(client, posting(addressed(s.path, q), q))
	if len(body.sent) != len(frames)+1 {
		t.Fatalf("%d frames were read of %d", len(body.sent)-1, len(frames))
	}
	var became []int
	for i := range frames {
		became = append(became, body.sent[i+1]-body.sent[i])
	}
	return append(became, client.n-body.sent[len(frames)])
}

// TestGrowth: what is written is larger than what came by no more than docs/reference/replies.md says,
// after each frame and at the end. No number there is much more than what is measured.
func TestGrowth(t *testing.T) {
	for _, s := range speakers {
		t.Run(s.name(), func(t *testing.T) {
			most := growths[s.name()]
			var is growth
			for name, stream := range streamsThatGrow(s) {
				for display, route := range map[string]routing.Route{"hide": {Display: routing.DisplayHide}, "field": {ThinkingLimit: 1 << 20}} {
					more := 0
					became := grown(t, s, route, stream.frames)
					for i, n := range became {
						frame, allowed := most.frame, most.once
						if stream.named {
							frame = most.named
						}
						if i < len(stream.frames) {
							more += n - len(stream.frames[i])
						} else {
							more += n
							allowed += most.texts * stream.text * len(stream.frames)
						}
						if allowed += (i + 1) * (frame + most.change*stream.changes); more > allowed {
							t.Fatalf("%s, %s: after %d of %d frames there are %d bytes more, and not at most %d", name, display, i+1, len(stream.frames), more, allowed)
						}
					}
					is.measure(name, stream, became)
				}
			}
			t.Logf("%+v", is)
			for _, c := range []struct{ is, most int }{{is.frame, most.frame}, {is.named, most.named}, {is.change, most.change}, {is.once, most.once}} {
				if c.most > c.is*3/2+60 {
					t.Errorf("at most %d bytes are allowed, and %d are measured: %+v", c.most, c.is, is)
				}
			}
		})
	}
}

// measure notes by how much a stream has grown.
func (is *growth) measure(name string, stream growing, became []int) {
	for i := range stream.frames {
		more := became[i] - len(stream.frames[i])
		switch {
		case i == 0 && name == "terse":
			is.once = max(is.once, more+became[len(stream.frames)])
		case i == 0:
		case name == "terse":
			is.frame = max(is.frame, more)
		case name == "named":
			is.named = max(is.named, more)
		case name == "thoughts":
			is.change = max(is.change, more/stream.changes)
		}
	}
}

// TestGrowthInTheGuide: the table of docs/reference/replies.md has these numbers.
func TestGrowthInTheGuide(t *testing.T) {
	const page, begins = "../docs/reference/replies.md", "| API | each frame | … with long names | each change | once |\n| --- | --- | --- | --- | --- |\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begins)
	had, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("the guide has no table of growths")
	}
	var rows []string
	for _, s := range speakers {
		if g, ok := growths[s.name()]; ok {
			rows = append(rows, fmt.Sprintf("| `%s` | %d | %d | %d | %d |", s.name(), g.frame, g.named, g.change, g.once))
		}
	}
	table := strings.Join(rows, "\n")
	if *update {
		if err := os.WriteFile(page, []byte(before+begins+table+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if had != table {
		t.Error("docs/reference/replies.md has another table: go test ./gateway -run TestGrowthInTheGuide -update")
	}
}
