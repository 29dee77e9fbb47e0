package gateway_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

const bedrockStreams = `{"model":"m","stream":true,"messages":[]}`

// TestBinaryStream sends streams in their binary form, cut anywhere: the client gets a
// stream in that form that says what the events say, and where nothing is split or hidden
// the same bytes.
func TestBinaryStream(t *testing.T) {
	s := bedrockSpeaker
	for _, display := range routing.Displays() {
		for _, raw := range []string{"<think>I add.</think>It is 4.", "It is 4."} {
			stream := s.stream(pieces(raw, 3, len(raw)-4), sotto.EndStopped)
			binary := eventStream(stream)
			for cut := 0; cut < len(binary); cut += len(binary)/9 + 1 {
				g := handler(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response {
					return response(eventStreamType, io.MultiReader(strings.NewReader(binary[:cut]), strings.NewReader(binary[cut:])))
				}))
				w := ask(g, s.path, bedrockStreams)
				events := handler(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, answering(upstreamSends("text/event-stream", stream)))
				want := eventStream(ask(events, s.path, bedrockStreams).Body.String()) // without comments
				if got := w.Body.String(); got != want || w.Header().Get("Content-Type") != eventStreamType {
					t.Fatalf("%s %q cut at %d:\n%q\nwant\n%q", display, raw, cut, got, want)
				}
				unchanged := display == routing.DisplayKeep || raw == "It is 4."
				switch got := w.Body.String(); {
				case !unchanged:
				case display == routing.DisplayHide: // it is written
					if said := meaningOf(s, string(namedEvents(t, []byte(got)))); said != meaningOf(s, stream) {
						t.Fatalf("%s %q cut at %d: another reply:\n%s", display, raw, cut, said)
					}
				case got != binary:
					t.Fatalf("%s %q cut at %d: not as it came:\n%q", display, raw, cut, got)
				}
			}
		}
	}
}

// TestBrokenBinaryStream: a stream that breaks off, also between messages or inside one,
// ends with an exception after what was held.
func TestBrokenBinaryStream(t *testing.T) {
	s := bedrockSpeaker
	whole := eventStream(s.stream([]string{"<think>I ", "add.</think>It ", "is 4."}, sotto.EndStopped))
	stop := strings.Index(whole, "messageStop") // the message begins before it
	for cut := 1; cut < stop; cut += len(whole)/29 + 1 {
		g := handler(t, gateway.Config{}, answering(upstreamSends(eventStreamType, whole[:cut])))
		got := string(namedEvents(t, ask(g, s.path, bedrockStreams).Body.Bytes()))
		if !strings.Contains(got, "event: exception/modelStreamErrorException\ndata: {\"message\":") || strings.Contains(got, "messageStop") {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
}

// withFurtherHeader puts a header of an unknown name into the first message of a stream.
func withFurtherHeader(stream, name, value string) string {
	total, size := binary.BigEndian.Uint32([]byte(stream)), binary.BigEndian.Uint32([]byte(stream[4:]))
	header := append(append([]byte{byte(len(name))}, name...), 7)
	header = append(binary.BigEndian.AppendUint16(header, uint16(len(value))), value...)
	b := binary.BigEndian.AppendUint32(nil, total+uint32(len(header)))
	b = binary.BigEndian.AppendUint32(b, size+uint32(len(header)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, header...), stream[12:total-4]...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))) + stream[total:]
}

