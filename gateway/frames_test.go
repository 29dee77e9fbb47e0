package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// cutAt gives bytes in two reads.
func cutAt(b []byte, n int) io.Reader {
	return io.MultiReader(bytes.NewReader(b[:n]), bytes.NewReader(b[n:]))
}

// escaped is a text with every kind of escape that JSON has.
const escaped = `\u003cthink\u003eI \u00e9dd\ttwo\u003c\/think\u003e\n\nIt\u2019s \"4\" \\ \ud83d\ude00 é 😀`

const (
	escapedText    = "It’s \"4\" \\ 😀 é 😀"
	escapedThought = "I édd\ttwo"
)

// TestBytesCutAnywhere cuts the upstream's bytes at every place: inside the
// field's name, an escape, a code point, a line's end.
func TestBytesCutAnywhere(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		stream := []byte(strings.ReplaceAll(s.stream([]string{"@", "!"}, sotto.EndStopped), "@", escaped))
		var body io.Reader
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response { return response(s.kind(true), body) }))
		check := func(how string) {
			t.Helper()
			w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
			if h := s.listen(t, w.Body.Bytes()); string(h.text) != escapedText+"!" || string(h.thought) != escapedThought || h.failed != "" {
				t.Fatalf("%s: text %q, thought %q, failed %q", how, h.text, h.thought, h.failed)
			}
		}
		step := 1
		if effort.Brief() {
			step = 11
		}
		for n := len(stream); n >= 0; n -= step {
			body = cutAt(stream, n)
			check(fmt.Sprintf("cut at %d", n))
		}
		body = iotest.OneByteReader(bytes.NewReader(stream))
		check("byte by byte")
		body = iotest.DataErrReader(bytes.NewReader(stream))
		check("with the end")
	})
}

// TestFramesOverHTTP cuts them in real connections, each part flushed.
func TestFramesOverHTTP(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		stream := []byte(strings.ReplaceAll(s.stream([]string{"@"}, sotto.EndStopped), "@", escaped))
		base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", s.kind(true))
			n, _ := strconv.Atoi(r.Header.Get("Cut"))
			w.Write(stream[:n])
			http.NewResponseController(w).Flush()
			w.Write(stream[n:])
		}), gateway.Config{})
		random := rand.New(rand.NewPCG(7, 7))
		for range 40 {
			_, body := post(t, base+s.path, `{"model":"m","stream":true,"messages":[]}`, http.Header{"Cut": {strconv.Itoa(random.IntN(len(stream)))}})
			s.listen(t, body).wants(t, escapedText, escapedThought)
		}
	})
}

// TestLineEnds reads every form that the standard lets an event stream have.
func TestLineEnds(t *testing.T) {
	effort.OneGoroutine(t)
	forms := map[string]func(s string) string{
		"LF":                 func(s string) string { return s },
		"CR":                 func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
		"CRLF":               func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":                func(s string) string { return "\ufeff" + s },
		"comments":           func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n: OPENROUTER PROCESSING\n\n: x\n\n") },
		"bare":               func(s string) string { return "retry\n\n" + strings.ReplaceAll(s, "data: ", "id\nfoo: bar\ndata: ") },
		"spaces":             func(s string) string { return strings.ReplaceAll(s, "data: {", "data:      {") }, // as of a gateway's keep-alives
		"no space":           func(s string) string { return strings.ReplaceAll(s, "data: ", "data:") },
		"two data":           func(s string) string { return strings.ReplaceAll(s, `,"choices"`, ",\ndata: \"choices\"") },
		"two data in events": func(s string) string { return strings.ReplaceAll(s, `,"index"`, ",\ndata: \"index\"") },
		"two data in a head": func(s string) string { return strings.ReplaceAll(s, `,"model"`, ",\ndata: \"model\"") },
	}
	for _, s := range speakers {
		if s.codec.Framing() != wire.SSE {
			continue
		}
		for name, form := range forms {
			t.Run(s.name()+"/"+name, func(t *testing.T) {
				text := "<think>I add.</think>It is 4."
				stream := []byte(form(s.stream(byteByByte(text), sotto.EndStopped)))
				var body io.Reader
				says := answering(func(*http.Request) *http.Response { return response(s.kind(true), body) })
				body = bytes.NewReader(stream)
				written := handler(t, gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: &judgeFunc{}}}}, says)
				s.listen(t, ask(written, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.Bytes()).wants(t, "It is 4.", "I add.")
				g := handler(t, gateway.Config{}, says)
				for _, body = range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)), iotest.HalfReader(bytes.NewReader(stream))} {
					w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
					s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
					if name == "comments" && strings.Count(w.Body.String(), "OPENROUTER") != strings.Count(string(stream), "OPENROUTER") && s.name() != "anthropic.messages" {
						// A comment within the frame of an event that is not sent goes with it.
						if !strings.Contains(w.Body.String(), ": x\n\n") {
							t.Errorf("comments are gone:\n%s", w.Body)
						}
					}
				}
			})
		}
	}
}

