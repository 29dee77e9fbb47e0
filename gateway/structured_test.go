package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/wire"
)

// fenced are texts of models that were asked for JSON, what clients get, and what the
// gateway reports.
var fenced = []struct {
	text, want string
	fence      bool
	layer      string
}{
	{`{"a":1}`, `{"a":1}`, false, ""},
	{" \n{\"a\":1}\n ", " \n{\"a\":1}\n ", false, ""},
	{"```json\n{\"a\":1}\n```", `{"a":1}`, true, ""},
	{"\n```json\n{\"a\":1}\n```\n \n", `{"a":1}`, true, ""},
	{"```\n[1, 2]\n```", `[1, 2]`, true, ""},
	{"````JSON5 \n\n  {\n  \"a\": [1]\n}\n````", "{\n  \"a\": [1]\n}", true, ""},
	{"```json{\"a\":1}```", `{"a":1}`, true, ""},
	{"```json\n{\"a\":\"```\\n{}\\n```\"}\n```", "{\"a\":\"```\\n{}\\n```\"}", true, ""},
	{"```json\n{\"a\":\"\\\"```\"}", "{\"a\":\"\\\"```\"}", true, ""},
	{"```json\n{\"a\":1}", `{"a":1}`, true, ""},
	{"```json\n{\"a\":1}\n", "{\"a\":1}\n", true, ""},
	{"```json\n{\"a\":1}\n```\nDone.", "{\"a\":1}\n```\nDone.", true, "fence"},
	{"```json\n{\"a\":1}\n```\n```json\n{\"b\":2}\n```", "{\"a\":1}\n```\n```json\n{\"b\":2}", true, "fence"},
	{"```json\n{\"a\":1\n```", "{\"a\":1\n", true, "fence"},
	{"Here:\n```json\n{\"a\":1}\n```", "Here:\n```json\n{\"a\":1}\n```", false, "fence"},
	{"```python\nprint(1)\n```", "```python\nprint(1)\n```", false, "model"},
	{"``{\"a\":1}``", "``{\"a\":1}``", false, "model"},
	{"```json\n\"text\"\n```", "```json\n\"text\"\n```", false, "model"},
	{"```js on\n{}\n```", "```js on\n{}\n```", false, "fence"},
	{"```json" + strings.Repeat("\n", 200) + "{}\n```", "```json" + strings.Repeat("\n", 200) + "{}\n```", false, "fence"},
	{"```json\n{}" + strings.Repeat("\n", 2000) + "```", "{}" + strings.Repeat("\n", 1024), true, ""},
	{"```json\n{}\n``", "{}\n``", true, "fence"},
	{"```json\n{\"a\":1}` x", "{\"a\":1}` x", true, "fence"},
	{"Here: ```{\"a\":1}```", "Here: ```{\"a\":1}```", false, "fence"},
	{"```json\n", "```json\n", false, "model"},
	{"Sorry, I cannot.", "Sorry, I cannot.", false, "model"},
	{`{"a":1`, `{"a":1`, false, "model"},
	{"", "", false, "model"},
}

// TestFenceCuts: the fence around JSON is dropped, and whatever else the text has
// stays, the same for every cut into two and for any cuts.
func TestFenceCuts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range fenced {
		if got := delivered(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		for i := range len(c.text) {
			if got := delivered(c.text[:i], c.text[i:]); got != c.want {
				t.Fatalf("%q cut at %d: %q, want %q", c.text, i, got, c.want)
			}
		}
	}
	parts := []string{"`", "``", "```", "json", "\n", " ", "{", "}", "[", "]", `"`, `\`, "a", ":", "<think>x</think>", "<details type=\"reasoning\">y</details>"}
	tries := 3_000
	if effort.Brief() {
		tries = 1_000
	}
	for range tries {
		var text strings.Builder
		for range 1 + random.IntN(12) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		whole, rest := delivered(text.String()), text.String()
		var pieces []string
		for rest != "" {
			n := 1 + random.IntN(len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := delivered(pieces...); got != whole {
			t.Fatalf("%q: %q, whole %q", pieces, got, whole)
		}
	}
}

// TestFenceHold: a text in JSON without a fence is not held, and one with a fence no
// longer than the fence.
func TestFenceHold(t *testing.T) {
	for text, most := range map[string]int{
		`{"a": "b ` + "```" + ` c"}`:                            0,
		"```json\n{\n  \"a\": [\n    1,\n    2\n  ]\n}\n```":    8,
		"```json\n{\"a\":1}" + strings.Repeat("\n", 3000) + "x": 1 << 10,
	} {
		r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), MaxHold: 1 << 10, JSON: true})
		given, held := 0, 0
		for i := range len(text) {
			given += len(contents(r.Text(0, []byte(text[i:i+1]))))
			if start := strings.IndexByte(text, '{'); i >= start { // what is before it is the fence
				held = max(held, i+1-start-given)
			}
		}
		if held > most {
			t.Errorf("%.30q: %d bytes were held", text, held)
		}
	}
}

