package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// keeper is an upstream that keeps replies of the responses API, and notes what it
// is asked. A stream begins where starting_after says.
type keeper struct{ asked []string }

const keptText = "◁think▷SECRET◁/think▷Ottawa."

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	k.asked = append(k.asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	item := fmt.Sprintf(`{"id":"m1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, keptText)
	whole := `{"id":"resp_1","object":"response","status":"completed","model":"kimi-vl-a3b-thinking","output":[` + item + `]}`
	if r.URL.Query().Get("stream") != "true" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := []string{
		`"response.created","response":{"id":"resp_1","model":"kimi-vl-a3b-thinking","status":"in_progress","output":[]}`,
		`"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[]}`,
		`"response.content_part.added","item_id":"m1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`,
	}
	for _, piece := range []string{"◁think▷SEC", "RET◁/thi", "nk▷Otta", "wa."} {
		events = append(events, fmt.Sprintf(`"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":%q`, piece))
	}
	events = append(events, fmt.Sprintf(`"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":%q`, keptText),
		`"response.output_item.done","output_index":0,"item":`+item, `"response.completed","response":`+whole)
	after := -1
	if s := r.URL.Query().Get("starting_after"); s != "" {
		fmt.Sscan(s, &after)
	}
	for i, e := range events {
		if i > after {
			fmt.Fprintf(w, "data: {\"sequence_number\":%d,\"type\":%s}\n\n", i, e)
		}
	}
}

// TestStoredResponses: a reply that is fetched by its id is read as when it was
// made, in the dialect of the model that the reply names.
func TestStoredResponses(t *testing.T) {
	hiding := gateway.Config{Routes: []routing.Route{{Models: []string{"other"}, Display: routing.DisplayHide}}}
	for name, c := range map[string]gateway.Config{"field": {}, "hide": hiding} {
		k := &keeper{}
		base := start(t, k, c)
		for _, query := range []string{"", "?stream=true"} {
			body := fetch(t, base+"/v1/responses/resp_1"+query)
			text, thought := responseTexts(body)
			want := "SECRET"
			if name == "hide" {
				want = ""
			}
			if text != "Ottawa." || thought != want {
				t.Errorf("%s %s: text %q, thought %q\n%s", name, query, text, thought, body)
			}
			if name == "hide" && strings.Contains(body, "SECRET") {
				t.Errorf("hidden: %s", body)
			}
		}
		if got := strings.Join(k.asked, "|"); got != "GET /v1/responses/resp_1 |GET /v1/responses/resp_1?stream=true " {
			t.Errorf("asked: %s", got)
		}
	}
}

// TestStoredResume: a client that lost its stream gets the events after the last one
// that it has, wherever that was, by the numbers that it was given.
func TestStoredResume(t *testing.T) {
	k := &keeper{}
	base := start(t, k, gateway.Config{})
	events := func(query string) []string { // without comments, which have no number
		return slices.DeleteFunc(strings.SplitAfter(fetch(t, base+"/v1/responses/resp_1?stream=true"+query), "\n\n"), func(e string) bool {
			return strings.HasPrefix(e, ":")
		})
	}
	all := events("")
	for i, event := range all[:len(all)-1] {
		n := gjson.Get(event[strings.Index(event, "{"):], "sequence_number").Int()
		if int(n) != i {
			t.Fatalf("event %d has the number %d", i, n)
		}
		got := strings.Join(events(fmt.Sprintf("&starting_after=%d", i)), "")
		if want := strings.Join(all[i+1:], ""); got != want {
			t.Fatalf("after %d:\n%s\nwant\n%s", i, got, want)
		}
	}
	asked := len(k.asked)
	if got := fetch(t, base+"/v1/responses/resp_1?stream=true&starting_after=x"); !strings.Contains(got, "starting_after") || len(k.asked) != asked {
		t.Errorf("starting_after=x: %s", got)
	}
	if got := fetch(t, base+"/v1/responses/resp_1/input_items"); !strings.Contains(got, "◁think▷") {
		t.Errorf("another route is read: %s", got)
	}
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return readAll(t, resp.Body)
}

// responseTexts are the answer and the reasoning of a response, from its last state.
func responseTexts(body string) (text, thought string) {
	root := gjson.Parse(body)
	if i := strings.LastIndex(body, "data: "); i >= 0 {
		root = gjson.Get(body[i+len("data: "):], "response")
	}
	for _, item := range root.Get("output").Array() {
		for _, part := range item.Get("content").Array() {
			if item.Get("type").Str == "reasoning" {
				thought += part.Get("text").Str
			} else {
				text += part.Get("text").Str
			}
		}
	}
	return text, thought
}

// TestStoredInTransport fetches a reply by its id with a client whose transport is the
// gateway: it is read like one that passes the gateway, and resumed like that.
func TestStoredInTransport(t *testing.T) {
	for _, hides := range []bool{false, true} {
		c := gateway.TransportConfig{}
		want := "SECRET"
		if hides {
			c.Routes, want = []routing.Route{{Models: []string{"other"}, Display: routing.DisplayHide}}, ""
		}
		k := &keeper{}
		server := httptest.NewServer(k)
		t.Cleanup(server.Close)
		transport, err := gateway.NewTransport(c)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		get := func(query string) string {
			resp, err := client.Get(server.URL + "/v1/responses/resp_1" + query)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			return readAll(t, resp.Body)
		}
		through := start(t, &keeper{}, gateway.Config{Routes: c.Routes})
		for _, query := range []string{"", "?stream=true", "?stream=true&starting_after=4"} {
			body := get(query)
			if text, thought := responseTexts(body); text != "Ottawa." || thought != want || hides && strings.Contains(body, "SECRET") {
				t.Errorf("hides %v, %q: text %q, thought %q\n%s", hides, query, text, thought, body)
			}
			if want := fetch(t, through+"/v1/responses/resp_1"+query); body != want {
				t.Errorf("hides %v, %q: %s\nthe gateway gives\n%s", hides, query, body, want)
			}
		}
		if asked := strings.Join(k.asked, "|"); strings.Contains(asked, "starting_after") {
			t.Errorf("asked: %s", asked)
		}
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStoredIsRecorded fetches a reply by its id with a record: each fetch is an
// exchange with what the upstream sent, whatever part of it the client wanted.
func TestStoredIsRecorded(t *testing.T) {
	for _, query := range []string{"", "?stream=true", "?stream=true&starting_after=7"} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
			w, dir := openRecord(t, record.Options{})
			up := httptest.NewServer(&keeper{})
			t.Cleanup(up.Close)
			g := inFront(t, up.URL, gateway.Config{Recorder: w, Default: routing.Route{Display: display}})
			asked := httptest.NewRequest("GET", "http://localhost/v1/responses/resp_1"+query, nil)
			g.ServeHTTP(httptest.NewRecorder(), asked)
			e := only(t, w, dir)
			if rawOf(e) != keptText || e.Outcome != "answered" || e.Model != "kimi-vl-a3b-thinking" || len(e.Messages) != 0 {
				t.Errorf("%q %s: raw %q, outcome %q, model %q, %d messages", query, display, rawOf(e), e.Outcome, e.Model, len(e.Messages))
			}
		}
	}
}
