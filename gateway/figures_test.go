package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/record"
)

// figuresOf reads a line of figures.
func figuresOf(line string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(line, "; ") {
		name, value, _ := strings.Cut(part, "=")
		all[name] = value
	}
	return all
}

// askTrailers sends a request of a client that reads trailers, or does not.
func askTrailers(g http.Handler, path, body, te string) *http.Response {
	r := httptest.NewRequest("POST", addressed(path, body), strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	if te != "" {
		r.Header.Set("TE", te)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Result()
}

// TestFigures: a whole reply has its figures in a header, and a stream in a trailer, if the
// client reads those, over every API and display. What reasoning is hidden is not counted.
func TestFigures(t *testing.T) {
	const raw = "<think>seven..</think>three"
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			for _, stream := range []bool{true, false} {
				where := fmt.Sprintf("%s stream=%v", display, stream)
				v := converse(t, s, gateway.Config{Default: routing.Route{Display: display}})
				v.raw, v.cut = raw, byteByByte(raw)
				resp := askTrailers(v, s.path, v.request("m", stream, ""), "gzip, Trailers")
				line := resp.Header.Get("Sotto-Figures")
				if stream {
					if line != "" {
						t.Errorf("%s: a header before the end: %q", where, line)
					}
					line = resp.Trailer.Get("Sotto-Figures")
				}
				got := figuresOf(line)
				want := map[string]string{"reasoning": "7", "text": "5", "share": "0.583", "corrected": "7", "history": "first"}
				switch display {
				case routing.DisplayKeep:
					delete(want, "corrected")
					want["passed"] = "7"
				case routing.DisplayHide:
					want = map[string]string{"text": "5", "history": "first"}
				}
				for name, value := range want {
					if got[name] != value {
						t.Errorf("%s: %s is %q, want %q: %s", where, name, got[name], value, line)
					}
				}
				for _, name := range []string{"reasoning", "share", "corrected", "passed", "first-thought-ms"} {
					if _, ok := got[name]; ok && display == routing.DisplayHide || name == "first-thought-ms" && ok != (stream && display != routing.DisplayHide) {
						t.Errorf("%s: %s is there, %v: %s", where, name, ok, line)
					}
				}
				if stream {
					for _, te := range []string{"", "gzip"} {
						if resp := askTrailers(v, s.path, v.request("m", true, ""), te); len(resp.Trailer) > 0 || resp.Header.Get("Trailer") != "" {
							t.Errorf("%s: TE %q: trailers %v", where, te, resp.Trailer)
						}
					}
				}
			}
		}
	})
}

// TestFiguresOverHTTP: the trailer reaches a client over a connection, alone where
// reasoning is hidden, and beside the upstream's elsewhere. A stream that breaks off has the
// figures of what came.
func TestFiguresOverHTTP(t *testing.T) {
	s := speakerOf(t, "openai.chat")
	var breaks atomic.Bool
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", s.kind(true))
		io.WriteString(w, s.stream([]string{"<think>a</think>b"}, sotto.EndStopped)[:200])
		http.NewResponseController(w).Flush()
		if breaks.Load() {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, s.stream([]string{"<think>a</think>b"}, sotto.EndStopped)[200:])
		w.Header().Set(http.TrailerPrefix+"X-Request-Id", "late")
		w.Header().Set(http.TrailerPrefix+"Sotto-Figures", "forged")
	})
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
		base := start(t, upstream, gateway.Config{Default: routing.Route{Display: display}})
		for _, broken := range []bool{false, true} {
			breaks.Store(broken)
			r, err := http.NewRequest("POST", base+s.path, strings.NewReader((&conversation{s: s}).request("m", true, "")))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("TE", "trailers")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			figures, late := resp.Trailer.Get("Sotto-Figures"), resp.Trailer.Get("X-Request-Id")
			want := map[bool]string{false: "1", true: "0"}[broken]
			if err != nil || figuresOf(figures)["text"] != want {
				t.Errorf("%s, broken %v: figures %q, %v", display, broken, figures, err)
			}
			if !broken && (late == "") != (display == routing.DisplayHide) {
				t.Errorf("%s: the upstream's trailer is %q", display, late)
			}
		}
	}
}

// TestLeaksByRoute: leaks are counted by the route that the request took, by its name or
// its index, and the record has them and what became of them, with what was done to earlier
// reasoning.
func TestLeaksByRoute(t *testing.T) {
	s := speakerOf(t, "openai.chat")
	w, dir := openRecord(t, record.Options{})
	v := converse(t, s, gateway.Config{Recorder: w, Routes: []routing.Route{
		{Name: "small-models", Models: []string{"small"}, History: "strip"}, {Models: []string{"kept"}, Display: routing.DisplayKeep},
		{Name: "t", Models: []string{"tags"}, Display: routing.DisplayTags}, {Name: "h", Models: []string{"hidden"}, Display: routing.DisplayHide}, {Name: "p", Models: []string{"promoted"}, OnNoAnswer: routing.NoAnswerPromote},
	}})
	for _, model := range []string{"small", "kept", "other", "tags", "hidden", "promoted"} {
		if v.raw = "<think>seven..</think>three"; model == "promoted" {
			v.raw = "<think>seven..</think>"
		}
		ask(v, s.path, v.request(model, false, ""))
	}
	v.raw = "three"
	ask(v, s.path, `{"model":"small","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"<think>b</think>c"},{"role":"user","content":"d"}]}`)
	page := metricsOf(v)
	for _, want := range []string{`{result="corrected",route="small-models"} 1`, `{result="passed",route="routes[1]"} 1`, `{result="corrected",route="default"} 1`} {
		if !strings.Contains(page, "sotto_route_leaks_total"+want) {
			t.Errorf("not counted: %s", want)
		}
	}
	var got []string
	for _, e := range exchanges(t, w, dir) {
		got = append(got, fmt.Sprintf("%s %s %d %s", e.Route, e.Leak, e.LeakBytes, e.HistoryDone))
	}
	if want := "small-models field 7 |routes[1] passed 7 | field 7 |t text 7 |h hidden 7 |p promoted 7 |small-models  0 removed"; strings.Join(got, "|") != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	for _, name := range []string{"a b", "-a", strings.Repeat("a", 65), "routes[1]", "a\n"} {
		c := gateway.Config{Upstream: &url.URL{Scheme: "http", Host: "u"}, Routes: []routing.Route{{Name: name}}}
		if all := c.Check(); len(all) != 1 || !strings.Contains(all[0].Error(), "routes[0].name: ") {
			t.Errorf("%q: %v", name, all)
		}
	}
}
