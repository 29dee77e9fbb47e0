package consoletest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// Open opens a record in a folder of the test's.
func Open(t testing.TB) (w *record.Writer, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	return w, dir
}

// Store opens a record to read it.
func Store(t testing.TB, dir string) *sidecar.Store {
	t.Helper()
	s, err := sidecar.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Scripted records one exchange of every scripted model through a gateway, over
// HTTP, with a prompt that holds an earlier thought. It returns the record's folder.
func Scripted(t testing.TB) (dir string) { return Paced(t, 0) }

// Paced is Scripted with a pause before each frame of a stream, so that the exchanges
// take some time.
func Paced(t testing.TB, pause time.Duration) (dir string) {
	t.Helper()
	w, dir := Open(t)
	up := httptest.NewServer(scripted.New(scripted.Options{Pause: pause}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: base, Recorder: w, Default: routing.Route{History: history.Strip}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	defer front.Close()
	for i, m := range scripted.Models() {
		body, _ := json.Marshal(map[string]any{
			"model": m.Name, "stream": i%2 == 0, "user": "ada", "temperature": 0.2, "seed": 7, "max_tokens": 4096,
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "height_of", "description": "The height of a tower in metres.", "parameters": map[string]any{"type": "object"}}}},
			"messages": []map[string]string{
				{"role": "system", "content": "You are terse."},
				{"role": "user", "content": "What is the capital of Canada?"},
				{"role": "assistant", "content": "<think>They want the capital of Canada, which is Ottawa and not Toronto.</think>Ottawa."},
				{"role": "user", "content": "Which tower is taller, the one in Toronto or the one in Ottawa?"},
			},
		})
		q, err := http.NewRequest(http.MethodPost, front.URL+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("X-OpenWebUI-Chat-Id", "towers-of-canada")
		q.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // some of these streams break off
		resp.Body.Close()
	}
	front.Close() // ends the handlers, so that all is handed to the record
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Exchange returns an exchange with a reply, read in the default dialect.
func Exchange(model, prompt, raw string) record.Exchange {
	reply, err := sotto.Default().Parse(raw, sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		panic(err)
	}
	r := record.ReplyOf(reply)
	return record.Exchange{
		API: "openai.chat", Model: model, Path: "/v1/chat/completions", Upstream: "http://localhost:11434", Status: 200, Outcome: "answered", Millis: 1234,
		Usage: &record.Usage{Input: 12, Output: 34}, Replies: []record.Reply{r}, Messages: []record.Message{{Role: "user", Text: record.Say(prompt)}},
	}
}

// Attacked records the hostile texts in every place of an exchange that is shown. It
// returns the record's folder and how many exchanges it holds.
func Attacked(t testing.TB) (dir string, n int) {
	t.Helper()
	w, dir := Open(t)
	for _, text := range Hostile() {
		name := shorttext.Cut(text, 200) // the index holds the names of models
		x := Exchange(name, text, "<think>"+text+"</think>\n"+text)
		x.Caller, x.ID, x.ResponseID, x.IDs, x.Error, x.History, x.Path = "c", text, text, map[string]string{text: text}, text, text, "/v1/"+text
		hostileRequest(&x, text)
		x.Guard = &record.Guarding{ID: text, Pieces: 1, Judgements: []record.Judgement{{Channel: text, Action: text, Reason: record.Say(text), Failure: text}}}
		x.Route, x.Leak, x.LeakBytes, x.Switch = text, text, 1, &record.Switching{Translated: text, Client: record.Say(text)}
		r := &x.Replies[0]
		r.Finish, r.Refusal = text, record.Say(text)
		r.Reasoning = []record.Thought{{Field: text, Text: record.Say(text)}}
		r.ToolCalls = []record.Call{{Name: text, ID: text, Arguments: record.Say(text)}}
		x.Messages[0].Role, x.Messages[0].CallID = text, text
		Put(t, w, x)
		n++
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, n
}

// hostileRequest puts a text into what an exchange has of its request.
func hostileRequest(x *record.Exchange, text string) {
	name, _ := json.Marshal(text)
	x.Parameters = record.Say(`{` + string(name) + `:` + string(name) + `}`)
	x.Tools = []record.Tool{{Name: text, Definition: record.Say(text)}, {Name: text, Digest: text}}
	x.Revisions = []record.Revision{{Field: text, Removed: record.Say(text)}}
}

// choices is how many replies of an exchange the console shows on a page.
const choices = 64

// Crowded records the hostile texts as the replies and messages of few exchanges, so
// that a browser has few pages to open. It returns the record's folder and how many
// exchanges it holds.
func Crowded(t testing.TB) (dir string, n int) {
	t.Helper()
	w, dir := Open(t)
	for texts := range slices.Chunk(Hostile(), choices) {
		var x record.Exchange
		for i, text := range texts {
			one := Exchange(shorttext.Cut(text, 200), text, "<think>"+text+"</think>\n"+text)
			r := one.Replies[0]
			r.Choice, r.Finish = i, text
			r.ToolCalls = []record.Call{{Name: text, ID: text, Arguments: record.Say(text)}}
			r.Reasoning = []record.Thought{{Field: text, Text: record.Say(text)}}
			one.Messages[0].Role = text
			hostileRequest(&one, text)
			one.Parameters, one.Revisions[0].Message = record.Content{}, len(x.Messages)
			one.Tools, one.Revisions = append(x.Tools, one.Tools...), append(x.Revisions, one.Revisions...)
			one.Replies, one.Messages = append(x.Replies, r), append(x.Messages, one.Messages...)
			x = one
		}
		Put(t, w, x)
		n++
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, n
}

// Put appends an event and waits until it is there.
func Put(t testing.TB, w *record.Writer, p record.Payload) uint64 {
	t.Helper()
	r, err := w.Append(context.Background(), record.Event{Payload: p})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}
