package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
)

// A faultKind is a kind of errors, and how servers of an API say it: in the body of a response, and in the
// middle of a stream.
type faultKind struct {
	name   string
	status int
}

var faultKinds = []faultKind{
	{"invalid", 400}, {"too long", 400}, {"authentication", 401}, {"permission", 403}, {"rate limit", 429}, {"server", 500}, {"overloaded", 503},
}

// saysFault returns an error of a kind as servers of an API say it in a stream, as its event and its JSON; "" if
// they have no word for it there.
func saysFault(api string, k faultKind) (event, data string) {
	words := map[string]map[string]string{
		"openai.chat": {
			"invalid": `"type":"invalid_request_error","code":null`, "too long": `"type":"invalid_request_error","code":"context_length_exceeded"`,
			"authentication": `"type":"authentication_error","code":"invalid_api_key"`, "permission": `"type":"permission_error","code":403`,
			"rate limit": `"type":"requests","code":"rate_limit_exceeded"`, "server": `"type":"server_error","code":null`, "overloaded": `"type":"overloaded","code":503`,
		},
		"openai.responses": {
			"invalid": `"code":"invalid_prompt"`, "too long": `"code":"context_length_exceeded"`, "authentication": `"code":"invalid_api_key"`,
			"rate limit": `"code":"rate_limit_exceeded"`, "server": `"code":"server_error"`, "overloaded": `"code":"server_is_overloaded"`,
		},
		"anthropic.messages": {
			"invalid": "invalid_request_error", "too long": "invalid_request_error", "authentication": "authentication_error", "permission": "permission_error",
			"rate limit": "rate_limit_error", "server": "api_error", "overloaded": "overloaded_error",
		},
		"gemini.generate": {
			"invalid": "INVALID_ARGUMENT", "too long": "INVALID_ARGUMENT", "authentication": "UNAUTHENTICATED", "permission": "PERMISSION_DENIED",
			"rate limit": "RESOURCE_EXHAUSTED", "server": "INTERNAL", "overloaded": "UNAVAILABLE",
		},
		"bedrock.converse": {
			"invalid": "validationException", "too long": "validationException", "rate limit": "throttlingException",
			"server": "internalServerException", "overloaded": "serviceUnavailableException",
		},
	}
	word, message := words[api][k.name], faultText(api, k)
	if word == "" {
		return "", ""
	}
	switch api {
	case "openai.chat":
		return "", fmt.Sprintf(`{"error":{"message":%q,%s}}`, message, word)
	case "openai.responses":
		return "error", fmt.Sprintf(`{"type":"error","sequence_number":9,"message":%q,"param":null,%s}`, message, word)
	case "anthropic.messages":
		return "error", fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, word, message)
	case "gemini.generate":
		return "", fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, k.status, message, word)
	}
	return "exception/" + word, fmt.Sprintf(`{"message":%q}`, message)
}

// faultText is the message of an error: some APIs say only there that a request is too long.
func faultText(api string, k faultKind) string {
	if k.name != "too long" {
		return "It fails."
	}
	return map[string]string{
		"anthropic.messages": "prompt is too long: 9 tokens > 8 maximum", "gemini.generate": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
		"bedrock.converse": "Input is too long for requested model.",
	}[api] + " It fails."
}

// bodyOfFault is an error of a kind as the body of a response of an API.
func bodyOfFault(api string, k faultKind) string {
	_, data := saysFault(api, k)
	switch api {
	case "openai.responses":
		return fmt.Sprintf(`{"error":{"message":%q,"type":"x","code":%q}}`, faultText(api, k), gjson.Get(data, "code").Str)
	case "ollama.chat":
		return fmt.Sprintf(`{"error":%q}`, faultText(api, k))
	case "cohere.chat", "bedrock.converse":
		return fmt.Sprintf(`{"message":%q}`, faultText(api, k))
	}
	return data
}

// partial is the beginning of a stream of the speaker, after which an error comes.
func (c crossing) partial(event, data string) string {
	full := c.upstream.stream([]string{"An ", "answer."}, 1)
	if c.upstream.name() == "bedrock.converse" {
		at := strings.Index(full, "event: contentBlockStop")
		return full[:at] + named(event, data)
	}
	at := strings.Index(full, "answer.")
	at += strings.Index(full[at:], "\n\n") + 2
	if event != "" {
		event = "event: " + event + "\n"
	}
	return full[:at] + event + "data: " + data + "\n\n"
}