// TestHeadersOfMessages: where reasoning is hidden, or a guard may hide it later, nothing
// passes in further headers of messages. Elsewhere they pass.
func TestHeadersOfMessages(t *testing.T) {
	stream := withFurtherHeader(eventStream(bedrockSpeaker.stream([]string{"It is 4."}, sotto.EndStopped)), "thought", "canary")
	for _, test := range []struct {
		route  routing.Route
		passes bool
	}{
		{routing.Route{Display: routing.DisplayHide, Start: sotto.BeginOutside}, false},
		{routing.Route{Guard: guard.Rule{Guard: &judgeFunc{}}}, false},
		{routing.Route{}, true},
		{routing.Route{Display: routing.DisplayKeep}, true},
	} {
		g := handler(t, gateway.Config{Default: test.route}, answering(upstreamSends(eventStreamType, stream)))
		got := ask(g, bedrockPath, bedrockStreams).Body.String()
		if strings.Contains(got, "canary") != test.passes || !strings.Contains(got, "It is 4.") {
			t.Errorf("%s, guard %v: %q", test.route.Display, test.route.Guard.Guard != nil, got)
		}
	}
}

// TestSignedRequests: a request with a signature is refused in the API's own form, with
// and without a token of the gateway, and does not reach the upstream.
func TestSignedRequests(t *testing.T) {
	for _, config := range []gateway.Config{{}, {Token: "secret"}} {
		for _, path := range []string{bedrockPath, "/model/m/converse-stream", "/model/m/invoke"} {
			for _, signed := range []func(*http.Request){
				func(r *http.Request) {
					r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00")
				},
				func(r *http.Request) { r.Header.Set("Authorization", " aws4-ecdsa-p256-sha256 Credential=A") },
				func(r *http.Request) { r.URL.RawQuery = "x=1&X-Amz-Signature=00" },
				func(r *http.Request) { r.URL.RawQuery = "x-amz-%73ignature=00" },
			} {
				reached := false
				g := handler(t, config, answering(func(*http.Request) *http.Response {
					reached = true
					return response("application/json", strings.NewReader(bedrockBody("", "end_turn")))
				}))
				r := httptest.NewRequest("POST", path, strings.NewReader(bedrockStreams))
				r.Host = "localhost"
				signed(r)
				w := httptest.NewRecorder()
				g.ServeHTTP(w, r)
				if reached || w.Code != http.StatusForbidden || w.Header().Get("X-Amzn-Errortype") != "AccessDeniedException" ||
					!strings.Contains(gjson.Get(w.Body.String(), "message").Str, "API key") {
					t.Errorf("%s: reached %v, %d %v %s", path, reached, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
	r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"messages":[]}`)) // another provider's
	r.Host = "localhost"
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	w := httptest.NewRecorder()
	handler(t, gateway.Config{}, answering(upstreamSends("application/json", `{"choices":[]}`))).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestBedrockPaths: a path goes on as it came, and names the model.
func TestBedrockPaths(t *testing.T) {
	const profile = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-v1:0"
	for _, path := range []string{
		"/model/us.anthropic.claude-v1%3A0/converse", "/model/us.anthropic.claude-v1:0/converse", "/model/" + url.QueryEscape(profile) + "/converse",
	} {
		asked := ""
		config := gateway.Config{Routes: []routing.Route{{Models: []string{"us.anthropic.claude-v1-0"}, Display: routing.DisplayTags}}}
		g := handler(t, config, answering(func(r *http.Request) *http.Response {
			asked = r.URL.EscapedPath()
			return response("application/json", strings.NewReader(bedrockBody(`{"reasoningContent":{"reasoningText":{"text":"I add."}}},{"text":"4"}`, "end_turn")))
		}))
		if got := ask(g, path, `{"messages":[]}`).Body.String(); asked != path || !strings.Contains(got, "think") {
			t.Errorf("%s went on as %s: %s", path, asked, got)
		}
	}
}

// bedrockBlocks reads the blocks of a stream. Their indices must count up from 0, and one
// must end before the next begins.
func bedrockBlocks(t *testing.T, stream string) string {
	t.Helper()
	var all []string
	last, open := -1, false
	for f := range framesOf(bedrockSpeaker.codec, []byte(stream)) {
		root := gjson.ParseBytes(f.Data)
		at := root.Get("contentBlockIndex")
		if !at.Exists() {
			continue
		}
		if string(f.Type) == "contentBlockStop" {
			if !open || int(at.Int()) != last {
				t.Errorf("the end of block %d, after %d:\n%s", at.Int(), last, stream)
			}
			open = false
			continue
		}
		if !open {
			open, last = true, last+1
			all = append(all, "")
		}
		if int(at.Int()) != last {
			t.Errorf("block %d, but %d is open:\n%s", at.Int(), last, stream)
		}
		for _, path := range []string{"start.toolUse.name", "delta.toolUse.input", "delta.reasoningContent.text", "delta.reasoningContent.signature", "delta.reasoningContent.redactedContent", "delta.text", "delta.citation.title"} {
			if v := root.Get(path); v.Exists() {
				key := path[strings.LastIndexByte(path, '.')+1:]
				if key == "text" && strings.Contains(path, "reasoning") {
					key = "thought"
				}
				if n := len(all) - 1; !strings.Contains(all[n], key+"=") {
					all[n] += key + "="
				}
				all[len(all)-1] += v.Str
			}
		}
	}
	if open {
		t.Errorf("block %d is open:\n%s", last, stream)
	}
	return strings.Join(all, " | ")
}

// TestBedrockBlocks: texts and thoughts become blocks of their own, and the others follow
// with their new indices. Signatures stay, and citations stand in the block of their text.
func TestBedrockBlocks(t *testing.T) {
	stop := func(i string) string { return named("contentBlockStop", `{"contentBlockIndex":`+i+`}`) }
	stream := bedrockOpen + bedrockDelta("0", `{"reasoningContent":{"text":"I add."}}`) + bedrockDelta("0", `{"reasoningContent":{"signature":"c2ln"}}`) + stop("0") +
		bedrockDelta("1", `{"reasoningContent":{"redactedContent":"ZW5j"}}`) + stop("1") +
		bedrockDelta("2", `{"text":"<think>More.</think>It is 4."}`) + bedrockDelta("2", `{"citation":{"title":"A"}}`) + stop("2") +
		named("contentBlockStart", `{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"c1","name":"f"}}}`) + bedrockDelta("3", `{"toolUse":{"input":"{}"}}`) + stop("3") +
		bedrockEnd("tool_use")
	whole := bedrockBody(`{"reasoningContent":{"reasoningText":{"text":"I add.","signature":"c2ln"}}},{"reasoningContent":{"redactedContent":"ZW5j"}},`+
		`{"citationsContent":{"content":[{"text":"<think>More.</think>It "},{"text":"is 4."}],"citations":[{"title":"A"}]}},`+
		`{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}`, "tool_use")
	for display, want := range map[routing.Display][2]string{
		routing.DisplayField: {
			"thought=I add.signature=c2ln | redactedContent=ZW5j | thought=\n\nMore.signature=sotto-made-this-block | text=It is 4.title=A | name=finput={}",
			`I add. c2ln | ZW5j | \n\nMore. sotto-made-this-block | [{"text":"It is 4."}] | f`,
		},
		routing.DisplayHide: {"signature=COPY | redactedContent=ZW5j | text=It is 4.title=A | name=finput={}", ` COPY | ZW5j | [{"text":"It is 4."}] | f`},
		routing.DisplayKeep: {
			"thought=I add.signature=c2ln | redactedContent=ZW5j | text=<think>More.</think>It is 4.title=A | name=finput={}",
			`I add. c2ln | ZW5j | [{"text":"<think>More.</think>It "},{"text":"is 4."}] | f`,
		},
	} {
		config := gateway.Config{Default: routing.Route{Display: display}}
		out := ask(handler(t, config, answering(upstreamSends("text/event-stream", stream))), bedrockPath, bedrockStreams).Body.String()
		if got := sealedCopy.ReplaceAllString(bedrockBlocks(t, out), "COPY"); got != want[0] {
			t.Errorf("%s:\n%q, want\n%q\n%s", display, got, want[0], out)
		}
		body := ask(handler(t, config, answering(upstreamSends("application/json", whole))), bedrockPath, `{"messages":[]}`).Body.String()
		var all []string
		for _, b := range gjson.Get(body, "output.message.content").Array() {
			reasoning := b.Get("reasoningContent.reasoningText")
			said := strings.Trim(reasoning.Get("text").Raw, `"`)
			if s := reasoning.Get("signature"); s.Exists() {
				said += " " + s.Str
			}
			all = append(all, said+b.Get("reasoningContent.redactedContent").Str+b.Get("citationsContent.content").Raw+b.Get("text").Str+b.Get("toolUse.name").Str)
		}
		if got := sealedCopy.ReplaceAllString(strings.Join(all, " | "), "COPY"); got != want[1] {
			t.Errorf("%s, whole:\n%q, want\n%q\n%s", display, got, want[1], body)
		}
		if display == routing.DisplayKeep && (out != stream || body != whole) {
			t.Errorf("kept: %s\n%s", out, body)
		}
	}
}

