package gateway_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

// errorBodies are the forms in which servers write errors, with a text at %s, the inside
// of a string of JSON, or %[2]s, the same within a document in a string.
var errorBodies = []string{
	`{"error":{"code":500,"message":"%[1]s","type":"server_error"}}`,
	`{"error":"%[1]s"}`,
	`{"error" : {"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"%[2]s\"}}","provider_name":"X"}}}`,
	`{"detail":"%[1]s"}`,
	`{"detail":[{"loc":["body",1],"msg":"bad","input":"%[1]s"}]}`,
	`{"object":"error","message":"%[1]s","type":"BadRequestError","param":null,"code":400}`,
	`{"message":"%[1]s"}`,
	`{"type":"error","error":{"type":"api_error","message":"%[1]s"},"request_id":"r"}`,
	`{"\u0065rror":{"message":"%[1]s"}}`,
	`{"error":{"message":"%[1]s"},"failed_generation":"%[1]s"}`,
}

// A spelling is a way in which an error quotes a text: as the inside of a string of JSON.
var spellings = map[string]func(string) string{
	"plain":   func(s string) string { return inside(s, false) },
	"escaped": func(s string) string { return inside(s, true) },
	"twice":   func(s string) string { return inside(inside(s, true), true) },
	"html":    func(s string) string { return inside(strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s), false) },
}

// inside is the inside of a string of JSON; markup says that < and > are escaped too.
func inside(s string, markup bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(markup)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.Trim(b.String(), "\n")[1 : b.Len()-2]
}

// quotations are what errors quote: a thought that is closed, that goes to the end, and
// one that began before.
var quotations = []string{
	"Failed to parse input at pos 0: <think>\nSECRET\n</think>\nIt is", "Failed to parse input at pos 0: <think>SECRET \"and", "SECRET</think>It is",
	`bad: "<think>" SECRET`, "bad: `<think>` SECRET", `<details type="reasoning">SECRET</details>It is`,
}

// literal says that only hide takes the marker of a quotation for one.
func literal(quotation string) bool {
	return strings.HasPrefix(quotation, "bad:") || strings.HasPrefix(quotation, "<details")
}

func errorBody(form, quotation string, spell func(string) string) string {
	return fmt.Sprintf(form+"%[3]s", spell(quotation), inside(spell(quotation), false), "")
}

// errorStreams is an error in each way in which a stream of an API can have it, after some text.
func errorStreams(s speaker, body string) (streams []string) {
	head := s.open + s.say("It is 4.")
	if s.codec.Framing() == wire.NDJSON {
		return []string{head + body + "\n", body + "\n", head + s.say("x")[:len(s.say("x"))-2] + `,` + body[1:] + "\n"}
	}
	if s.name() == bedrockSpeaker.name() { // whose messages have a name each
		return []string{head + named("exception/modelStreamErrorException", body), head + named("exception/x", body)}
	}
	streams = []string{head + "data: " + body + "\n\n", head + "event: error\ndata: " + body + "\n\n", "data: " + body + "\n\n"}
	if at := strings.Index(body, ":"); at > 0 { // over two lines
		streams = append(streams, head+"data: "+body[:at]+"\ndata: "+body[at:]+"\n\n")
	}
	return streams
}

// inCuts is a body that comes in pieces that are cut anywhere.
func inCuts(text string) io.Reader {
	rng := rand.New(rand.NewPCG(7, uint64(len(text))))
	var pieces []io.Reader
	for text != "" {
		n := 1 + rng.IntN(min(len(text), 9))
		pieces = append(pieces, strings.NewReader(text[:n]))
		text = text[n:]
	}
	return io.MultiReader(pieces...)
}

// errorAnswers are all ways in which an upstream of an API answers with an error.
func errorAnswers(s speaker, body string) map[string]func() *http.Response {
	answers := map[string]func() *http.Response{}
	for _, status := range []int{400, 503} {
		for _, kind := range []string{"application/json", ""} {
			answers[fmt.Sprintf("%d %s", status, kind)] = func() *http.Response {
				r := response(kind, inCuts(body))
				r.StatusCode = status
				return r
			}
		}
	}
	answers["500 text"] = func() *http.Response {
		r := response("text/html", inCuts("<h1>Internal error</h1>"+body))
		r.StatusCode = 500
		return r
	}
	answers["500 gzip"] = func() *http.Response {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, body)
		z.Close()
		r := response("application/json", &b)
		r.StatusCode = 500
		r.Header.Set("Content-Encoding", "gzip")
		return r
	}
	answers["200 whole"] = func() *http.Response { return response("application/json", inCuts(body)) }
	for i, stream := range errorStreams(s, body) {
		answers["stream "+strconv.Itoa(i)] = func() *http.Response {
			if s.name() == bedrockSpeaker.name() {
				return response(eventStreamType, inCuts(eventStream(stream)))
			}
			return response(s.kind(true), inCuts(stream))
		}
	}
	return answers
}