func delivered(pieces ...string) string {
	r := gateway.NewReading(gateway.Manner{Grammar: sotto.Default(), MaxHold: 1 << 10, JSON: true, Display: routing.DisplayHide})
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(contents(r.Text(0, []byte(p))))
	}
	b.WriteString(contents(r.Close(0, sotto.EndStopped)))
	return b.String()
}

func contents(parts []wire.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Place == wire.Content {
			b.Write(p.Text)
		}
	}
	return b.String()
}

// asks are the members by which each API asks for JSON.
var asks = map[string]string{
	"openai.chat": `"response_format":{"type":"json_object"}`, "openai.completions": `"guided_json":{}`,
	"openai.responses": `"text":{"format":{"type":"json_object"}}`, "ollama.chat": `"format":"json"`, "ollama.generate": `"format":"json"`,
	"cohere.chat":           `"response_format":{"type":"json_object","json_schema":{}}`,
	"llamacpp.completion":   `"json_schema":{}`,
	"anthropic.messages":    `"output_format":{"type":"json_schema","schema":{}}`,
	"bedrock.converse":      `"outputConfig":{"textFormat":{"type":"json_schema"}}`,
	"gemini.interactions":   `"response_format":{"type":"text","mime_type":"application/json"}`,
	"mistral.conversations": `"completion_args":{"max_tokens":99,"response_format":{"type":"json_object"}}`,
	"gemini.generate":       `"generationConfig":{"responseMimeType":"application/json"}`,
}

// TestStructured: in each API a client that asked for JSON gets it without a fence and
// without the thought before it, whole and streamed alike. A header of the whole
// reply, and the metrics, say what was dropped, and which layer is at fault if there
// is no JSON. A client that did not ask gets the text as it is.
func TestStructured(t *testing.T) {
	for _, s := range speakers {
		chosen := effort.OneIn(4, s.name())
		for _, c := range fenced {
			if c.text == "" || len(c.text) > 500 {
				continue
			}
			for _, asked := range []bool{true, false} {
				for _, display := range []routing.Display{routing.DisplayField, routing.DisplayTags, routing.DisplayKeep} {
					if display == routing.DisplayKeep && (!asked || s.name() != "openai.chat") || display == routing.DisplayTags && !asked || !chosen() {
						continue
					}
					structuredOf(t, s, c.text, c.want, c.fence, c.layer, asked, display)
				}
			}
		}
	}
}

func structuredOf(t *testing.T, s speaker, text, want string, fence bool, layer string, asked bool, display routing.Display) {
	t.Helper()
	thought := "<think>t</think>"
	if display == routing.DisplayKeep {
		thought, fence, want = "", false, text
		if layer == "" && !json.Valid([]byte(text)) {
			layer = "fence"
		}
		if strings.Contains(text, "1\n`") || strings.HasSuffix(text, "\n``") || strings.HasSuffix(text, "}` x") {
			layer = "model" // there is no JSON in the fence either
		}
	}
	if !asked {
		fence, layer, want = false, "", strings.TrimLeft(text, " \n")
	}
	more := ""
	if asked {
		more = "," + asks[s.name()]
	}
	for _, stream := range []bool{false, true} {
		reg := prometheus.NewRegistry()
		v := converse(t, s, gateway.Config{Observers: []gateway.Observer{gateway.Metrics(reg)}, Default: routing.Route{Display: display, Start: sotto.BeginOutside}})
		raw := thought + text
		v.raw, v.cut = raw, byteByByte(raw)
		w := ask(v, s.path, v.request("m", stream, more))
		var h *heard
		if stream {
			h = s.listen(t, w.Body.Bytes())
		} else {
			h = s.listenWhole(t, w.Body.Bytes())
		}
		where := fmt.Sprintf("%s, %q, asked %v, stream %v, %s", s.name(), text, asked, stream, display)
		if got := string(h.text); strings.TrimLeft(got, " \n") != strings.TrimLeft(want, " \n") {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
		if asked {
			h.agrees(t)
		}
		said := w.Header().Get("Sotto-Diagnostics")
		if !stream && (strings.Contains(said, "json_fence_dropped") != fence || strings.Contains(said, "json_missing") != (layer != "") || !strings.Contains(said, layer)) {
			t.Errorf("%s: the header says %q, want %q", where, said, layer)
		}
		counts := counters(t, reg)
		if counts["sotto_json_fences_dropped_total m"] != btof(fence) || layer != "" && counts["sotto_json_missing_total "+layer+" m"] != 1 || layer == "" && strings.Contains(fmt.Sprint(counts), "json_missing") {
			t.Errorf("%s: counted %v, want %v %q", where, counts, fence, layer)
		}
	}
}

// TestStructuredTags: a client that asked for JSON gets the same bytes under tags as under field,
// whether the model thinks in its text or in the API's place for thoughts. One that did not ask gets tags.
func TestStructuredTags(t *testing.T) {
	up := scripted.New(scripted.Options{Now: func() time.Time { return time.Unix(1, 0) }})
	got := func(s speaker, display routing.Display, model, more string, stream bool) string {
		g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(r *http.Request) *http.Response {
			w := httptest.NewRecorder()
			up.ServeHTTP(w, r)
			return w.Result()
		}))
		body := fmt.Sprintf(`{"model":%q,"stream":%v%s,"messages":[{"role":"user","content":[{"type":"text","text":"Is it?"}]}],"prompt":"Is it?","input":"Is it?","contents":[{"role":"user","parts":[{"text":"Is it?"}]}]}`, model, stream, more)
		w := ask(g, s.path, body)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", s.name(), w.Code, w.Body)
		}
		return w.Body.String()
	}
	for _, s := range speakers {
		if s.name() == "gemini.interactions" || s.name() == "mistral.conversations" { // the scripted server does not speak it
			continue
		}
		for _, model := range []string{"qwen3:8b", "ollama-native"} {
			if model == "ollama-native" && (s.name() == "openai.completions" || s.name() == "llamacpp.completion") {
				continue // they have no place for thoughts of their own
			}
			for _, stream := range []bool{true, false} {
				tags, field := got(s, routing.DisplayTags, model, ","+asks[s.name()], stream), got(s, routing.DisplayField, model, ","+asks[s.name()], stream)
				if tags != field {
					t.Errorf("%s, %s, stream %v: under tags\n%s\nunder field\n%s", s.name(), model, stream, tags, field)
				}
				if tags == got(s, routing.DisplayTags, model, "", stream) {
					t.Errorf("%s, %s, stream %v: no tags for a client that did not ask for JSON: %s", s.name(), model, stream, tags)
				}
			}
		}
	}
}

