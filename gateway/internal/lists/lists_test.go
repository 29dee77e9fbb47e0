package lists

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
)

// server returns a source that answers with a list, or with a status.
func server(t *testing.T, name string, status int, list string, leads func(api, model string) bool) Source {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, list)
	}))
	t.Cleanup(s.Close)
	return Source{Name: name, Leads: leads, Send: func(ctx context.Context) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return nil, err
		}
		return s.Client().Do(r)
	}}
}

// A model is in the list once, as the upstream describes it to which a request leads: in the
// API of the list first, and else in another. What leads nowhere is not there. The rest of
// the first list stays, and memory is released.
func TestMerge(t *testing.T) {
	b := budget.New(64<<20, slog.New(slog.DiscardHandler))
	leads := func(where map[string]string) func(api, model string) bool {
		return func(api, model string) bool { return where[model] == "every" || where[model] == api }
	}
	sources := []Source{
		server(t, "none", 404, "", leads(nil)),
		server(t, "broken", 500, "", leads(nil)),
		server(t, "a", 200, `{"object":"list","data":[{"id":"m1","of":"a"},{"id":"m2","of":"a"},{"id":"m3","of":"a"}],"x":1}`, leads(map[string]string{"m1": "every", "m3": "other"})),
		server(t, "b", 200, `{"data":[{"id":"m1","of":"b"},{"id":"m2","of":"b"},{"id":"m2","of":"twice"},{"id":"m3","of":"b"},{"id":"models/m4"}]}`, leads(map[string]string{"m2": "chat", "m3": "chat", "m4": "other"})),
		server(t, "list", 200, `[]`, leads(nil)),
		server(t, "long", 200, `{"data":[`+strings.Repeat(`1,`, mostModels)+`1]}`, leads(nil)),
	}
	offers := Ask(t.Context(), sources, b)
	failed := ""
	for _, o := range offers {
		if o.Err != nil {
			failed += fmt.Sprintf("%s: %v; ", o.Name, o.Err)
		}
	}
	if want := "broken: it answers 500; list: its list is not an object; long: its list has more than 10000 models; "; failed != want {
		t.Errorf("%s", failed)
	}
	body, ok := offers.Merge("chat", []string{"chat", "other"})
	if want := `{"object":"list","data":[{"id":"m1","of":"a"},{"id":"m2","of":"b"},{"id":"m3","of":"b"},{"id":"models/m4"}],"x":1}`; !ok || string(body) != want {
		t.Errorf("%v %s", ok, body)
	}
	if used, _, _ := b.State(); used == 0 {
		t.Error("the lists take no memory")
	}
	offers.Leave()
	if used, _, _ := b.State(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
	if _, ok := Ask(t.Context(), sources[:2], b).Merge("chat", nil); ok {
		t.Error("there is a list where no upstream has one")
	}
}