// TestLargeFrames of more than any buffer, and one that is too large.
func TestLargeFrames(t *testing.T) {
	words := 60_000
	if effort.Brief() {
		words = 6000
	}
	thought, answer := strings.Repeat("I add \"é\". ", words), strings.Repeat("It is 4.\n", words)
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		stream := s.stream([]string{"<think>" + thought + "</think>" + answer, "More."}, sotto.EndStopped)
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			return response(s.kind(true), strings.NewReader(stream))
		}))
		h := s.listen(t, ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.Bytes())
		if string(h.text) != answer+"More." || string(h.thought) != strings.TrimSpace(thought) || h.failed != "" {
			t.Errorf("%d bytes of text, %d of thought, failed %q", len(h.text), len(h.thought), h.failed)
		}
	})
}

// meant is a text as a reader of UTF-16 would see it: halves of pairs joined.
func meant(t *testing.T, b []byte) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(jsontext.AppendVerbatim(nil, b), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSurrogatePairs cut between two frames come together at the client, also
// where they are held with an unfinished marker or are in frames that are rewritten.
func TestSurrogatePairs(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, test := range []struct{ pieces, text, thought string }{
			{`a\ud83d|\ude00b`, "a😀b", ""},
			{`<think>r\ud83d|\ude00s</think>a\ud83d|\ude00`, "a😀", "r😀s"},
			{`a<thin\ud83d|\ude00k>b`, "a<thin😀k>b", ""},
			{`\ud83d|<think>r</think>\ude00`, "😀", "r"},
			{`a\ude00\ud83d|b`, "a\ufffd\ufffdb", ""},
		} {
			cut := strings.Split(test.pieces, "|")
			names := make([]string, len(cut))
			spelt := make([]string, 0, 2*len(cut))
			for i, p := range cut {
				names[i] = fmt.Sprintf("@%d@", i)
				spelt = append(spelt, names[i], p)
			}
			stream := strings.NewReplacer(spelt...).Replace(s.stream(names, sotto.EndStopped))
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response(s.kind(true), strings.NewReader(stream))
			}))
			h := s.listen(t, ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.Bytes())
			if meant(t, h.text) != test.text || meant(t, h.thought) != test.thought {
				t.Errorf("%s: text %q, thought %q", test.pieces, h.text, h.thought)
			}
		}
	})
}