// faultWord is the word of an API for the kind of an error that a client got, and whether the API has one.
func faultWord(t *testing.T, api string, w *httptest.ResponseRecorder, stream bool) (word string, has bool) {
	t.Helper()
	text := w.Body.String()
	switch api {
	case "bedrock.converse":
		if !stream {
			word = w.Header().Get("X-Amzn-Errortype")
			return strings.ToLower(word[:min(1, len(word))]) + word[min(1, len(word)):], true
		}
		names := regexp.MustCompile(`event: exception/(\w+)`).FindStringSubmatch(string(namedEvents(t, w.Body.Bytes())))
		if names == nil {
			t.Fatalf("no exception in %q", text)
		}
		return names[1], true
	case "ollama.chat", "cohere.chat":
		return "", false
	}
	at := strings.LastIndex(text, `{"error":`)
	path := map[string]string{"openai.chat": "error.code", "openai.responses": "error.code", "anthropic.messages": "error.type", "gemini.generate": "error.status"}[api]
	switch {
	case api == "anthropic.messages":
		at = strings.LastIndex(text, `{"type":"error"`)
	case api == "openai.responses" && stream:
		at, path = strings.LastIndex(text, `{"type":"error"`), "code"
	}
	if at < 0 {
		t.Fatalf("no error in %s", text)
	}
	text, _, _ = strings.Cut(text[at:], "\n")
	return gjson.Get(text, path).Str, true
}

// TestBridgeErrorKinds: an error of the upstream has the same kind for a client of another API in the middle of a
// stream as in a response of its own.
func TestBridgeErrorKinds(t *testing.T) {
	const tooLong = "context_length_exceeded"
	for _, as := range ledgerAPIs {
		seen := map[string]map[string]bool{} // the kinds, by the words that the client got
		for _, api := range ledgerAPIs {
			if as == api {
				continue
			}
			c := crossing{as, speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == api.name })]}
			for _, k := range faultKinds {
				event, data := saysFault(api.name, k)
				g := handler(t, gateway.Config{UpstreamAPI: api.name}, answering(func(r *http.Request) *http.Response {
					if strings.Contains(r.URL.Path, "tream") || strings.Contains(r.Header.Get("Accept"), "stream") {
						return response(c.upstream.kind(true), strings.NewReader(c.partial(event, data)))
					}
					return &http.Response{StatusCode: k.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(bodyOfFault(api.name, k)))}
				}))
				whole := c.ask(g, "m", false)
				if whole.Code != k.status || !strings.Contains(whole.Body.String(), "It fails.") {
					t.Errorf("%s to %s, %s: %d %s", as.name, api.name, k.name, whole.Code, whole.Body)
				}
				want, has := faultWord(t, as.name, whole, false)
				if has && want == "" {
					t.Errorf("%s to %s, %s: no word in %s", as.name, api.name, k.name, whole.Body)
				}
				if strings.HasPrefix(as.name, "openai.") && data != "" && (want == tooLong) != (k.name == "too long") {
					t.Errorf("%s to %s, %s: %q", as.name, api.name, k.name, want)
				}
				if has {
					if seen[want] == nil {
						seen[want] = map[string]bool{}
					}
					seen[want][k.name] = true
				}
				if data == "" { // the API has no such error in a stream
					continue
				}
				w := c.ask(g, "m", true)
				if !strings.Contains(w.Body.String(), "An ") || !strings.Contains(w.Body.String(), "It fails.") {
					t.Errorf("%s to %s, %s: %s", as.name, api.name, k.name, strconv.Quote(w.Body.String()))
				}
				if got, _ := faultWord(t, as.name, w, true); has && got != want && !(as.name == "bedrock.converse" && want == "accessDeniedException" && got == "validationException") {
					t.Errorf("%s to %s, %s: %q in a stream, and whole %q: %s", as.name, api.name, k.name, got, want, w.Body)
				}
			}
		}
		for word, kinds := range seen { // only those that no API tells apart share one
			delete(kinds, "too long")
			if len(kinds) > 1 && word != "accessDeniedException" {
				t.Errorf("%s: %q stands for %v", as.name, word, kinds)
			}
		}
	}
}

