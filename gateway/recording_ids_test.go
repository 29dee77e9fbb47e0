package gateway_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// TestRecordIdentifiers: an exchange keeps what joins it to the tables of an
// application, over every API, streamed and whole: the upstream's id of the reply,
// the request's identifiers, and a header, which is not scrubbed as a session's
// cookie is. No credential is among them. At level digest, a key finds them.
func TestRecordIdentifiers(t *testing.T) {
	const more = `"user":"ann@example.org","session_id":"s-1","metadata":{"order":"o-7","n":12,"api_token":"hush-hush-1","deep":{"a":"b"}},"other":"o",`
	key := []byte("0123456789abcdef")
	m := scripted.Models()[0]
	for _, a := range apis {
		for _, stream := range []bool{true, false} {
			for _, level := range []record.Level{record.Full, record.Digests, record.Off} {
				w, dir := openRecord(t, record.Options{IDs: level, DigestKey: key})
				up := httptest.NewServer(scripted.New(scripted.Options{}))
				g := inFront(t, up.URL, gateway.Config{Recorder: w, RecordHeaders: []string{"X-Session-Id"}})
				q := httptest.NewRequest(http.MethodPost, addressed(a.path, a.body(m.Name, stream)), strings.NewReader("{"+more+a.body(m.Name, stream)[1:]))
				q.Host = "localhost"
				q.Header.Set("Content-Type", "application/json")
				q.Header.Set("X-Session-Id", "sess-99")
				q.Header.Set("X-Api-Key", "hush-hush-2")
				reply := httptest.NewRecorder()
				g.ServeHTTP(reply, q)
				e := only(t, w, dir)
				up.Close()
				if had := slices.ContainsFunc([]string{"ollama", "llamacpp", "bedrock"}, func(s string) bool { return strings.Contains(a.name, s) }); reply.Code != http.StatusOK || (e.ResponseID == "") != had || !strings.Contains(reply.Body.String(), e.ResponseID) {
					t.Errorf("%s, stream %v: %d, the id of the reply is %q", a.name, stream, reply.Code, e.ResponseID)
				}
				want := map[string]string{
					"user": "ann@example.org", "session_id": "s-1", "metadata.order": "o-7", "metadata.n": "12", "metadata.api_token": "[secret]", "X-Session-Id": "sess-99",
				}
				switch level {
				case record.Off:
					want = nil
				case record.Digests:
					for _, name := range slices.Collect(maps.Keys(want)) {
						if want[name] != "[secret]" {
							want[name] = record.DigestID(key, want[name])
						}
					}
				}
				if d := cmp.Diff(want, e.IDs); d != "" {
					t.Errorf("%s, stream %v, level %v: %s", a.name, stream, level, d)
				}
			}
		}
	}
}

// TestRecordManyIdentifiers: what a client sends as identifiers is bounded, and a
// header that holds credentials cannot be one.
func TestRecordManyIdentifiers(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(`"k` + strings.Repeat("x", i) + `":"` + strings.Repeat("v", i) + `",`)
	}
	w, dir := openRecord(t, record.Options{})
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	g := inFront(t, up.URL, gateway.Config{Recorder: w})
	body := `{"metadata":{` + b.String() + `"end":1},` + apis[0].body(scripted.Models()[0].Name, false)[1:]
	if code := ask(g, apis[0].path, body).Code; code != http.StatusOK {
		t.Fatal(code)
	}
	if e := only(t, w, dir); len(e.IDs) != 32 {
		t.Errorf("%d identifiers", len(e.IDs))
	}
	for _, name := range []string{"Authorization", "cookie", "X-Api-Key", "X-Token", "not a header", ""} {
		if faults := (&gateway.Config{RecordHeaders: []string{name}}).Check(); !anyFault(faults, "record-headers") {
			t.Errorf("%q is taken: %v", name, faults)
		}
	}
}

func anyFault(faults []error, text string) bool {
	return slices.ContainsFunc(faults, func(err error) bool { return strings.Contains(err.Error(), text) })
}
