package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// leavingOut asks an upstream that speaks chat, as a client of another API, and returns what was named as left out:
// in the header, the record and the log.
func leavingOut(t *testing.T, stream bool, reply string) (code int, header string, kept []string, log, got string) {
	t.Helper()
	events, lines := &eventList{}, &bytes.Buffer{}
	kind := "application/json"
	if stream {
		kind = "text/event-stream"
	}
	g := handler(t, gateway.Config{UpstreamAPI: "chat", Recorder: events, Logger: slog.New(slog.NewTextHandler(lines, nil))}, answering(func(*http.Request) *http.Response {
		return response(kind, strings.NewReader(reply))
	}))
	w := request(g, "POST", "/v1/messages", fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%v,"messages":[{"role":"user","content":"Hi"}]}`, stream))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Header().Get("Sotto-Left-Out"), events.list[0].Payload.(record.Exchange).LeftOut, lines.String(), w.Body.String()
}

// lostWhole and lostStream are the same reply, with members that have no counterpart.
const (
	lostWhole = `{"id":"c1","model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"message":{"role":"assistant","content":"Yes.","annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com/canary"}}],` +
		`"a member with <think>canary</think>":"canary"},"finish_reason":"stop"}]}`
	lostStream = `data: {"id":"c1","model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com/canary"}}],"a member with <think>canary</think>":"canary"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// TestBridgeReplyLeftOut: what a client of another API does not get of a reply is named in the log and in the
// record, and in the header of a whole reply. The names say nothing of the values, and bookkeeping of the server has
// no name there.
func TestBridgeReplyLeftOut(t *testing.T) {
	want := []string{"reply.choices[].message.annotations", "reply.choices[].message.*"}
	for _, stream := range []bool{false, true} {
		reply := lostWhole
		if stream {
			reply = lostStream
		}
		code, header, kept, log, got := leavingOut(t, stream, reply)
		if code != 200 || !strings.Contains(got, "Yes.") || strings.Contains(got, "canary") {
			t.Errorf("streamed %v: %d %s", stream, code, got)
		}
		if !slices.Equal(kept, want) {
			t.Errorf("streamed %v: the record has %q", stream, kept)
		}
		if inHeader := strings.Join(want, ", "); stream && header != "" || !stream && header != inHeader {
			t.Errorf("streamed %v: the header has %q", stream, header)
		}
		if !strings.Contains(log, `left_out="`+strings.Join(want, " ")+`"`) || strings.Contains(header+log, "canary") {
			t.Errorf("streamed %v: the log has %s", stream, log)
		}
	}
}

// TestBridgeReplyLeftOutBounds: an upstream that is hostile cannot fill the header, the log or the record.
func TestBridgeReplyLeftOutBounds(t *testing.T) {
	var members strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&members, `"m%d":1,"%s%d":1,`, i, strings.Repeat("x", 500), i)
	}
	_, header, kept, log, _ := leavingOut(t, false, "{"+members.String()+lostWhole[1:])
	if len(kept) != 33 || !strings.HasSuffix(kept[32], " more") || len(header) > 4<<10 || len(log) > 8<<10 || strings.Contains(header, "xx") {
		t.Errorf("%d names, a header of %d bytes: %.500s", len(kept), len(header), header)
	}
}

// TestBridgeReplyAnswer: a reply that is a sound or a file, for which the client's API has no place, is an error.
func TestBridgeReplyAnswer(t *testing.T) {
	whole := strings.Replace(lostWhole, `"annotations"`, `"audio":{"id":"a","data":"QUJD"},"annotations"`, 1)
	code, _, _, _, got := leavingOut(t, false, whole)
	if code != http.StatusBadGateway || !strings.Contains(got, "choices[].message.audio") || strings.Contains(got, "Yes.") {
		t.Errorf("%d %s", code, got)
	}
	stream := strings.Replace(lostStream, `"annotations"`, `"audio":{"id":"a","data":"QUJD"},"annotations"`, 1)
	if _, _, _, _, got = leavingOut(t, true, stream); !strings.Contains(got, "choices[].message.audio") || strings.Contains(got, "message_stop") {
		t.Errorf("a stream: %s", got)
	}
}
