package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

// views returns what a record says of who looked at what.
func views(t *testing.T, dir string) (list []string) {
	t.Helper()
	for e, err := range consoletest.Store(t, dir).Reader().Events(record.Query{Types: []record.Type{record.TypeAudit}}) {
		if err != nil {
			t.Fatal(err)
		}
		a := e.Payload.(record.Audit)
		list = append(list, fmt.Sprintln(a.Action, a.Who, a.From, a.Page, a.Record != "", a.Events))
	}
	return list
}

// TestAudit: whoever looks at an exchange, in any form, is in the record before the
// page is sent, by a session, by a token and without one. Lists and what is not found
// show no thoughts. A hit in a thought does.
func TestAudit(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		w, dir := consoletest.Open(t)
		for i := range 3 {
			consoletest.Put(t, w, consoletest.Exchange("m", "p", fmt.Sprintf("<think>needle %d</think>answer", i)))
		}
		var seen []string // how many views were in the record when a page was sent
		c := console.Config{Record: consoletest.Store(t, dir), Audit: w, AuditApart: !guarded, Name: "other", Dir: dir}
		header, who := []string{}, ""
		if guarded {
			c.Tokens = []access.Token{{Name: "ann", Secret: "the-secret-of-the-test"}}
			header, who = []string{"Authorization", "Bearer the-secret-of-the-test"}, "ann"
		}
		base := serve(t, c, "/")
		var want []string
		look := func(page, action string, header []string, events ...uint64) {
			t.Helper()
			resp, _ := get(t, base+page, header...)
			path, _, _ := strings.Cut(page, "?")
			if action != "" {
				want = append(want, fmt.Sprintln(action, who, "127.0.0.1", "/"+path, !guarded, events))
			}
			seen = views(t, dir)
			if !slices.Equal(seen, want) {
				t.Errorf("guarded %v, after %s (%s):\n%swant\n%s", guarded, page, resp.Status, seen, want)
				want = slices.Clone(seen)
			}
		}
		for _, form := range []string{"", "?format=json", "?view=compare", "?view=request", "?view=curl", "/bytes", "/bytes?format=json", "/raw"} {
			look("exchanges/2"+form, "view", header, 2)
		}
		look("exchanges/1/export", "export", header, 1)
		look("search?q=needle", "search", header, 1, 2, 3)
		for _, page := range []string{"exchanges", "exchanges?format=json", "exchanges/77", "exchanges/x", "exchanges/find?id=none", "assets/style.css", "search?q=answer", "runs"} {
			look(page, "", header)
		}
		resp, _ := get(t, base+"search/stream?q=needle", header...)
		if resp.StatusCode != http.StatusOK || len(views(t, dir)) != len(want)+3 {
			t.Errorf("the stream of a search: %s, %d views", resp.Status, len(views(t, dir))-len(want))
		}
		want = views(t, dir)
		if guarded {
			look("exchanges/2", "", nil) // asks for the token
			login, err := stay.PostForm(base+"login", url.Values{"token": {"the-secret-of-the-test"}})
			if err != nil || len(login.Cookies()) != 1 {
				t.Fatal(err, login.Cookies())
			}
			cookie := login.Cookies()[0]
			look("exchanges/2", "view", []string{"Cookie", cookie.Name + "=" + cookie.Value}, 2)
			look("exchanges/2", "", []string{"Cookie", cookie.Name + "=" + cookie.Value + "AA"})
		}
		w.Close()
	}
}

// A broken auditor cannot record anything.
type brokenAuditor struct{}

func (brokenAuditor) Append(context.Context, record.Event) (record.Receipt, error) {
	return record.Receipt{}, errors.New("the disk is full")
}

// TestAuditFails: a view that cannot be recorded is not shown.
func TestAuditFails(t *testing.T) {
	w, dir := consoletest.Open(t)
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "<think>needle</think>answer"))
	w.Close()
	base := serve(t, console.Config{Record: consoletest.Store(t, dir), Audit: brokenAuditor{}, Dir: dir}, "/")
	for _, page := range []string{"exchanges/1", "exchanges/1?format=json", "exchanges/1/bytes", "exchanges/1/raw", "exchanges/1/export", "search?q=needle", "search/stream?q=needle"} {
		resp, body := get(t, base+page)
		if stream := strings.HasPrefix(page, "search/stream"); resp.StatusCode != http.StatusServiceUnavailable && !stream || strings.Contains(body, "<think>") || strings.Contains(body, "answer</") || !strings.Contains(body, "cannot be recorded") {
			t.Errorf("%s: %s %.300s", page, resp.Status, body)
		}
	}
	if resp, _ := get(t, base+"exchanges"); resp.StatusCode != http.StatusOK {
		t.Errorf("the list: %s", resp.Status)
	}
}

// TestAuditOfChat: the thought of a reply that the chat shows is a view, too.
func TestAuditOfChat(t *testing.T) {
	w, dir := consoletest.Open(t)
	x := consoletest.Exchange("m", "p", "<think>needle</think>answer")
	x.ResponseID = "chatcmpl-1"
	consoletest.Put(t, w, x)
	c := chatScripted(t)
	c.Record, c.Audit, c.Dir = consoletest.Store(t, dir), w, dir
	base := serve(t, c, "/")
	for _, id := range []string{"chatcmpl-1", "chatcmpl-2"} {
		_, body := get(t, base+"chat/talk/thought?response="+id)
		if shown := strings.Contains(body, "needle"); shown != (id == "chatcmpl-1") || len(views(t, dir)) != 1 {
			t.Errorf("%s: %s\n%s", id, body, views(t, dir))
		}
	}
}
