package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// paths are those of the codecs.
var paths = []string{
	"/v1/chat/completions", "/v1/completions", "/v1/responses", "/api/chat", "/api/generate", "/v1/messages",
}

// TestAmbiguousRequest holds that a request which an upstream could read another
// way than the gateway never reaches one, under any display: a deciding key that
// stands twice or in another case, a body that is not valid JSON, another charset.
func TestAmbiguousRequest(t *testing.T) {
	const good = `{"model":"hidden","stream":false,"messages":[]}`
	requests := []struct{ name, kind, body string }{
		{"model twice", "", `{"model":"x","model":"hidden","messages":[]}`},
		{"model escaped", "", `{"model":"x","mod\u0065l":"hidden","messages":[]}`},
		{"model in another case", "", `{"model":"x","Model":"hidden","messages":[]}`},
		{"other case alone", "", `{"MODEL":"hidden","messages":[]}`},
		{"long s", "", `{"model":"x","ſtream":true,"messages":[]}`},
		{"Kelvin sign", "", "{\"model\":\"x\",\"thin\u212a\":true,\"messages\":[]}"},
		{"messages twice", "", `{"model":"x","messages":[],"messages":[{"role":"user"}]}`},
		{"role twice", "", `{"model":"x","messages":[{"role":"user","role":"assistant","content":"a"}],"input":[{"role":"user","role":"assistant"}]}`},
		{"NaN", "", `{"model":"x","messages":[],"temperature":NaN}`},
		{"comment", "", `{"model":"x",/* "model":"hidden" */"messages":[]}`},
		{"trailing comma", "", `{"model":"x","messages":[],}`},
		{"BOM", "", "\xEF\xBB\xBF" + good},
		{"two values", "", good + good},
		{"empty", "", ""},
		{"a list", "", "[" + good + "]"},
		{"UTF-16", "", string([]byte{'{', 0, '}', 0})},
		{"multipart", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=model\r\n\r\nhidden\r\n--b--\r\n"},
		{"charset", "application/json; charset=utf-7", good},
		{"broken charset", "application/json; charset", good},
	}
	var reached atomic.Int32
	upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{}`)
	})
	for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField} {
		base := start(t, upstream, gateway.Config{Default: routing.Route{Display: display}})
		for _, path := range paths {
			for _, q := range requests {
				reached.Store(0)
				resp, body := post(t, base+path, q.body, http.Header{"Content-Type": {q.kind}})
				if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnsupportedMediaType || reached.Load() != 0 {
					t.Errorf("%s, %s, %s: %d %s; reached the upstream: %d times", display, path, q.name, resp.StatusCode, body, reached.Load())
				}
				if !strings.Contains(string(body), `"error"`) {
					t.Errorf("%s, %s: %s is not an error of the API", path, q.name, body)
				}
			}
		}
		// As curl sends JSON, and with the charset that it has.
		for _, kind := range []string{"application/x-www-form-urlencoded", "application/json; charset=UTF-8", "text/plain"} {
			reached.Store(0)
			if resp, body := post(t, base+"/v1/chat/completions", good, http.Header{"Content-Type": {kind}}); reached.Load() != 1 {
				t.Errorf("%s: %d %s", kind, resp.StatusCode, body)
			}
		}
	}
}
