package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// TestExemplars: a histogram leads to the trace and the exchange of one of its values, for
// those who ask in OpenMetrics. An exchange without a trace leaves none.
func TestExemplars(t *testing.T) {
	s := speakers[0]
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", s.kind(true))
		io.WriteString(w, s.stream([]string{"<think>I add.", "</think>", "4"}, 1))
	}))
	defer up.Close()
	g := inFront(t, up.URL, gateway.Config{})
	page := func(accept string) string {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Body.String()
	}
	chat := func(header http.Header) string {
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+s.path, strings.NewReader(chatBody("m", true)))
		r.Header = header
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Header().Get("Sotto-Exchange-Id")
	}
	const openMetrics = "application/openmetrics-text; version=1.0.0"
	chat(http.Header{})
	chat(http.Header{"Traceparent": {"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}})
	if text := page(openMetrics); strings.Contains(text, "trace_id") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("%s", text)
	}
	id := chat(http.Header{"Traceparent": {traceparent}})
	text := page(openMetrics)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^(sotto_\w+)_bucket.* # (\{.*\})`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[2], `exchange_id="`+id+`"`) && strings.Contains(m[2], `trace_id="`+traceID+`"`) {
			names = append(names, m[1])
		}
	}
	for _, name := range []string{"sotto_exchange_seconds", "sotto_first_thought_seconds", "sotto_first_answer_seconds"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s has no exemplar: %q\n%s", name, names, text)
		}
	}
	if text := page("text/plain"); strings.Contains(text, "trace_id") {
		t.Errorf("%s", text)
	}
}
