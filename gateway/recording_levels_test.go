package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// TestRecordTransport: the gateway inside a client records as well.
func TestRecordTransport(t *testing.T) {
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	tr, err := gateway.NewTransport(gateway.TransportConfig{Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	draining(t, w, tr)
	defer tr.Close()
	resp, err := (&http.Client{Transport: tr}).Post(up.URL+"/v1/chat/completions", "application/json", strings.NewReader(chatBody("minimax-m2", true)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	m, _ := scripted.Find("minimax-m2")
	if e := only(t, w, dir); rawOf(e) != m.Reply.Text() || e.Upstream != up.URL {
		t.Errorf("%+v", e)
	}
}

// TestRecordLevels: where reasoning is withheld none of it is in the folder,
// wherever the model or the provider put it, nor in the messages that come back.
func TestRecordLevels(t *testing.T) {
	const thought = "thoughtcanary"
	for _, level := range []record.Level{record.Digests, record.Off} {
		for _, s := range speakers {
			w, dir := openRecord(t, record.Options{Reasoning: level})
			v := converse(t, s, gateway.Config{Recorder: w, Default: routing.Route{History: "preserve"}})
			v.raw = "<think>" + thought + "</think>said"
			v.cut = byteByByte(v.raw)
			for _, stream := range []bool{true, false} {
				ask(v, s.path, `{"model":"m","stream":`+fmt.Sprint(stream)+`,"prompt":"<think>`+thought+`</think>x","messages":[{"role":"user","content":"q"},
					{"role":"assistant","content":"<think>`+thought+`</think>x","reasoning_content":"`+thought+`","thinking":"`+thought+`","reasoning_details":[{"text":"`+thought+`"}]},
					{"role":"assistant","content":[{"type":"thinking","thinking":"`+thought+`","signature":"`+thought+`"},{"type":"redacted_thinking","data":"`+thought+`"}]},{"role":"user","content":"q"}]}`)
			}
			if list := exchanges(t, w, dir); len(list) != 2 || !strings.Contains(rawOf(list[0]), "said") {
				t.Errorf("%s: %+v", s.name(), list)
			}
			mustLack(t, dir, thought)
		}
	}
}

// mustLack searches a folder's files, their names too.
func mustLack(t testing.TB, dir string, words ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, w := range words {
			if i := strings.Index(string(data), w); i >= 0 {
				t.Errorf("%s holds %q: …%.200q", d.Name(), w, data[max(0, i-100):])
			} else if strings.Contains(path, w) {
				t.Errorf("the name %s", path)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// metricsOf are the metrics of a gateway, as text.
func metricsOf(g http.Handler) string {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "localhost"
	g.ServeHTTP(w, r)
	return w.Body.String()
}
