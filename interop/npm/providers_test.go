package npm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// A read is what a program reads of a reply by the SDK of its provider.
type read struct{ Name, Text, Thought, Reason string }

// readBy runs the talks of providers.js with an SDK against a gateway before an
// upstream, and returns what the SDK read, and what the upstream got.
func readBy(t *testing.T, sdk string, route routing.Route, up http.HandlerFunc) (map[string]read, []wiretap.Request) {
	t.Helper()
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	tap := wiretap.New(up)
	upstream := httptest.NewServer(tap)
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: route})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "providers.js"), front.URL, sdk)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, said.String())
	}
	all := map[string]read{}
	for line := range strings.Lines(string(out)) {
		var r read
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all[r.Name] = r
	}
	return all, tap.Of("client-key")
}

// wants compares what was read by name.
func wants(t *testing.T, where string, got map[string]read, want ...read) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d replies, want %d: %v", where, len(got), len(want), got)
	}
	for _, w := range want {
		if got[w.Name] != w {
			t.Errorf("%s: read\n%.300q\nwant\n%.300q", where, got[w.Name], w)
		}
	}
}

// overlong is a thought of Gemini's that goes on for 40 parts of 100 bytes, with the
// canary in each.
const overlong = 40

func thoughtPart(i int) string {
	return fmt.Sprintf("%-100s", fmt.Sprintf("Step %d, CANARY.", i))
}

// thinksLong is an upstream of Gemini's API.
func thinksLong(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/long-thought:") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":404,"message":"models/nowhere is not found","status":"NOT_FOUND"}}`)
		return
	}
	candidate := func(parts, end string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + end + `,"index":0}],"modelVersion":"long-thought"}`
	}
	thought := func(i int) string { return fmt.Sprintf(`{"text":%q,"thought":true}`, thoughtPart(i)) }
	const answer, stop = `{"text":"The answer.","thoughtSignature":"c2lnbmVk"}`, `,"finishReason":"STOP"`
	if !strings.Contains(r.URL.Path, ":stream") {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, candidate(thought(0)+","+answer, stop))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range overlong {
		fmt.Fprintf(w, "data: %s\n\n", candidate(thought(i), ""))
	}
	fmt.Fprintf(w, "data: %s\n\n", candidate(answer, stop))
}

// TestGoogle: Google's SDK reads thoughts and answers where they are shown, and a reply
// that thinks too long ends for it as one at a limit of tokens.
func TestGoogle(t *testing.T) {
	var all string
	for i := range overlong {
		all += thoughtPart(i)
	}
	refused := read{Name: "refused", Reason: "ApiError 404"}
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayKeep} {
		one, long := thoughtPart(0), all
		if display == routing.DisplayHide {
			one, long = "", ""
		}
		got, _ := readBy(t, "google", routing.Route{Display: display}, thinksLong)
		wants(t, string(display), got, read{"whole", "The answer.", one, "STOP"}, read{"stream", "The answer.", long, "STOP"}, refused)
	}
	got, _ := readBy(t, "google", routing.Route{ThinkingLimit: 1000}, thinksLong)
	if s := got["stream"]; s.Text != "" || s.Reason != "MAX_TOKENS" || len(s.Thought) < 900 || len(s.Thought) > 1200 || !strings.HasPrefix(all, s.Thought) {
		t.Errorf("a reply that thinks too long: %q", s)
	}
	got, _ = readBy(t, "google", routing.Route{Display: routing.DisplayHide, ThinkingLimit: 1000}, thinksLong)
	if s := got["stream"]; s.Text != "" || s.Thought != "" || s.Reason != "MAX_TOKENS" {
		t.Errorf("a reply that thinks too long, hidden: %q", s)
	}
}

// thinksInParts is an upstream of Mistral's APIs, whose content is a list of parts. Its
// thoughts are signed where it is asked to chat, and not elsewhere.
func thinksInParts(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if strings.Contains(string(body), "nowhere") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"object":"error","message":"no such model","type":"invalid_model","param":null,"code":"1500"}`)
		return
	}
	sign := ""
	if r.URL.Path == "/v1/chat/completions" {
		sign = `,"signature":"c2lnbmVk"`
	}
	think := func(text string, closed bool) string {
		s := ""
		if closed {
			s = sign
		}
		return fmt.Sprintf(`{"type":"thinking","thinking":[{"type":"text","text":%q}],"closed":%v%s}`, text, closed, s)
	}
	const answer, usage = `{"type":"text","text":"It is 4."}`, `,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`
	if !strings.Contains(string(body), `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":[%s,%s]},"finish_reason":"stop"}]%s}`,
			think("CANARY: I add.", true), answer, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, reason, more string) {
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]%s}\n\n", delta, reason, more)
	}
	send(`"role":"assistant","content":[`+think("CANARY: ", false)+`]`, "null", "")
	send(`"content":[`+think("I add.", true)+`]`, "null", "")
	send(`"content":"It is "`, "null", "")
	send(`"content":[{"type":"text","text":"4."}]`, "null", "")
	send(`"content":""`, `"stop"`, usage)
	io.WriteString(w, "data: [DONE]\n\n")
}

