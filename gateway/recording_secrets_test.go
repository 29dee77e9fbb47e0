package gateway_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// The credentials of TestRecordCanary, each for its place.
var canaries = map[string]string{
	"authorization": "sk-auth/7f3a+91=c2", "x-api-key": "sk-xapi-51e0aa", "api-key": "azure-9d8c7b6a", "x-goog-api-key": "AIza-66aa55bb44",
	"cookie": "sess-0f1e2d3c4b", "proxy": "proxypass-aa11bb", "query": "qk-33cc44dd", "token": "sotto-token-88ee77ff", "upstream": "up-key-12ab34cd56",
	"x-auth-token": "xauth-c0ffee99",
}

// forms are what a credential may look like in a text.
func forms(v string) []string {
	return []string{v, url.QueryEscape(v), base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v))}
}

// parrot is an upstream that says all the credentials it got, and those it can
// guess, wherever it can: in texts, names, ids, fields, and errors.
func parrot(s speaker, fault string) answering {
	var all []string
	for _, v := range canaries {
		all = append(all, forms(v)...)
	}
	said := strings.Join(all, " ")
	return func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		text := "<think>" + said + "</think>" + said
		switch stream := strings.Contains(string(body), `"stream":true`); {
		case fault == "refused":
			resp := response("application/json", strings.NewReader(`{"error":{"type":"`+canaries["upstream"]+`","code":"`+canaries["x-api-key"]+`","message":`+quoted(said)+`}}`))
			resp.StatusCode = 401
			return resp
		case fault == "broken":
			return response(s.kind(true), strings.NewReader(s.open+s.say(text)+"data: {"+said))
		case stream:
			frames := s.stream([]string{text}, sotto.EndStopped)
			if s.name() == "openai.chat" {
				frames = chatFrame(`{"reasoning_content":`+quoted(said)+`,"tool_calls":[{"index":0,"id":`+quoted(said)+`,"function":{"name":`+quoted(said)+`,"arguments":`+quoted(said)+`}}]}`, "null") + frames
			}
			return response(s.kind(true), strings.NewReader(frames))
		}
		return response(s.kind(false), strings.NewReader(s.whole(text, sotto.EndStopped)))
	}
}

// TestRecordCanary: no credential of a request's line, headers or cookies, nor of
// the configuration, is in any file of the record, at any level, by whatever way
// an upstream or a client repeats it.
func TestRecordCanary(t *testing.T) {
	levels := []record.Level{record.Full, record.Redacted, record.Digests, record.Off}
	var words []string
	for _, v := range canaries {
		words = append(words, forms(v)...)
	}
	for _, reasoning := range levels {
		for _, answer := range levels {
			if effort.Brief() && reasoning != answer {
				continue
			}
			t.Run(fmt.Sprintf("%v,%v", reasoning, answer), func(t *testing.T) {
				t.Parallel()
				w, dir := openRecord(t, record.Options{Reasoning: reasoning, Answer: answer, Patterns: []*regexp.Regexp{regexp.MustCompile("zzz+")}})
				sent := 0
				chosen := effort.OneIn(3, fmt.Sprint(reasoning))
				for _, s := range speakers {
					if !chosen() {
						continue
					}
					for _, fault := range []string{"", "refused", "broken"} {
						g := handler(t, gateway.Config{Recorder: w, Token: canaries["token"], UpstreamKey: canaries["upstream"]}, parrot(s, fault))
						sent += parrotRequests(t, g, s, words)
					}
				}
				if list := exchanges(t, w, dir); len(list) != sent {
					t.Errorf("%d exchanges recorded of %d", len(list), sent)
				}
				mustLack(t, dir, words...)
			})
		}
	}
}

// parrotRequests sends requests that hold every credential in every place, and
// returns how many were admitted.
func parrotRequests(t *testing.T, g http.Handler, s speaker, words []string) int {
	t.Helper()
	said := quoted(strings.Join(words, " "))
	n := 0
	for _, body := range []string{
		`{"model":` + said + `,"stream":true,"prompt":` + said + `,"tools":[{"type":"function","name":` + said + `,"function":{"name":` + said + `}}],"messages":[{"role":"user","content":` + said + `},{"role":` + said + `,"content":` + said + `,"tool_calls":[{"id":` + said + `,"function":{"name":` + said + `,"arguments":` + said + `}}]}]}`,
		`{"model":"m","prompt":"x","messages":[{"role":"user","content":` + said + `}]}`,
		`[` + said + `]`, `{"model":` + said,
	} {
		r := httptest.NewRequest("POST", "/"+canaries["x-api-key"]+s.path+"?key="+url.QueryEscape(canaries["query"])+"&n=1", strings.NewReader(body))
		r.Host = "localhost"
		r.Header = http.Header{
			"Authorization": {"Bearer " + canaries["token"]}, "X-Api-Key": {canaries["x-api-key"]}, "Api-Key": {canaries["api-key"]},
			"X-Goog-Api-Key": {canaries["x-goog-api-key"]}, "Cookie": {"s=" + canaries["cookie"]}, "X-Auth-Token": {canaries["x-auth-token"]},
			"Proxy-Authorization":       {"Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+canaries["proxy"]))},
			"X-Forwarded-Authorization": {"Bearer " + canaries["authorization"]},
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "this gateway needs") {
			n++
		}
	}
	return n
}

// TestRecordUserInfo: a client that has the gateway inside keeps the password of
// its URL to itself.
func TestRecordUserInfo(t *testing.T) {
	const password = "hunter2-canary"
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, speakers[0].whole(r.Header.Get("Authorization")+" "+password, sotto.EndStopped))
	}))
	tr, err := gateway.NewTransport(gateway.TransportConfig{Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	draining(t, w, tr)
	defer tr.Close()
	address := strings.Replace(up.URL, "://", "://me:"+password+"@", 1) + "/v1/chat/completions?token=" + password
	for range 2 { // the second finds nobody
		resp, err := (&http.Client{Transport: tr}).Post(address, "application/json", strings.NewReader(chatBody("m", false)))
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		up.Close()
	}
	list := exchanges(t, w, dir)
	if len(list) != 2 || list[1].Outcome != "failed" || list[1].Error == "" {
		t.Errorf("%+v", list)
	}
	mustLack(t, dir, append(forms(password), base64.StdEncoding.EncodeToString([]byte("me:"+password)))...)
}
