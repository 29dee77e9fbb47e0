package v03

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

var (
	moment  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	meta    = map[string]any{"a_b": "c", "n": 1.5}
	parts   = a2a.ContentParts{a2a.NewTextPart("Hi"), a2a.NewTextPart(""), {Content: a2a.Data{Value: map[string]any{"x": []any{1.0}}}, Metadata: meta}, {Content: a2a.Raw("\x00\xff"), MediaType: "image/png", Filename: "a.png"}, {Content: a2a.URL("https://a.example/b"), MediaType: "text/plain"}}
	said    = &a2a.Message{ID: "m", ContextID: "c", TaskID: "t", Role: a2a.MessageRoleAgent, Parts: parts, ReferenceTasks: []a2a.TaskID{"r"}, Extensions: []string{"e"}, Metadata: meta}
	made    = &a2a.Artifact{ID: "a", Name: "n", Description: "d", Parts: parts, Extensions: []string{"e"}, Metadata: meta}
	working = a2a.TaskStatus{State: a2a.TaskStateWorking, Message: said, Timestamp: &moment}
	events  = []a2a.Event{
		said,
		&a2a.Task{ID: "t", ContextID: "c", Status: working, Artifacts: []*a2a.Artifact{made}, History: []*a2a.Message{said}, Metadata: meta},
		&a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: working, Metadata: meta},
		&a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Artifact: made, Append: true, LastChunk: true, Metadata: meta},
	}
)

// TestRoundTrip: an event of every kind says the same after it was written and
// read, and so does every state.
func TestRoundTrip(t *testing.T) {
	all := events
	for state := range states {
		all = append(all, &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: readState(state)}})
	}
	for _, e := range all {
		data, err := json.Marshal(fromEvent(e))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readEvent(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Errorf("%s\n%s", data, d)
		}
	}
}

// TestWire: what is on the wire is what the protocol says.
func TestWire(t *testing.T) {
	for want, e := range map[string]a2a.Event{
		`{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hi"}]}`:                                      &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: parts[:1]},
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"auth-required"}}`:                                                 &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateAuthRequired}},
		`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}`:                      &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateInputRequired}},
		`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"Hi"}]}}`: &a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Artifact: &a2a.Artifact{ID: "a", Parts: parts[:1]}},
	} {
		if got, err := json.Marshal(fromEvent(e)); string(got) != want || err != nil {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
}

// TestForeignEvents: what is not an event is an error, and never a panic.
func TestForeignEvents(t *testing.T) {
	for _, data := range []string{
		``, `null`, `[]`, `{}`, `{"kind":"other"}`, `{"kind":"message","parts":[{"kind":"text"}]}`, `{"kind":"message","parts":[{"kind":"video","video":1}]}`,
		`{"kind":"message","parts":[null]}`, `{"kind":"message","parts":[{"kind":"file"}]}`, `{"kind":"task","history":[{"parts":[{}]}]}`, `{"kind":"task","status":1}`,
	} {
		if e, err := readEvent([]byte(data)); err == nil {
			t.Errorf("%s was read as %#v", data, e)
		}
	}
	for _, data := range []string{`{"kind":"task","history":[null],"artifacts":[null]}`, `{"kind":"artifact-update"}`, `{"kind":"status-update"}`} {
		if _, err := readEvent([]byte(data)); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestForeignRequests: a request that is not one gets the error that JSON-RPC has
// for it, with its id where that is known.
func TestForeignRequests(t *testing.T) {
	h := Handler(nil, 0)
	for body, want := range map[string]string{
		``:   `"id":null,"error":{"code":-32700`,
		`{`:  `"id":null,"error":{"code":-32700`,
		`[]`: `"id":null,"error":{"code":-32602`,
		`{"jsonrpc":"1.0","id":1,"method":"tasks/get"}`:                                          `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":[1],"method":"tasks/get"}`:                                        `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":"é<","method":""}`:                                                `"id":"é`,
		`{"jsonrpc":"2.0","id":7,"method":"GetTask"}`:                                            `"id":7,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/get"}`:                                          `"id":7,"error":{"code":-32700`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":[]}`:                              `"id":7,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":7,"method":"message/stream","params":{"message":{"parts":[{}]}}}`: `"id":7,"error":{"code":-32602`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if got, _ := io.ReadAll(w.Body); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// TestReadCard: cards of 0.3, of 1.0, and of both say where the interfaces are.
func TestReadCard(t *testing.T) {
	for _, c := range []struct{ card, want string }{
		{`{"url":"u","protocolVersion":"0.3.0","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"u","transport":"JSONRPC"},{"url":"v","transport":"HTTP+JSON"}]}`, "u JSONRPC 0.3, v HTTP+JSON 0.3"},
		{`{"url":"u"}`, "u JSONRPC 0.3"},
		{`{"url":"u","supportedInterfaces":[{"url":"v","protocolBinding":"GRPC","protocolVersion":"1.0"}],"securitySchemes":{"a":{"type":"apiKey"}},"security":[{"a":[]}]}`, "v GRPC 1.0"},
		{`{}`, ""},
	} {
		card, err := ReadCard([]byte(c.card))
		if err != nil {
			t.Errorf("%s: %v", c.card, err)
			continue
		}
		var got []string
		for _, i := range card.SupportedInterfaces {
			got = append(got, i.URL+" "+string(i.ProtocolBinding)+" "+string(i.ProtocolVersion))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.card, s, c.want)
		}
	}
}