// TestBedrockStrayDelta: a piece of a block that has ended, or of one that is not the
// next, and text after the end of the message: hidden reasoning does not come out.
func TestBedrockStrayDelta(t *testing.T) {
	say := func(i int, text string) string { return bedrockDelta(fmt.Sprint(i), `{"text":`+quoted(text)+`}`) }
	stop := func(i int) string { return named("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, i)) }
	for _, stream := range []string{
		say(0, "It is 4.") + stop(0) + stop(0) + say(0, "<think>canary</think>"),
		say(7, "<think>canary</think>It is 4."),
		named("contentBlockStart", `{"contentBlockIndex":0,"start":{}}`) + say(1, "<think>canary</think>") + say(0, "It is 4."),
		named("contentBlockStart", `{"contentBlockIndex":0,"start":{"text":"<think>canary</think>"}}`) + say(0, "It is 4."),
		say(0, "It is 4.") + stop(9) + say(0, "<think>can") + say(0, "ary</think>"),
		say(0, "It is 4.") + stop(0) + named("messageStop", `{"stopReason":"end_turn"}`) + say(1, "<think>canary</think>"),
		named("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c","name":"f"}}}`) + bedrockDelta("0", `{"reasoningContent":{"text":"canary"}}`) + stop(0) + say(1, "It is 4."),
	} {
		got := hiddenAnswer(t, bedrockPath, true, "text/event-stream", bedrockOpen+stream+bedrockEnd("end_turn"), 200)
		if text := bedrockBlocks(t, got); !strings.Contains(text, "It is 4.") || strings.Count(got, "event: messageStop") != 1 {
			t.Errorf("%q of\n%s\n%s", text, stream, got)
		}
	}
}

// TestBedrockUnsigned: to a model whose provider signs all reasoning, a block without a
// signature does not go back: it was made here. Another model may have sent it.
func TestBedrockUnsigned(t *testing.T) {
	for model, kept := range map[string]bool{"us.anthropic.claude-sonnet-4-5-v1:0": false, "claude-sonnet-4-5": false, "openai.gpt-oss-120b-1:0": true} {
		for _, signature := range []string{"", `,"signature":""`, `,"signature":"sotto-made-this-block"`} {
			seen := ""
			config := gateway.Config{Default: routing.Route{History: history.Auto}}
			g := handler(t, config, answering(func(r *http.Request) *http.Response {
				seen = readAll(t, r.Body)
				return response("application/json", strings.NewReader(bedrockBody(`{"text":"4"}`, "end_turn")))
			}))
			call := `{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}`
			ask(g, bedrockPath, `{"model":"`+model+`","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"mine"`+
				signature+`}}},`+call+`]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"r"}]}}]}]}`)
			if strings.Contains(seen, "reasoningContent") != kept || strings.Contains(seen, "sotto-made") || !gjson.Valid(seen) || !strings.Contains(seen, call) {
				t.Errorf("%s, %s: %s", model, signature, seen)
			}
		}
	}
}