// TestNothingToSplit: frames that need no change leave byte for byte, with all
// that is odd in them.
func TestNothingToSplit(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		stream := s.stream([]string{"Hello", " \"you\"", " — <b>é</b>", " 1 < 2\n", "\u007f", "x"}, sotto.EndStopped)
		for _, odd := range []struct{ from, to string }{
			{"", ""},
			{`"model":"m"`, `"zz":12345678901234567890123, "model" : "m","f":1.0E+00`},
			{`"index":0`, "\t\"index\":0,\"x\":{\"y\":[null,\"<think>\"]}"},
			{"Hello", `He\u006c\/lo`},
			{"é", `\u00E9`},
		} {
			text := strings.ReplaceAll(stream, odd.from, odd.to)
			if odd.from == "" {
				text = stream
			}
			g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response(s.kind(true), iotest.HalfReader(strings.NewReader(text)))
			}))
			if got := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`).Body.String(); got != text {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
			whole := strings.ReplaceAll(s.whole("Hello é", sotto.EndStopped), odd.from, odd.to)
			if odd.from == "" {
				whole = s.whole("Hello é", sotto.EndStopped)
			}
			g = handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
				return response(s.kind(false), strings.NewReader(whole))
			}))
			if got := ask(g, s.path, `{"model":"m","stream":false,"messages":[]}`).Body.String(); got != whole {
				t.Errorf("got\n%s\nwant\n%s", got, whole)
			}
		}
	})
}

// TestAlikeFramesAllocateNothing: text and reasoning in frames like those before.
func TestAlikeFramesAllocateNothing(t *testing.T) {
	native := chatFrame(`{"reasoning_content":"word "}`, "null")
	ollamaNative := `{"model":"m","created_at":"2026-11-21T00:00:00.123456Z","message":{"role":"assistant","content":"","thinking":"word "},"done":false}` + "\n"
	for _, test := range []struct{ name, open, frame string }{
		{"openai.chat", chatFrame(`{"role":"assistant","content":""}`, "null"), chatFrame(`{"content":"word "}`, "null")},
		{"openai.chat", chatFrame(`{"role":"assistant","content":""}`, "null"), native},
		{"openai.chat", chatFrame(`{"content":"<think>r"}`, "null"), chatFrame(`{"content":"word "}`, "null")},
		{"openai.completions", "", completionFrame("word ", "null")},
		{"openai.responses", responsesSpeaker.open + responsesSpeaker.say("word "), responsesSpeaker.say("word ")},
		{"openai.responses", responsesSpeaker.open + responsesSpeaker.say("<think>r"), responsesSpeaker.say("word ")},
		{"ollama.chat", "", ollamaLine("chat", "word ", `"done":false`)},
		{"ollama.chat", ollamaLine("chat", "<think>r", `"done":false`), ollamaLine("chat", "word ", `"done":false`)},
		{"ollama.generate", "", ollamaLine("generate", "word ", `"done":false`)},
		{"ollama.chat", ollamaNative, strings.Replace(ollamaNative, `"content":"",`, "", 1)},
	} {
		s := speakerOf(t, test.name)
		r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), Start: sotto.BeginOutside, MaxHold: 256 << 10})
		y := s.codec.Reply(s.settings())
		dst := make([]byte, 0, 4096)
		var frame wire.Frame
		for f := range framesOf(s.codec, []byte(test.open+strings.Repeat(test.frame, 2000))) {
			dst = y.Frame(dst[:0], f, r)
			frame = f
		}
		limit := 0.0
		if strings.Contains(test.open, "<think>") {
			limit = 1 // reasoning that is moved
		}
		if n := testing.AllocsPerRun(1000, func() { dst = y.Frame(dst[:0], frame, r) }); n > limit {
			t.Errorf("%s: %v allocations for %s", test.name, n, test.frame)
		}
		if !strings.Contains(test.open, "<think>") && !bytes.Equal(dst, frame.Raw) {
			t.Errorf("%s: %s became %s", test.name, frame.Raw, dst)
		}
	}
}

// TestChoicesInterleaved: each of several choices is read by itself.
func TestChoicesInterleaved(t *testing.T) {
	raws := []string{"<think>a</think>A", "B only", "<think>c</think>C<think>d</think>", "<thinking>e"}
	texts, thoughts := []string{"A", "B only", "C", ""}, []string{"a", "", "c\n\nd", "e"}
	random := rand.New(rand.NewPCG(3, 3))
	frame := func(i int, delta, reason string) string {
		return fmt.Sprintf(`{"index":%d,"delta":%s,"finish_reason":%s}`, i, delta, reason)
	}
	for range 200 {
		var b strings.Builder
		left := []string{raws[0], raws[1], raws[2], raws[3]}
		done := 0
		for done < len(raws) {
			var choices []string
			for range 1 + random.IntN(2) {
				i := random.IntN(len(raws))
				switch {
				case left[i] == "done":
				case left[i] == "":
					choices = append(choices, frame(i, "{}", `"stop"`))
					left[i] = "done"
					done++
				default:
					n := 1 + random.IntN(len(left[i]))
					choices = append(choices, frame(i, `{"content":`+quoted(left[i][:n])+`}`, "null"))
					left[i] = left[i][n:]
				}
			}
			if len(choices) > 0 {
				b.WriteString(`data: {"id":"c","choices":[` + strings.Join(choices, ",") + "]}\n\n")
			}
		}
		b.WriteString("data: [DONE]\n\n")
		s := speakers[0]
		r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), Start: sotto.BeginOutside, MaxHold: -1})
		out := s.through([]byte(b.String()), s.settings(), r, nil)
		got, thought, finished := make([]string, 4), make([]string, 4), make([]int, 4)
		for f := range framesOf(s.codec, out) {
			for _, c := range gjson.GetBytes(f.Data, "choices").Array() {
				i := int(c.Get("index").Int())
				if finished[i] > 0 && (c.Get("delta.content").Str != "" || c.Get("delta.reasoning_content").Str != "") {
					t.Fatalf("text behind the finish reason in\n%s", out)
				}
				got[i] += c.Get("delta.content").Str
				thought[i] += c.Get("delta.reasoning_content").Str
				if c.Get("finish_reason").Str != "" {
					finished[i]++
				}
			}
		}
		for i := range raws {
			if got[i] != texts[i] || thought[i] != thoughts[i] || finished[i] != 1 {
				t.Fatalf("choice %d: text %q, thought %q, finished %d\n%s\n%s", i, got[i], thought[i], finished[i], b.String(), out)
			}
		}
	}
}

// TestUsage: the numbers of the upstream stay as they are spelt; what is added
// says that it is an estimate.
func TestUsage(t *testing.T) {
	s := speakers[0]
	added := `"reasoning_tokens":50,"reasoning_tokens_estimated":true`
	for usage, want := range map[string]string{
		`{"prompt_tokens":1e1,"completion_tokens":100,"total_tokens":12345678901234567890}`: `{"completion_tokens_details":{` + added + `},"prompt_tokens":1e1,"completion_tokens":100,"total_tokens":12345678901234567890}`,
		`{"completion_tokens":100,"completion_tokens_details":{"audio_tokens":0}}`:          `{"completion_tokens":100,"completion_tokens_details":{` + added + `,"audio_tokens":0}}`,
		`{"completion_tokens":100,"completion_tokens_details":{}}`:                          `{"completion_tokens":100,"completion_tokens_details":{` + added + `}}`,
		`{"completion_tokens":100,"completion_tokens_details":null}`:                        `{"completion_tokens":100,"completion_tokens_details":{` + added + `}}`,
		`{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":7}}`:      `{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":7}}`,
		`{"prompt_tokens":3}`:       `{"prompt_tokens":3}`,
		`null`:                      `null`,
		`{"completion_tokens":"x"}`: `{"completion_tokens":"x"}`,
	} {
		frame := `data: {"id":"c1","choices":[],"usage":` + usage + "}\n\n"
		stream := s.say("<think>1234567890</think>1234567890") + chatFrame("{}", `"stop"`) + frame + "data: [DONE]\n\n"
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			return response(s.kind(true), strings.NewReader(stream))
		}))
		out := ask(g, s.path, `{"stream":true}`).Body.String()
		// Ten bytes of twenty-five are reasoning, and the tags are neither.
		if !strings.Contains(out, `"usage":`+strings.ReplaceAll(want, ":50,", ":29,")+"}\n\n") {
			t.Errorf("%s became\n%s", usage, out)
		}
		plain := s.say("no thought") + chatFrame("{}", `"stop"`) + frame + "data: [DONE]\n\n"
		stream = plain
		if out := ask(g, s.path, `{"stream":true}`).Body.String(); out != plain {
			t.Errorf("a reply without reasoning: %s", out)
		}
	}
}

// TestToolCalls: calls are given through byte for byte, in their order, whatever
// is held or taken out beside them. Where reasoning is hidden they lose a member that
// nobody knows, and nothing else.
func TestToolCalls(t *testing.T) {
	call := func(args string) string {
		return `"tool_calls":[{"index":0, "id":"call_1","type":"function","function":{"name":"f","arguments":` + quoted(args) + `},"x":1.50}]`
	}
	shown := func(display routing.Display, calls string) string {
		if display == routing.DisplayHide { // what is written has no spaces either
			return strings.NewReplacer(`,"x":1.50`, "", `, "id"`, `,"id"`).Replace(calls)
		}
		return calls
	}
	calls := []string{call(`{"q":"<think>`), call(`</think>\u00e9`), call(`"}`)}
	deltas := []string{
		`{"content":"<think>I ca"}`, `{"content":"ll</th",` + calls[0] + `}`, `{` + calls[1] + `,"content":"ink>Hi <out"}`,
		`{` + calls[2] + `}`, `{"content":null,"refusal":null}`,
	}
	for _, display := range routing.Displays() {
		s := speakers[0]
		var b strings.Builder
		for _, d := range deltas {
			b.WriteString(chatFrame(d, "null"))
		}
		b.WriteString(chatFrame("{}", `"tool_calls"`) + "data: [DONE]\n\n")
		g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response {
			return response(s.kind(true), strings.NewReader(b.String()))
		}))
		out := ask(g, s.path, `{"model":"m","stream":true}`).Body.Bytes()
		var got []string
		for f := range framesOf(s.codec, out) {
			if c := gjson.GetBytes(f.Data, "choices.0.delta.tool_calls"); c.Exists() {
				got = append(got, `"tool_calls":`+c.Raw)
			}
		}
		if want := shown(display, strings.Join(calls, "\n")); strings.Join(got, "\n") != want {
			t.Errorf("%s: calls\n%s\nwant\n%s", display, strings.Join(got, "\n"), want)
		}
		switch h := s.listen(t, out); display {
		case routing.DisplayField:
			h.wants(t, "Hi <out", "I call")
		case routing.DisplayHide:
			h.wants(t, "Hi <out", "")
		}

		message := `{"role":"assistant",` + call("</think>") + `,"content":"<think>I call</think>"}`
		g = handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":`+message+`,"finish_reason":"tool_calls"}]}`))
		}))
		if body := ask(g, s.path, `{"model":"m"}`).Body.String(); !strings.Contains(body, shown(display, call("</think>"))) || !gjson.Valid(body) {
			t.Errorf("%s: %s", display, body)
		}
	}
}