// TestBridgeErrorsOfCohere: an error of Cohere's has only a text, and the reason for the end of its message says of what
// kind it is. A reply that ends for such a reason is an error for clients of other APIs, and not one that a filter has cut.
func TestBridgeErrorsOfCohere(t *testing.T) {
	c := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == "cohere.chat" })]
	for _, as := range ledgerAPIs {
		if as.name == "cohere.chat" {
			continue
		}
		for reason, k := range map[string]faultKind{"TIMEOUT": {"timeout", 504}, "ERROR": {"broken", 502}, "ERROR_LIMIT": {"too long", 400}} {
			for _, text := range []string{"", `,"error":"It fails."`} {
				stream := "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"r\",\"delta\":{\"message\":{\"role\":\"assistant\"}}}\n\n" +
					"event: content-start\ndata: {\"type\":\"content-start\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"type\":\"text\",\"text\":\"\"}}}}\n\n" +
					"event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"An \"}}}}\n\n" +
					"event: content-end\ndata: {\"type\":\"content-end\",\"index\":0}\n\n" +
					"event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"" + reason + "\"" + text + "}}\n\n"
				whole := `{"id":"r","finish_reason":"` + reason + `"` + text + `,"message":{"role":"assistant","content":[{"type":"text","text":"An "}]}}`
				ended := handler(t, gateway.Config{UpstreamAPI: "cohere"}, answering(func(r *http.Request) *http.Response {
					if strings.Contains(r.Header.Get("Accept"), "stream") {
						return response(c.kind(true), strings.NewReader(stream))
					}
					return response("application/json", strings.NewReader(whole))
				}))
				answered := handler(t, gateway.Config{UpstreamAPI: "cohere"}, answering(func(*http.Request) *http.Response {
					return &http.Response{StatusCode: k.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"message":"It fails."}`))}
				}))
				over := crossing{as, c}
				want, has := faultWord(t, as.name, over.ask(answered, "m", false), false)
				if strings.HasPrefix(as.name, "openai.") && reason == "ERROR_LIMIT" {
					want = "context_length_exceeded" // a response of Cohere's says that only in its text
				}
				w := over.ask(ended, "m", false)
				if got, _ := faultWord(t, as.name, w, false); w.Code != k.status || got != want {
					t.Errorf("%s, %s%s: %d %q, want %d %q: %s", as.name, reason, text, w.Code, got, k.status, want, w.Body)
				}
				w = over.ask(ended, "m", true)
				if got, _ := faultWord(t, as.name, w, true); !strings.Contains(w.Body.String(), "An ") || has && got != want && got != "modelStreamErrorException" {
					t.Errorf("%s, %s%s, streamed: %q, want %q: %s", as.name, reason, text, got, want, strconv.Quote(w.Body.String()))
				}
			}
		}
	}
}

// TestBridgeErrorsToCohere: a client of Cohere's learns that the upstream has run out of time.
func TestBridgeErrorsToCohere(t *testing.T) {
	for kind, reason := range map[string]string{"timeout_error": "TIMEOUT", "overloaded_error": "ERROR"} {
		up := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.name() == "anthropic.messages" })]
		c := crossing{ledgerAPIs[slices.IndexFunc(ledgerAPIs, func(a *ledgerAPI) bool { return a.name == "cohere.chat" })], up}
		g := handler(t, gateway.Config{UpstreamAPI: "messages"}, answering(func(*http.Request) *http.Response {
			return response(up.kind(true), strings.NewReader(c.partial("error", `{"type":"error","error":{"type":"`+kind+`","message":"It fails."}}`)))
		}))
		w := c.ask(g, "m", true)
		if text := w.Body.String(); !strings.Contains(text, `"finish_reason":"`+reason+`"`) || !strings.Contains(text, `"error":"It fails."`) {
			t.Errorf("%s: no %s in %s", kind, reason, text)
		}
	}
}