// TestSignedTransport: inside a client, a signed request goes on as it is to the server
// that it was signed for, and fails with the reason if its history must be edited.
func TestSignedTransport(t *testing.T) {
	asked := 0
	inner, err := gateway.NewTransport(gateway.TransportConfig{Transport: answering(func(*http.Request) *http.Response {
		asked++
		return response("application/json", strings.NewReader(bedrockBody(`{"text":"4"}`, "end_turn")))
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	for i, message := range []string{`{"text":"a"}`, `{"reasoningContent":{"reasoningText":{"text":"mine"}}},{"text":"a"}`} {
		body := `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[` + message + `]},{"role":"user","content":[{"text":"q"}]}]}`
		r := httptest.NewRequest("POST", "http://bedrock/model/claude-sonnet-4-5/converse", strings.NewReader(body))
		r.RequestURI = ""
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
		resp, err := inner.RoundTrip(r)
		if refused := i == 1; (err != nil) != refused || asked != 1 || refused && !strings.Contains(err.Error(), "signature") {
			t.Errorf("%s: %v, asked %d times", message, err, asked)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// TestBedrockMadeSignature: a block that the gateway made is signed where the setting
// says so, and one of the upstream's is not.
func TestBedrockMadeSignature(t *testing.T) {
	const native = `{"reasoningContent":{"reasoningText":{"text":"I add."}}}`
	for _, test := range []struct {
		form   routing.ThinkingSignature
		native bool
		want   int
	}{{"", false, 1}, {"", true, 0}, {routing.SignatureEmpty, false, 0}, {routing.SignatureSotto, false, 1}, {routing.SignatureSotto, true, 0}} {
		config := gateway.Config{Default: routing.Route{ThinkingSignature: test.form}}
		text := "<think>I add.</think>It is 4."
		stream, whole := bedrockSpeaker.stream([]string{text}, sotto.EndStopped), bedrockBody(`{"text":`+quoted(text)+`}`, "end_turn")
		if test.native {
			stream = bedrockOpen + bedrockDelta("0", `{"reasoningContent":{"text":"I add."}}`) + bedrockEnd("end_turn")
			whole = bedrockBody(native+`,{"text":"It is 4."}`, "end_turn")
		}
		out := ask(handler(t, config, answering(upstreamSends("text/event-stream", stream))), bedrockPath, bedrockStreams).Body.String()
		body := ask(handler(t, config, answering(upstreamSends("application/json", whole))), bedrockPath, `{"messages":[]}`).Body.String()
		for _, got := range []string{out, body} {
			if strings.Count(got, `"signature":"sotto-made-this-block"`) != test.want {
				t.Errorf("%+v: %s", test, got)
			}
		}
		if blocks := bedrockBlocks(t, out); !strings.HasPrefix(blocks, "thought=I add.") {
			t.Errorf("%+v: %s", test, blocks)
		}
	}
}

// TestBedrockGuard: a reply that a guard ends has the API's reason for that.
func TestBedrockGuard(t *testing.T) {
	g := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
		if strings.Contains(p.Before+p.Text, "not") {
			return guard.Verdict{Action: guard.End}, nil
		}
		return guard.Verdict{Action: guard.Pass}, nil
	}}
	config := gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: g, Every: 1}}}
	whole := eventStream(bedrockSpeaker.stream(inPieces("It is 4, as was said, and not 5.", 3), sotto.EndStopped))
	w := ask(handler(t, config, answering(upstreamSends(eventStreamType, whole))), bedrockPath, bedrockStreams)
	got := string(namedEvents(t, w.Body.Bytes()))
	if !strings.Contains(got, "It ") || strings.Contains(got, "5") || !strings.HasSuffix(got, named("messageStop", `{"stopReason":"guardrail_intervened"}`)) {
		t.Error(got)
	}
}