// TestErrorsHoldNoThought: no thought in an error reaches a client, over every API, in
// every form of an error, whole and streamed, cut anywhere, in every spelling. Under keep
// all of it passes.
func TestErrorsHoldNoThought(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		var up func() *http.Response
		gateways := map[routing.Display]http.Handler{}
		for _, display := range routing.Displays() {
			gateways[display] = handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response { return up() }))
		}
		chosen := effort.OneIn(23, s.name())
		for _, form := range errorBodies {
			for _, spelling := range slices.Sorted(maps.Keys(spellings)) {
				spell := spellings[spelling]
				for _, quotation := range quotations {
					for where, answer := range errorAnswers(s, errorBody(form, quotation, spell)) {
						for display, g := range gateways {
							if !chosen() {
								continue
							}
							up = answer
							w := ask(g, s.path, `{"model":"m","stream":`+strconv.FormatBool(strings.HasPrefix(where, "stream"))+`,"messages":[]}`)
							leaks := strings.Contains(w.Body.String(), "SECRET")
							switch {
							case display == routing.DisplayKeep && where != "500 gzip" && !leaks && !strings.Contains(where, "200"):
								t.Fatalf("%s, %s, %s: keep changes %q:\n%s", where, form, spelling, quotation, w.Body)
							case display == routing.DisplayHide && leaks, display != routing.DisplayKeep && leaks && !literal(quotation):
								t.Fatalf("%s, %s, %s, %s: %q comes out:\n%s", display, where, form, spelling, quotation, w.Body)
							}
						}
					}
				}
			}
		}
	})
}

// TestErrorsWithoutThoughts: an error without a marker is byte for byte what the upstream
// sent, and its status and headers stay.
func TestErrorsWithoutThoughts(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		t.Parallel()
		chosen := effort.OneIn(5, s.name())
		for _, display := range routing.Displays() {
			for _, form := range errorBodies {
				body := errorBody(form, "too busy: expected \"a\" \\ é < b & c > d", spellings["plain"])
				for where, answer := range errorAnswers(s, body) {
					if !chosen() {
						continue
					}
					g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response {
						r := answer()
						r.Header.Set("Retry-After", "7")
						return r
					}))
					w := ask(g, s.path, `{"model":"m","messages":[]}`)
					status, _ := strconv.Atoi(where[:3])
					if strings.HasPrefix(where, "stream") {
						status = 200
					}
					same := strings.Contains(w.Body.String(), body)
					switch {
					case status != 200 && (w.Code != status || w.Header().Get("Retry-After") != "7"):
						t.Fatalf("%s, %s: status %d, %v", display, where, w.Code, w.Header())
					case w.Header().Get("Sotto-Diagnostics") != "" && strings.Contains(w.Header().Get("Sotto-Diagnostics"), "error"):
						t.Fatalf("%s, %s, %s: %v", display, where, form, w.Header())
					case display == routing.DisplayHide, display == routing.DisplayKeep && where == "500 gzip", status == 200:
						// what hide shows of an error is another law's
					case !same:
						t.Fatalf("%s, %s: %s is changed:\n%s", display, where, body, w.Body)
					}
				}
			}
		}
	})
}

// TestErrorsBesideText: a frame with an error, even an empty one, has its text read too.
func TestErrorsBesideText(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, fault := range []string{`""`, `"too busy"`, `{"message":"too busy"}`, "false"} {
			for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayTags} {
				for _, pieces := range [][]string{{"<think>SECRET</think>It is 4."}, {"<think>SEC", "RET</think>It is 4."}} {
					var stream strings.Builder
					stream.WriteString(s.open)
					for _, p := range pieces {
						frame := s.say(p)
						at := strings.IndexByte(frame, '{') + 1
						stream.WriteString(frame[:at] + `"error":` + fault + "," + frame[at:])
					}
					kind, sent := s.kind(true), stream.String()
					if s.name() == bedrockSpeaker.name() {
						kind, sent = eventStreamType, eventStream(sent)
					}
					g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response { return response(kind, inCuts(sent)) }))
					w := ask(g, s.path, `{"model":"m","stream":true,"messages":[]}`)
					got := w.Body.String()
					if strings.Contains(got, "<think>SEC") && display != routing.DisplayTags || display == routing.DisplayHide && (strings.Contains(got, "SEC") || strings.Contains(got, "RET")) {
						t.Errorf("%s, error %s, %q:\n%s", display, fault, pieces, got)
					}
				}
			}
		}
	})
}

// TestErrorsOverSockets: neither does a thought in an error come over a WebSocket, whether
// the upstream refuses the turn or fails in it.
func TestErrorsOverSockets(t *testing.T) {
	s := speakerOf(t, "openai.responses")
	for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayTags} {
		var up func() *http.Response
		c := connected(t, handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(func(*http.Request) *http.Response { return up() })))
		chosen := effort.OneIn(7, string(display))
		for _, form := range errorBodies {
			for _, spelling := range slices.Sorted(maps.Keys(spellings)) {
				for where, answer := range errorAnswers(s, errorBody(form, quotations[0], spellings[spelling])) {
					if !chosen() {
						continue
					}
					up = answer
					events := c.turn(`"input":"hi"`)
					if all := strings.Join(events, "\n"); strings.Contains(all, "SECRET") || len(events) == 0 {
						t.Fatalf("%s, %s, %s, %s:\n%s", display, where, form, spelling, all)
					}
				}
			}
		}
		up = errorAnswers(s, errorBody(errorBodies[0], "too busy", spellings["plain"]))["400 application/json"]
		if got := c.last(`"input":"hi"`); got.Get("error.message").Str != "too busy" || got.Get("status").Int() != 400 {
			t.Errorf("%s: %s", display, got.Raw)
		}
	}
}
