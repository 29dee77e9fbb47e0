package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/tidwall/gjson"
)

// asArray is a stream as Google's service sends it without alt=sse.
func asArray(stream string) string {
	var elements []string
	for event := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		elements = append(elements, strings.TrimPrefix(event, "data: "))
	}
	return "[" + strings.Join(elements, "\n,\r\n") + "\n]\n"
}

// asEvents is the stream in an array.
func asEvents(t *testing.T, array string) string {
	t.Helper()
	var elements []json.RawMessage
	if err := json.Unmarshal([]byte(array), &elements); err != nil {
		t.Fatalf("%v in %s", err, array)
	}
	var b strings.Builder
	for _, e := range elements {
		b.WriteString("data: " + string(e) + "\n\n")
	}
	return b.String()
}

// TestArrayStream sends streams as JSON arrays, cut anywhere: the client gets an
// array that says what the events say, and where nothing is split or hidden the same bytes.
func TestArrayStream(t *testing.T) {
	s := geminiSpeaker
	for _, display := range routing.Displays() {
		for _, raw := range []string{"<think>I add.</think>It is 4.", "It is 4."} {
			stream := s.stream(pieces(raw, 3, len(raw)-4), sotto.EndStopped)
			array := asArray(stream)
			for cut := 0; cut < len(array); cut += len(array)/9 + 1 {
				kind, body := "application/json; charset=UTF-8", io.MultiReader(strings.NewReader(array[:cut]), strings.NewReader(array[cut:]))
				g := handler(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response { return response(kind, body) }))
				got := ask(g, s.path, `{"stream":true,"contents":[]}`).Body.String()
				events := handler(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, answering(upstreamSends("text/event-stream", stream)))
				want := ask(events, s.path, `{"stream":true,"contents":[]}`).Body.String()
				if asEvents(t, got) != want {
					t.Fatalf("%s %q cut at %d:\n%s\nwant\n%s", display, raw, cut, got, want)
				}
				unchanged := display == routing.DisplayKeep || raw == "It is 4."
				if unchanged && (display != routing.DisplayHide && got != array || meaningOf(s, asEvents(t, got)) != meaningOf(s, stream)) {
					t.Fatalf("%s %q cut at %d:\n%s\nwant\n%s", display, raw, cut, got, array)
				}
			}
		}
	}
}

// TestBrokenArrayStream checks that an array that breaks off ends with an error
// as its last element.
func TestBrokenArrayStream(t *testing.T) {
	s := geminiSpeaker
	array := asArray(s.stream([]string{"<think>I ", "add.</think>It ", "is 4."}, sotto.EndStopped))
	for cut := 1; cut < len(array)-3; cut += len(array)/19 + 1 {
		g := handler(t, gateway.Config{}, answering(upstreamSends("application/json", array[:cut])))
		got := ask(g, s.path, `{"stream":true,"contents":[]}`).Body.String()
		if h := s.listen(t, []byte(asEvents(t, got))); h.failed == "" {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
}

// TestSignaturesPass holds that each signature of a reply reaches the client byte for
// byte, in the part that it came in, whatever becomes of the text beside it.
func TestSignaturesPass(t *testing.T) {
	const text = `{"text":"<think>I add.</think>It is 4.","thoughtSignature":"dGV4dA==","partMetadata":{"a":1}}`
	const held = `{"text":"\n\n<think>all of it</think>","thoughtSignature":"aGVsZA=="}`
	const thought = `{"thought":true,"text":"Hm.","thoughtSignature":"dGhvdWdodA=="}`
	const call = `{"thoughtSignature":"Y2FsbA\u003d\u003d","functionCall":{"name":"f","args":{"x": 1.50}}}`
	for _, display := range routing.Displays() {
		for _, stream := range []bool{true, false} {
			kind, body := "application/json", geminiObject(thought+","+text+","+held+","+call, geminiEnd(sotto.EndStopped))
			if stream {
				kind, body = "text/event-stream", geminiFrame(thought, "")+geminiFrame(text, "")+geminiFrame(held, "")+geminiFrame(call, geminiEnd(sotto.EndStopped))
			}
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(upstreamSends(kind, body)))
			mode := map[bool]string{true: "true", false: "false"}[stream]
			got := ask(g, geminiPath, `{"stream":`+mode+`,"contents":[]}`).Body.String()
			called := call
			if display == routing.DisplayHide { // the writer orders the members
				called = `{"functionCall":{"name":"f","args":{"x": 1.50}},"thoughtSignature":"Y2FsbA\u003d\u003d"}`
			}
			for _, want := range []string{`"thoughtSignature":"dGV4dA=="`, `"thoughtSignature":"aGVsZA=="`, `"thoughtSignature":"dGhvdWdodA=="`, called} {
				if strings.Count(got, want) != 1 {
					t.Errorf("%s, streamed %v: %s is not there once in\n%s", display, stream, want, got)
				}
			}
			if hidden := display == routing.DisplayHide; hidden && (strings.Contains(got, "I add") || strings.Contains(got, "Hm.") || strings.Contains(got, "all of it")) {
				t.Errorf("streamed %v: a thought came out:\n%s", stream, got)
			}
		}
	}
}

// TestSignatureEndsText holds that a text that was held until the reply's end goes on
// in the last part, which is the signed one: a client returns the last part's signature.
func TestSignatureEndsText(t *testing.T) {
	const end = `{"text":"","thoughtSignature":"ZW5k"}`
	for _, display := range routing.Displays() {
		g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(upstreamSends("application/json",
			geminiObject(`{"text":"It is 4."}`+","+end, geminiEnd(sotto.EndStopped)))))
		got := ask(g, geminiPath, `{"contents":[]}`).Body.String()
		parts := gjson.Get(got, "candidates.0.content.parts").Array()
		if n := len(parts); n == 0 || parts[n-1].Get("thoughtSignature").Str != "ZW5k" || !strings.Contains(got, "It is 4.") {
			t.Errorf("%s: %s", display, got)
		}
	}
}

// TestGeminiLineEnds: all events of a stream have the same line ends. A client that looks for
// one form of an event's end first reads two events as one otherwise. They are those of the
// upstream, unless the whole stream is written here.
func TestGeminiLineEnds(t *testing.T) {
	s := geminiSpeaker
	for _, ends := range []string{"\n", "\r\n"} {
		long := s.say("<think>"+strings.Repeat("I add. ", 40)) + s.say("Still.") + s.say("</think>It is 4.")
		for name, route := range map[string]routing.Route{
			"breaks off": {}, "is cut": {ThinkingLimit: 100}, "is hidden": {Display: routing.DisplayHide},
		} {
			stream := strings.ReplaceAll(long+"data: {\"candidates\":\ndata: []}\n\n", "\n", ends)
			g := handler(t, gateway.Config{Default: route}, answering(upstreamSends("text/event-stream", stream)))
			got := ask(g, s.path, `{"stream":true,"contents":[]}`).Body.String()
			want := ends
			if name != "breaks off" {
				want = "\n"
			}
			if n := strings.Count(got, "\n"); n < 4 || strings.Count(got, want) != n || strings.Contains(got, "\r") != (want == "\r\n") {
				t.Errorf("a stream that %s has the line ends %q:\n%q", name, ends, got)
			}
		}
	}
}