// TestMistral: Mistral's SDK reads the answer over each of its APIs. It knows thoughts
// only as parts of the content, so it reads the signed ones, and the others with the
// display keep. What it read goes back signed.
func TestMistral(t *testing.T) {
	for display, thought := range map[routing.Display]map[string]string{
		routing.DisplayKeep:  {"chat whole": "CANARY: I add.", "chat stream": "CANARY: I add.", "fim whole": "CANARY: I add.", "fim stream": "CANARY: I add.", "agents whole": "CANARY: I add.", "agents stream": "CANARY: I add."},
		routing.DisplayField: {"chat whole": "CANARY: I add.", "chat stream": "I add."},
		routing.DisplayHide:  {},
	} {
		got, sent := readBy(t, "mistral", routing.Route{Display: display}, thinksInParts)
		want := []read{{Name: "refused", Reason: "SDKError 404"}}
		for _, api := range []string{"chat", "fim", "agents"} {
			for _, form := range []string{"whole", "stream"} {
				name := api + " " + form
				want = append(want, read{name, "It is 4.", thought[name], "stop"})
			}
		}
		wants(t, string(display), got, want...)
		back := string(sent[len(sent)-2].Body)
		if !strings.Contains(back, "And 3+3?") {
			t.Fatalf("not the request that sends the reply back: %s", back)
		}
		if signed := strings.Contains(back, `"signature":"c2lnbmVk"`); signed != (display != routing.DisplayHide) {
			t.Errorf("%s: what was read goes back as\n%s", display, back)
		}
	}
}

// keepsConversations is an upstream of Mistral's conversations.
func keepsConversations(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	const (
		thought = `{"type":"thinking","thinking":[{"type":"text","text":"CANARY: I add."}],"closed":true}`
		text    = `<think>CANARY: sure.</think>It is 4.`
		usage   = `"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`
		begin   = `"created_at":"2026-11-23T10:00:00Z",`
		asked   = `{"object":"entry","type":"message.input","id":"in_1","role":"user","content":"What is 2+2?"}`
		message = `{"object":"entry","type":"message.output","id":"msg_1","model":"m","role":"assistant",` + begin + `"content":[` + thought + `,{"type":"text","text":"` + text + `"}]}`
		call    = `{"object":"entry","type":"function.call","id":"fc_1","tool_call_id":"c1","name":"add",` + begin + `"arguments":"{}"}`
	)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		io.WriteString(w, `{"object":"conversation.messages","conversation_id":"conv_1","messages":[`+asked+`,`+message+`]}`)
		return
	case strings.HasSuffix(r.URL.Path, "/history"):
		io.WriteString(w, `{"object":"conversation.history","conversation_id":"conv_1","entries":[`+asked+`,`+message+`,`+call+`]}`)
		return
	case !strings.Contains(string(body), `"stream":true`):
		io.WriteString(w, `{"object":"conversation.response","conversation_id":"conv_1","outputs":[`+message+`,`+call+`],`+usage+`}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name, members string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":\"%s\",%s%s}\n\n", name, name, begin, members)
		w.(http.Flusher).Flush()
	}
	send("conversation.response.started", `"conversation_id":"conv_1"`)
	piece := func(index int, content string) {
		send("message.output.delta", fmt.Sprintf(`"id":"msg_1","output_index":0,"content_index":%d,"model":"m","role":"assistant","content":%s`, index, content))
	}
	piece(0, thought)
	for _, c := range text {
		piece(1, fmt.Sprintf("%q", string(c)))
	}
	for _, arguments := range []string{"{", "}"} {
		send("function.call.delta", fmt.Sprintf(`"id":"fc_1","output_index":1,"model":"m","name":"add","tool_call_id":"c1","arguments":%q`, arguments))
	}
	send("conversation.response.done", usage)
}

// TestMistralConversations: the SDK begins, continues, restarts and reads a conversation, whole and streamed. It gets each
// thought where the display says, calls work, and where reasoning is hidden no thought comes.
func TestMistralConversations(t *testing.T) {
	for display, all := range map[routing.Display]read{
		routing.DisplayField: {Text: "It is 4.", Thought: "CANARY: I add.\n\nCANARY: sure."},
		routing.DisplayKeep:  {Text: "<think>CANARY: sure.</think>It is 4.", Thought: "CANARY: I add."},
		routing.DisplayTags:  {Text: "<think>\nCANARY: I add.\n\nCANARY: sure.\n</think>\n\nIt is 4."},
		routing.DisplayHide:  {Text: "It is 4."},
	} {
		all.Reason = "c1 add {}"
		var want []read
		for _, all.Name = range []string{"whole", "stream", "append whole", "append stream", "restart whole", "restart stream", "messages", "history"} {
			if want = append(want, all); all.Name == "messages" {
				want[len(want)-1].Reason = ""
			}
		}
		got, sent := readBy(t, "conversations", routing.Route{Display: display}, keepsConversations)
		wants(t, string(display), got, want...)
		if len(sent) != len(want) {
			t.Errorf("%s: %d requests reached the upstream", display, len(sent))
		}
	}
}
