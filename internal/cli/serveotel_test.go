package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
)

// TestServeOtel: a gateway that ends sends the traces and metrics of its exchanges to the collector,
// with the key of the environment. They have names and no text. A gateway that is started
// again traces again.
func TestServeOtel(t *testing.T) {
	var mu sync.Mutex
	var got bytes.Buffer
	keys := map[string]bool{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys[r.URL.Path+" "+r.Header.Get("Api-Key")] = true
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.Copy(&got, zip); err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	getenv := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "api-key=s%3D1, other=2", "SOTTO_OTEL_ENDPOINT": collector.URL}[name]
	}
	for range 2 {
		got.Reset()
		r := startServeWith(t, getenv, "--scripted-pause=0s", "--otel-endpoint="+collector.URL)
		if _, err := io.Copy(io.Discard, r.chat("minimax-m2", true).Body); err != nil {
			t.Fatal(err)
		}
		r.client.CloseIdleConnections()
		r.signals <- os.Interrupt
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		<-r.log
		mu.Lock()
		for _, has := range []string{"chat minimax-m2", "upstream wait", "reasoning", "answer", "gen_ai.request.model", "gen_ai.client.operation.duration", "sotto_exchanges_total"} {
			if !bytes.Contains(got.Bytes(), []byte(has)) {
				t.Errorf("the trace has no %q: %q", has, got.Bytes())
			}
		}
		for _, lacks := range []string{"Short question", "Ottawa"} {
			if bytes.Contains(got.Bytes(), []byte(lacks)) {
				t.Errorf("the trace has %q", lacks)
			}
		}
		mu.Unlock()
	}
	if len(keys) != 2 || !keys["/v1/traces s=1"] || !keys["/v1/metrics s=1"] {
		t.Errorf("%v", keys)
	}
}
