package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/model"
)

// routes answers requests by method and path, and with 404 to others.
type routes map[string]string

func (a routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := a[r.Method+" "+r.URL.Path]
	if status, reason, refuses := strings.Cut(body, "!"); refuses {
		var n int
		fmt.Sscan(status, &n)
		w.WriteHeader(n)
		fmt.Fprint(w, reason)
		return
	}
	if !ok {
		w.WriteHeader(404)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, body)
}

func check(t *testing.T, c model.Config) (model.Info, error) {
	t.Helper()
	c.Retries = -1
	return open(t, c).(model.Checker).Check(t.Context())
}

// The context window is known from each server that says it, and from the request
// that sets it.
func TestWindow(t *testing.T) {
	const show = `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`
	for _, c := range []struct {
		name, provider, extra string
		server                routes
		want                  model.Info
	}{
		{"num_ctx of the request", "ollama", `{"options":{"num_ctx":16384}}`, routes{"POST /api/show": show}, model.Info{Window: 16384, From: "num_ctx"}},
		{"above the model's", "ollama", `{"options":{"num_ctx":99999}}`, routes{"POST /api/show": show}, model.Info{Window: 40960, From: "the model"}},
		{"num_ctx of the model", "ollama", "", routes{"POST /api/show": `{"parameters":"stop \"x\"\nnum_ctx    8192\n"}`}, model.Info{Window: 8192, From: "num_ctx of the model"}},
		{"as loaded", "ollama", "", routes{"POST /api/show": show, "GET /api/ps": `{"models":[{"name":"other","context_length":1},{"name":"m:latest","context_length":32768}]}`}, model.Info{Window: 32768, From: "the server"}},
		{"the default", "ollama", "", routes{"POST /api/show": show}, model.Info{Window: 4096, From: "assumed, Ollama's default; options.num_ctx sets it"}},
		{"vLLM", "openai", "", routes{"GET /v1/models": `{"data":[{"id":"o","max_model_len":1},{"id":"m","max_model_len":32768}]}`}, model.Info{Window: 32768, From: "the server"}},
		{"a name with its maker", "openai", "", routes{"GET /v1/models": `{"data":[{"id":"maker/m","context_length":131072}]}`}, model.Info{Window: 131072, From: "the server"}},
		{"llama.cpp", "openai", "", routes{
			"GET /v1/models": `{"data":[{"id":"/models/q.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":40960}}]}`,
			"GET /props":     `{"default_generation_settings":{"n_ctx":4096}}`,
		}, model.Info{Window: 4096, From: "the server"}},
		{"a list without it", "openai", "", routes{"GET /v1/models": `{"data":[{"id":"m"}]}`}, model.Info{}},
		{"a number that is none", "openai", "", routes{"GET /v1/models": `{"data":[{"id":"m","max_model_len":-1,"context_length":1e99}]}`}, model.Info{}},
		{"Anthropic", "anthropic", "", routes{"GET /v1/models/m": `{"type":"model","id":"m","max_input_tokens":200000}`}, model.Info{Window: 200000, From: "the server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := model.Config{Provider: c.provider, URL: serve(t, c.server), Model: "m"}
			if c.extra != "" {
				config.Extra = json.RawMessage(c.extra)
			}
			got, err := check(t, config)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
}

// A check finds a server that is not there or refuses, and a model that it does not
// have. A server that is busy, or has no place to ask, serves the model.
func TestCheck(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	chat := map[string]string{"openai": "POST /v1/chat/completions", "ollama": "POST /api/chat", "anthropic": "POST /v1/messages"}
	place := map[string]string{"openai": "GET /v1/models", "ollama": "POST /api/show", "anthropic": "GET /v1/models/m"}
	const missing = `404!{"error":{"type":"not_found_error","message":"model m not found"}}`
	for _, provider := range providers {
		for _, c := range []struct {
			name   string
			server routes
			want   model.Kind
		}{
			{"missing", routes{place[provider]: missing, chat[provider]: missing}, model.KindRefused},
			{"not in the list", routes{place[provider]: `{"data":[{"id":"o"}]}`, chat[provider]: missing}, map[string]model.Kind{"openai": model.KindRefused, "anthropic": model.KindRefused}[provider]},
			{"a wrong key", routes{place[provider]: "401!", chat[provider]: "401!"}, model.KindRefused},
			{"a key that may not list", routes{place[provider]: "403!", chat[provider]: "400!"}, model.KindOther},
			{"no place to ask", routes{chat[provider]: "400!max_tokens is too low"}, model.KindOther},
			{"starting", routes{place[provider]: "503!loading"}, model.KindOther},
			{"busy", routes{place[provider]: "404!", chat[provider]: "429!"}, model.KindOther},
			{"not there", nil, model.KindOutage},
		} {
			url := nobody
			if c.server != nil {
				url = serve(t, c.server)
			}
			_, err := check(t, model.Config{Provider: provider, URL: url, Model: "m"})
			var e *model.Error
			kind := model.KindOther
			if errors.As(err, &e) {
				kind = e.Kind()
			}
			if kind != c.want || (err == nil) != (c.want == model.KindOther) {
				t.Errorf("%s: %s: %v, want %q", provider, c.name, err, c.want)
			}
		}
		for name, want := range map[string]model.Kind{"no-such": model.KindRefused, "qwen3:8b": model.KindOther} {
			_, err := check(t, model.Config{Provider: provider, URL: upstream(t), Model: name})
			var e *model.Error
			if errors.As(err, &e) != (want == model.KindRefused) {
				t.Errorf("%s: %s: %v", provider, name, err)
			}
		}
	}
}

// Each kind of error has one kind of help.
func TestKinds(t *testing.T) {
	kinds := map[model.Kind][]model.Error{
		model.KindOutage: {
			{Status: 503, Retryable: true}, {Status: 529, Retryable: true}, {Status: 408, Retryable: true}, {Status: 500, Retryable: true, RetryAfter: 1},
			{Err: errors.New("connection reset"), Retryable: true}, {Err: errors.New("no such host")}, {Err: model.ErrSilent}, {Err: model.ErrBrokenOff, Retryable: true},
			{Type: "overloaded_error", Retryable: true},
		},
		model.KindRateLimit: {{Status: 429, Retryable: true}, {Type: "rate_limit_error", Retryable: true}},
		model.KindRefused:   {{Status: 401}, {Status: 402}, {Status: 403}, {Status: 404}, {Status: 429, Code: "insufficient_quota"}, {Code: "insufficient_quota"}},
		model.KindOther: {
			{Status: 400}, {Status: 413}, {Status: 500, Retryable: true}, {Status: 501}, {Type: "api_error", Retryable: true},
			{Err: model.ErrTooLarge}, {Err: model.ErrUnreadable}, {Err: model.ErrNoReply}, {Message: "odd"},
		},
	}
	for kind, list := range kinds {
		for i := range list {
			if got := list[i].Kind(); got != kind {
				t.Errorf("%+v is %q, want %q", list[i], got, kind)
			}
		}
	}
}
