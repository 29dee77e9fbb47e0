package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

// JSON that no reader must walk: nested without end, nested beyond the bound and
// valid, and with too many members. A parser that recurses into the first
// overflows its stack, which ends the process and this whole test binary with it.
var hostileJSON = []struct{ name, body, says string }{
	{"open lists", strings.Repeat("[", 6<<20), "nests deeper than 1000 levels at byte 1000"},
	{"open objects", strings.Repeat(`{"a":`, 6<<20/5), "nests deeper than 1000 levels at byte 5000"},
	{"valid and deep", `{"model":"m","a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "nests deeper than 1000 levels at byte 1016"},
	{"many members", `{"messages":[` + strings.Repeat("{},", 1_000_000) + `{}]}`, "has more than 1000000 members and elements at byte"},
}

// A request's body over the bounds is refused in the API's own JSON, and never
// reaches the upstream; one at the bound does. Other routes pass bodies unread.
func TestHostileRequestBodies(t *testing.T) {
	var reached atomic.Int32
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusTeapot)
	}), gateway.Config{})
	deepest := `{"messages":[],"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`
	each(t, func(t *testing.T, s speaker) {
		for _, c := range hostileJSON {
			resp, body := post(t, base+s.path, c.body, nil)
			if !strings.Contains(string(body), "the request's body "+c.says) {
				t.Errorf("%s: %d %.300s", c.name, resp.StatusCode, body)
			}
			refusedWith(t, s, resp, body, http.StatusBadRequest)
		}
		if n := reached.Load(); n != 0 {
			t.Errorf("%d requests reached the upstream", n)
		}
		if resp, body := post(t, base+s.path, deepest, nil); resp.StatusCode != http.StatusTeapot {
			t.Errorf("at the bound: %d %s", resp.StatusCode, body)
		}
		reached.Store(0)
	})
	for _, path := range []string{"/v1/embeddings", "/api/show", "/api/embed", "/v1/messages/count_tokens", "/healthz"} {
		for _, c := range hostileJSON {
			if resp, body := post(t, base+path, c.body, nil); resp.StatusCode != http.StatusTeapot {
				t.Errorf("%s: %s: %d %.300s", path, c.name, resp.StatusCode, body)
			}
		}
	}
}

// A whole reply over the bounds fails, and the gateway serves on; as it is, it
// passes where replies stay as they are.
func TestHostileWholeReplies(t *testing.T) {
	replies := []struct{ name, body string }{
		{"open lists", strings.Repeat("[", 8<<20)},
		{"open objects", strings.Repeat(`{"choices":`, 8<<20/11)},
		{"valid and deep", `{"choices":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`},
		{"many members", `{"choices":[` + strings.Repeat("0,", 4_000_000) + `0]}`},
	}
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayKeep} {
		var next atomic.Int32
		base := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, replies[next.Load()].body)
		}), gateway.Config{Default: routing.Route{Display: display}})
		each(t, func(t *testing.T, s speaker) {
			for i, c := range replies {
				next.Store(int32(i))
				if (display != routing.DisplayField || effort.Brief()) && len(c.body) > 1<<20 {
					continue // one display for the large ones is enough
				}
				resp, body := post(t, base+s.path, chatBody("m", false), nil)
				switch {
				case s.codec.Framing() == wire.NDJSON: // read as a stream of one frame
					if !strings.Contains(string(body), `"error":"`) || len(body) > 1000 {
						t.Errorf("%s, %s: %d %.300s", c.name, display, resp.StatusCode, body)
					}
				case display == routing.DisplayKeep:
					if string(body) != c.body {
						t.Errorf("%s, kept: %d, %d bytes of %d", c.name, resp.StatusCode, len(body), len(c.body))
					}
				default:
					refusedWith(t, s, resp, body, http.StatusBadGateway)
				}
			}
		})
	}
}

// A frame over the bounds ends its stream as an error that the client sees. What
// came before it stays.
func TestHostileFrames(t *testing.T) {
	frames := []struct{ name, data string }{
		{"open objects", strings.Repeat(`{"a":`, 3<<20/5)},
		{"valid and deep", `{"type":"response.created","response":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`},
		{"many members", `{"type":"response.created","response":[` + strings.Repeat("0,", 1_000_000) + `0]}`},
	}
	each(t, func(t *testing.T, s speaker) {
		for _, c := range frames {
			if effort.Brief() && len(c.data) > 1<<20 {
				continue
			}
			base := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", s.kind(true))
				_, _ = io.WriteString(w, s.open+s.say("Hello")+framed(s, c.data)+s.say(" there"))
			}), gateway.Config{})
			resp, body := post(t, base+s.path, chatBody("m", true), nil)
			if !strings.Contains(string(body), "Hello") || !strings.Contains(string(body), "broken JSON: a frame ") {
				t.Errorf("%s: %d %.500s", c.name, resp.StatusCode, body)
			}
		}
	})
}

// framed is data as a frame of a speaker's API.
func framed(s speaker, data string) string {
	if s.codec.Framing() == wire.NDJSON {
		return data + "\n"
	}
	return fmt.Sprintf("data: %s\n\n", data)
}
