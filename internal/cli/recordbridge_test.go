package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// bridgedRecord is a record of one exchange of a client of the Messages API with an upstream that speaks chat completions.
func bridgedRecord(t *testing.T) (dir string) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","reasoning_content":"An upstream's thought.","content":"An answer.","annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com/"}}]}}]}`)
	}))
	defer upstream.Close()
	at, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: at, UpstreamAPI: "chat", Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(`{"model":"qwen3","max_tokens":99,"metadata":{"user_id":"u"},"system":"A client's prompt.","messages":[{"role":"user","content":"An image:"},{"role":"assistant","content":[{"type":"thinking","thinking":"An old thought.","signature":""},{"type":"text","text":"Which?"}]},{"role":"user","content":[{"type":"text","text":"This."}]}]}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	reply := httptest.NewRecorder()
	g.ServeHTTP(reply, r)
	if reply.Code != http.StatusOK || g.Close() != nil || w.Close() != nil {
		t.Fatalf("%d %s", reply.Code, reply.Body)
	}
	return dir
}

// bridgedTexts are the paths of the texts of both sides, and what they say. Those of a prompt are not shown to everybody.
var bridgedTexts = map[string]string{
	"asked.0.text": "A client's prompt.", "asked.3.text": "This.", "messages.0.text": "A client's prompt.", "messages.3.text": "This.",
	"asked.2.reasoning.0.text": "An old thought.", "revisions.0.removed": "An old thought.", "replies.0.raw": "An answer.",
}

// bridgedLeft are the members that the other side did not get.
var bridgedLeft = []string{"metadata.user_id", "reply.choices[].message.annotations"}

// TestRecordShowBridge: both sides of an exchange are shown whose client and upstream speak different APIs, and what the
// other one did not get.
func TestRecordShowBridge(t *testing.T) {
	var out, errs bytes.Buffer
	if status := Run([]string{"record", "show", bridgedRecord(t), "1"}, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
		t.Fatal(errs.String())
	}
	for path, text := range bridgedTexts {
		_, rest, ok := strings.Cut(out.String(), path)
		if !ok || !strings.Contains(rest, text) {
			t.Errorf("%s is not shown: %s", path, &out)
		}
	}
	for _, want := range append([]string{"anthropic.messages", "openai.chat", "An upstream's thought."}, bridgedLeft...) {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not shown: %s", want, &out)
		}
	}
}

// TestMCPShowBridge: record_show shows the same; without --reasoning, no prompt of either side and no thought.
func TestMCPShowBridge(t *testing.T) {
	dir := bridgedRecord(t)
	for _, flags := range [][]string{nil, {"--reasoning"}} {
		in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"record_show","arguments":{"seq":1}}}` + "\n"
		var out, errs bytes.Buffer
		if status := Run(append([]string{"mcp", "--record", dir}, flags...), strings.NewReader(in), &out, &errs, func(string) string { return "" }); status != 0 {
			t.Fatal(errs.String())
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		shown := gjson.Get(lines[len(lines)-1], "result.structuredContent")
		texts := map[string]string{}
		for _, x := range shown.Get("texts").Array() {
			texts[x.Get("path").Str] += x.Get("text").Str
		}
		members := shown.Get("members").Raw
		for path, text := range bridgedTexts {
			secret := flags == nil && path != "replies.0.raw"
			if got := texts[path]; secret && got != "" || !secret && !strings.Contains(got, text) {
				t.Errorf("%v: %s is %q", flags, path, got)
			}
		}
		for _, want := range slices.Concat([]string{"anthropic.messages", "openai.chat"}, bridgedLeft) {
			if !strings.Contains(members, want) {
				t.Errorf("%v: %s is not shown: %s", flags, want, members)
			}
		}
		if thought := strings.Contains(fmt.Sprint(texts), "thought"); thought != (flags != nil) {
			t.Errorf("%v: a thought is shown: %v", flags, texts)
		}
	}
}