// TestOllamaToolCalls the same.
func TestOllamaToolCalls(t *testing.T) {
	s := speakerOf(t, "ollama.chat")
	call := `"tool_calls":[{"function":{"name":"f","arguments":{"q":"<think>","n":1.0}}}]`
	line := func(message, rest string) string {
		return `{"model":"m","created_at":"t","message":` + message + `,` + rest + "}\n"
	}
	stream := line(`{"role":"assistant","content":"<think>I call"}`, `"done":false`) +
		line(`{"role":"assistant","content":"",`+call+`}`, `"done":false`) +
		line(`{"role":"assistant","content":"</think>Hi"}`, `"done":false`) +
		`{"model":"m","created_at":"t","done":true,"done_reason":"stop","eval_count":7}` + "\n"
	g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
		return response(s.kind(true), strings.NewReader(stream))
	}))
	out := ask(g, s.path, `{"model":"m"}`).Body.String()
	if strings.Count(out, call) != 1 || !strings.Contains(out, `"eval_count":7`) {
		t.Errorf("%s", out)
	}
	s.listen(t, []byte(out)).wants(t, "Hi", "I call")
}

// FuzzFrames gives any bytes as an upstream's stream to every codec, whole and
// cut: nothing panics, the cut changes nothing, and bytes without a marker, an
// error or reasoning of their own leave as they came, except for a frame that says
// how they ended.
func FuzzFrames(f *testing.F) {
	for _, s := range speakers {
		f.Add([]byte(s.stream(faultReply, sotto.EndStopped)), 9)
		f.Add([]byte(s.stream([]string{"Hello", "you"}, sotto.EndCut)), 40)
		f.Add([]byte(s.whole("<think>r</think>a", sotto.EndStopped)+"\n"), 3)
	}
	f.Add([]byte("data: {\"choices\":[{\"index\":-1,\"delta\":{\"content\":[{\"type\":\"thinking\"}],\"reasoning_details\":[{\"text\":\"x\"}]},\"finish_reason\":\"\"}]}\r\rdata\r\n\r\n"), 5)
	f.Add([]byte(`{"message":{"content":"\ud83d"},"done":1,"error":null}`+"\n\n"), 5)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		cut = max(0, min(cut, len(stream)))
		for _, s := range speakers {
			var outs []string
			for _, body := range []io.Reader{bytes.NewReader(stream), cutAt(stream, cut)} {
				g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response { return response(s.kind(true), body) }))
				outs = append(outs, ask(g, s.path, `{"stream":true,"messages":[]}`).Body.String())
			}
			if outs[0] != outs[1] {
				t.Fatalf("%s: cut at %d:\n%q\nwhole:\n%q", s.name(), cut, outs[1], outs[0])
			}
			whole := s.codec.Reply(s.settings())
			if gjson.ValidBytes(stream) {
				r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), Start: sotto.BeginOutside, MaxHold: -1})
				if out := whole.Whole(nil, stream, r); !gjson.ValidBytes(out) {
					t.Fatalf("%s: %q became %q", s.name(), stream, out)
				}
			}
			if bytes.ContainsAny(stream, `<\`) || bytes.Contains(stream, []byte("rea")) || bytes.Contains(stream, []byte("hin")) {
				continue
			}
			if s.name() == "anthropic.messages" || s.name() == "openai.responses" {
				continue // the ends of their blocks and items wait for what follows
			}
			// Nothing is held, so that every whole frame leaves before the end.
			n := 0
			for fr := range framesOf(s.codec, stream) {
				if _, ok := chatjson.Readable(fr); !ok && bytes.ContainsRune(fr.Data, '{') {
					break // broken JSON is an error, and ends the reply
				}
				n += len(fr.Raw)
			}
			if !strings.HasPrefix(outs[0], string(stream[:n])) {
				t.Fatalf("%s: %q became %q", s.name(), stream[:n], outs[0])
			}
		}
	})
}
