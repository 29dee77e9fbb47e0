package gateway_test

import (
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// A handler and a transport run the same exchanges, and the same observers see them:
// what the one counts, the other counts.
func TestObservers(t *testing.T) {
	s := speakers[0]
	reply := s.stream([]string{"<think>I add.", "</think>", "4"}, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", s.kind(true))
		io.WriteString(w, reply)
	}))
	defer up.Close()
	count := func(reg *prometheus.Registry) map[string]float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if c := m.GetCounter(); c != nil && c.GetValue() > 0 {
					name := f.GetName()
					for _, l := range m.GetLabel() {
						name += " " + l.GetValue()
					}
					counts[name] = c.GetValue()
				}
			}
		}
		return counts
	}
	behind, inside := prometheus.NewRegistry(), prometheus.NewRegistry()
	g := inFront(t, up.URL, gateway.Config{Observers: []gateway.Observer{gateway.Metrics(behind), {}}})
	if w := ask(g, s.path, chatBody("m", true)); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	tr, err := gateway.NewTransport(gateway.TransportConfig{Observers: []gateway.Observer{gateway.Metrics(inside)}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	resp, err := (&http.Client{Transport: tr}).Post(up.URL+s.path, "application/json", strings.NewReader(chatBody("m", true)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	one, other := count(behind), count(inside)
	if one["sotto_exchanges_total openai.chat m answered"] != 1 || one["sotto_leaks_corrected_total openai.chat block m"] != 1 || one["sotto_reasoning_removed_bytes_total reply"] != 6 {
		t.Errorf("the handler counted %v", one)
	}
	for name, n := range one {
		if other[name] != n {
			t.Errorf("%s: %v by the handler, %v by the transport", name, n, other[name])
		}
	}
	if page := metricsOf(g); !strings.Contains(page, `sotto_exchanges_total{api="openai.chat",model="m",outcome="answered"} 1`) {
		t.Errorf("/metrics does not show the registry:\n%s", page)
	}
}

// Metrics are made in the room of the observers; here is only who asks for them. What a transport and a handler share builds
// no proxy and knows no upstream of its own.
func TestStations(t *testing.T) {
	only := map[string][]string{
		"github.com/prometheus/client_golang/prometheus":          {"observers.go"},
		"github.com/prometheus/client_golang/prometheus/promhttp": {},
		"net/http/httputil": {"gateway.go", "upstream.go"},
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		read++
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if allowed := only[path]; allowed != nil && !slices.Contains(allowed, file.Name()) {
				t.Errorf("%s imports %s: that belongs into %s", file.Name(), path, strings.Join(allowed, ", "))
			}
		}
	}
	if read < 20 {
		t.Errorf("%d files", read)
	}
}

// TestShares counts how much of replies was reasoning, and how much of their prompts was
// cached, by what was done to the history; and leaks apart by whether they passed.
func TestShares(t *testing.T) {
	for _, display := range routing.Displays() {
		g := handler(t, gateway.Config{Default: routing.Route{Display: display, History: history.Strip}}, answering(func(r *http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"<think>12345</think>\n\n1234567"},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_tokens_details":{"cached_tokens":40}}}`))
		}))
		ask := func(messages string) {
			t.Helper()
			if w := ask(g, "/v1/chat/completions", `{"model":"qwen3:8b","messages":[`+messages+`]}`); w.Code != http.StatusOK {
				t.Fatal(w.Code, w.Body)
			}
		}
		const question, plain, thinks = `{"role":"user","content":"q"}`, `{"role":"assistant","content":"a"}`, `{"role":"assistant","content":"<think>t</think>a"}`
		ask(question)
		ask(question + "," + plain + "," + question)
		ask(question + "," + thinks + "," + question)
		page := metricsOf(g)
		leak, other := "corrected", "passed"
		if display == routing.DisplayKeep {
			leak, other = other, leak
		}
		for _, want := range []string{
			`sotto_leaks_` + leak + `_total{api="openai.chat",kind="block",model="qwen3:8b"} 3`,
			`sotto_reply_bytes_total{api="openai.chat",channel="reasoning",model="qwen3:8b"} 15`, `sotto_reply_bytes_total{api="openai.chat",channel="text",model="qwen3:8b"} 21`,
			`sotto_prompt_tokens_total{history="first",model="qwen3:8b"} 100`, `sotto_prompt_tokens_total{history="kept",model="qwen3:8b"} 100`, `sotto_prompt_tokens_total{history="removed",model="qwen3:8b"} 100`,
			`sotto_prompt_cached_tokens_total{history="removed",model="qwen3:8b"} 40`,
		} {
			if !strings.Contains(page, want+"\n") {
				t.Errorf("%s: no %s", display, want)
			}
		}
		if strings.Contains(page, "sotto_leaks_"+other+"_total{") {
			t.Errorf("%s: leaks are counted as %s too", display, other)
		}
	}
}
