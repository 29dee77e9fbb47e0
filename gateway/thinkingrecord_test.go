package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A stopCase is thinking that a route does not allow.
type stopCase struct {
	code  sotto.Code
	raw   string
	route routing.Route
}

func stopCases() []stopCase {
	var counting strings.Builder
	for i := 0; counting.Len() < 20<<10; i++ {
		fmt.Fprintf(&counting, "Step %d of the sum is %d. ", i, i*i)
	}
	circles := strings.Repeat("Wait, let me check that again. ", 600)
	return []stopCase{
		{"thinking_limit", "<think>" + counting.String() + "</think>The answer.", routing.Route{ThinkingLimit: 3000}},
		{"thinking_loop", "<think>" + circles + "</think>The answer.", routing.Route{OnThinkingLoop: routing.ThinkingStop}},
	}
}

// stopRemark is what the record says of a reply that the gateway ended.
func stopRemark(code sotto.Code) string {
	return fmt.Sprintf("the gateway ended the reply (%s), and its finish reason is the gateway's", code)
}

// checkStopped checks the record of a stream that came in frames of texts and was ended:
// its outcome, the reason, and every text of the frames that were read, the last of which
// is the one that was too much.
func checkStopped(t *testing.T, where string, e record.Exchange, c stopCase, frames []string, read int) {
	t.Helper()
	if e.Outcome != "answered" || e.Status != http.StatusOK || !e.Streamed || e.Error != stopRemark(c.code) {
		t.Errorf("%s: outcome %q, status %d, streamed %v, error %q", where, e.Outcome, e.Status, e.Streamed, e.Error)
	}
	if want := strings.Join(frames[:min(read, len(frames))], ""); rawOf(e) != want {
		t.Errorf("%s: %d frames were read, with %d bytes; recorded are %d: …%.60q", where, read, len(want), len(rawOf(e)), rawOf(e)[max(0, len(rawOf(e))-60):])
	}
	if len(e.Replies) != 1 || !reports(e.Replies[0], c.code) {
		t.Fatalf("%s: %d replies, diagnostics %v", where, len(e.Replies), e.Replies)
	}
	if r := e.Replies[0]; len(r.Segments) == 0 || r.Segments[len(r.Segments)-1].Channel != sotto.ChannelReasoning {
		t.Errorf("%s: the segments %v do not end in reasoning", where, r.Segments)
	}
}

func reports(r record.Reply, code sotto.Code) bool {
	return slices.ContainsFunc(r.Diagnostics, func(d sotto.Diagnostic) bool { return d.Code == code })
}

// A frameReader gives one frame at each read, and counts those that have text.
type frameReader struct {
	frames []string
	rest   string
	texts  int // frames with text that were read
	say    map[string]bool
}

// inFrames is a stream that says one text in each frame.
func inFrames(s speaker, texts []string) *frameReader {
	r := &frameReader{frames: []string{s.open}, say: map[string]bool{}}
	for _, text := range texts {
		r.frames = append(r.frames, s.say(text))
		r.say[s.say(text)] = true
	}
	r.frames = append(r.frames, s.finish(strings.Join(texts, ""), sotto.EndStopped))
	return r
}

func (r *frameReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if len(r.frames) == 0 {
			return 0, io.EOF
		}
		r.rest, r.frames = r.frames[0], r.frames[1:]
		if r.say[r.rest] {
			r.texts++
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestThinkingStopRecorded: the record of a stream that was ended because of its
// reasoning has the outcome, the reason, and all that the upstream sent until then, also
// what the client did not get, whatever it sees. A whole reply is complete: the record
// reports the same, but no end.
func TestThinkingStopRecorded(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, c := range stopCases() {
			displays := routing.Displays()
			if effort.Brief() { // one each
				displays = displays[(len(s.name())+len(c.code))%len(displays):][:1]
			}
			for _, display := range displays {
				where := fmt.Sprintf("%s %s", display, c.code)
				route := c.route
				route.Display = display
				texts := inPieces(c.raw, 97)
				src := inFrames(s, texts)
				w, dir := openRecord(t, record.Options{})
				h := handler(t, gateway.Config{Default: route, Recorder: w}, answering(func(*http.Request) *http.Response {
					return response(s.kind(true), src)
				}))
				v := &conversation{s: s}
				ask(h, s.path, v.request("m", true, ""))
				if src.texts == 0 || src.texts > len(texts)/2 {
					t.Fatalf("%s: %d of %d frames were read", where, src.texts, len(texts))
				}
				checkStopped(t, where, only(t, w, dir), c, texts, src.texts)

				w, dir = openRecord(t, record.Options{})
				whole := converse(t, s, gateway.Config{Default: route, Recorder: w})
				whole.raw = c.raw
				ask(whole, s.path, whole.request("m", false, ""))
				e := only(t, w, dir)
				if e.Outcome != "answered" || e.Error != "" || rawOf(e) != c.raw || !reports(e.Replies[0], c.code) {
					t.Errorf("whole, %s: outcome %q, error %q, %d bytes, diagnostics %v", where, e.Outcome, e.Error, len(rawOf(e)), e.Replies[0].Diagnostics)
				}
			}
		}
	})
}

// TestThinkingStopRecordedKept: the same holds of a reply whose request goes on with a
// conversation that the upstream keeps, and of one that was made in the background and
// is fetched.
func TestThinkingStopRecordedKept(t *testing.T) {
	s := speakerOf(t, "openai.responses")
	for _, c := range stopCases() {
		texts := inPieces(c.raw, 97)
		kept := `{"model":"m","stream":true,"input":"What is it?","conversation":"conv_1"}`
		next := `{"model":"m","stream":true,"input":"What is it?","previous_response_id":"resp_0"}`
		for _, request := range [][2]string{{"POST", kept}, {"POST", next}, {"GET", ""}} {
			src := inFrames(s, texts)
			w, dir := openRecord(t, record.Options{})
			h := handler(t, gateway.Config{Default: c.route, Recorder: w}, answering(func(*http.Request) *http.Response {
				return response(s.kind(true), src)
			}))
			if request[0] == "GET" {
				asked(h, "GET", "/v1/responses/resp_1?stream=true")
			} else {
				ask(h, s.path, request[1])
			}
			e := only(t, w, dir)
			checkStopped(t, fmt.Sprintf("%s %s", c.code, request), e, c, texts, src.texts)
			if strings.Contains(request[1], "conv_1") && e.IDs["conversation"] != "conv_1" || strings.Contains(request[1], "resp_0") && e.IDs["previous_response_id"] != "resp_0" {
				t.Errorf("%s: the record does not say what it continues: %v", request, e.IDs)
			}
		}
	}
}