// TestStoredStructured: a reply that says that JSON was asked for has no tags when it is fetched, nor in
// the results of a batch.
func TestStoredStructured(t *testing.T) {
	for _, asked := range []bool{true, false} {
		format := ""
		if asked {
			format = `"text":{"format":{"type":"json_schema"}},`
		}
		whole := `{"id":"resp_1","object":"response","status":"completed","model":"qwen3:8b",` + format + `"output":[{"id":"m1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"<think>t</think>{\"a\":1}","annotations":[]}]}]}`
		stream := `data: {"sequence_number":0,"type":"response.created","response":{"id":"resp_1","model":"qwen3:8b",` + format + `"status":"in_progress","output":[]}}` + "\n\n" +
			`data: {"sequence_number":1,"type":"response.completed","response":` + whole + "}\n\n"
		base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/content"):
				w.Header().Set("Content-Type", "application/jsonl")
				io.WriteString(w, `{"id":"b1","custom_id":"c1","response":{"status_code":200,"request_id":"r1","body":`+whole+`},"error":null}`+"\n")
			case r.URL.RawQuery != "":
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, stream)
			default:
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, whole)
			}
		}), gateway.Config{Default: routing.Route{Display: routing.DisplayTags}})
		for _, path := range []string{"/v1/responses/resp_1", "/v1/responses/resp_1?stream=true", "/v1/files/f1/content"} {
			body := fetch(t, base+path)
			if tags := strings.Contains(body, "think>"); tags == asked || !strings.Contains(body, `{\"a\":1}`) {
				t.Errorf("%s, asked %v: %s", path, asked, body)
			}
		}
	}
}

// TestStructuredEnds: a reply that a limit cut is the limit's fault, and a reply that
// calls tools lacks nothing.
func TestStructuredEnds(t *testing.T) {
	for _, c := range []struct {
		text, call string
		end        sotto.Ending
		want       string
	}{
		{`{"a":`, "", sotto.EndCut, "json_missing=cut"},
		{"```json\n{\"a\":", "", sotto.EndCut, "json_missing=cut"},
		{`{"a":1}`, "", sotto.EndCut, ""},
		{`{"a":`, "", sotto.EndStopped, "json_missing=model"},
		{`{"a":`, chatCall, sotto.EndStopped, "json_missing=model"},
		{``, chatCall, sotto.EndStopped, ""},
	} {
		g := handler(t, gateway.Config{}, answering(func(*http.Request) *http.Response {
			calls := ""
			if c.call != "" {
				calls = `,"tool_calls":[` + c.call + `]`
			}
			return response("application/json", strings.NewReader(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":`+
				quoted(c.text)+calls+`},"finish_reason":`+openAIReasons[c.end]+`}]}`))
		}))
		w := ask(g, "/v1/chat/completions", `{"model":"m","response_format":{"type":"json_object"},"messages":[]}`)
		said := w.Header().Get("Sotto-Diagnostics")
		if got := said[max(strings.Index(said, "json_missing"), 0):]; strings.Contains(said, "json_missing") != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, %s: %q, want %q", c.text, c.end, said, c.want)
		}
	}
}

func btof(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// counters are the counters of a registry, by their names and labels.
func counters(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			counts[name] = m.GetCounter().GetValue()
		}
	}
	return counts
}
