package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/console/talk"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// A page of a conversation has at most 40 messages of a branch: those with the one that was
// asked for, or the last ones. Earlier and Later lead to the pages beside it.
func TestThreads(t *testing.T) {
	for _, n := range []int{1, 39, 40, 41, 79, 80, 81, 130} {
		f := &conversation.File{}
		for i := range n {
			f.Messages = append(f.Messages, conversation.Message{Role: "user", Text: fmt.Sprint(i + 1), Parent: i})
		}
		for at := 0; at <= n; at++ {
			from, to := max(0, n-40), n
			if at > 0 && at <= from {
				from = (at - 1) / 40 * 40
				to = from + 40
			}
			got := threadOf("id", f, at)
			later := to + 1
			if to == n {
				later = 0
			}
			if got.Leaf != n || got.All != n || got.Earlier != from || got.Later != later || len(got.Messages) != to-from {
				t.Fatalf("at %d of %d: %d messages, earlier %d, later %d, leaf %d; want %d to %d", at, n, len(got.Messages), got.Earlier, got.Later, got.Leaf, from+1, to)
			}
			for i, m := range got.Messages {
				if m.N != from+i+1 || m.Parent != from+i || m.Text != fmt.Sprint(m.N) || m.Last != (m.N == n) || m.Beside != nil {
					t.Fatalf("at %d of %d: message %d is %+v", at, n, from+i+1, m)
				}
			}
		}
	}
}

// Of the texts of a message so much is shown as there is room for, and 2 KiB of each in any
// case. One that is cut says so.
func TestBoundedMessages(t *testing.T) {
	for _, c := range []struct {
		left, text, file int // bytes
		cut              bool
		wantText         int
		wantFile, rest   int
	}{
		{5000, 3000, 2000, false, 3000, 2000, 0}, {5000, 3000, 2001, false, 3000, 2001, -1}, {5000, 3000, 2049, true, 3000, 2048, -48},
		{5000, 5001, 2048, true, 5000, 2048, -2048}, {0, 2048, 2048, false, 2048, 2048, -4096}, {-1, 2049, 1, true, 2048, 1, -2050},
	} {
		m := talkMessage{Text: strings.Repeat("x", c.text), Files: []conversation.Attachment{{Text: strings.Repeat("y", c.file)}}}
		if rest := m.bound(c.left); rest != c.rest || m.Cut != c.cut || len(m.Text) != c.wantText || len(m.Files[0].Text) != c.wantFile {
			t.Errorf("%+v: %d and %d bytes, cut %v, %d left", c, len(m.Text), len(m.Files[0].Text), m.Cut, rest)
		}
	}
}

// After a login, only a page below the console is opened.
func TestNextPage(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for next, want := range map[string]string{
		"": "./", "exchanges": "./exchanges", "exchanges/1?text=a:b%20c&u=http://h/..#x": "./exchanges/1?text=a:b%20c&u=http://h/..#x", long: "./" + long, long + "x": "./",
		"/exchanges": "./", "//h": "./", `\h`: "./", "http://h": "./", "a#b": "./", "../x": "./", "a/..": "./", "a b": "./", "a?b c": "./", "a\x7f": "./", "a~!": "./a~!", "é": "./",
	} {
		if got := nextPage(next); got != want {
			t.Errorf("%.40q leads to %.40q, want %.40q", next, got, want)
		}
	}
}

// A page that another site leads to by a link is opened, and nothing else is.
func TestFollowed(t *testing.T) {
	for change, want := range map[string]string{"": "", "Sec-Fetch-Mode=cors": "cross-site", "Sec-Fetch-Dest=iframe": "cross-site", "Origin=http://h": "cross-site", "POST": "cross-site"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
		if name, value, ok := strings.Cut(change, "="); ok {
			r.Header.Set(name, value)
		} else if change != "" {
			r.Method = change
		}
		if got := followed(r).Header.Get("Sec-Fetch-Site"); got != want || r.Header.Get("Sec-Fetch-Site") != "cross-site" {
			t.Errorf("%q: the site is %q, want %q", change, got, want)
		}
	}
	if up := rootOf("/") + "," + rootOf("/a") + "," + rootOf("/a/b") + "," + rootOf("/a/b/c"); up != ",,../,../../" {
		t.Error(up)
	}
}

// oneEvent opens a record that holds one event.
func oneEvent(t *testing.T) (r *sidecar.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(t.Context(), record.Event{Payload: record.RunStart{Agent: "a"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = sidecar.Open(dir, record.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// While a record is verified, the page says so, and no second verification begins.
func TestVerifiesOnce(t *testing.T) {
	_, dir := oneEvent(t)
	began, ended := time.Unix(100, 0), time.Unix(200, 0)
	clock := make(chan time.Time, 1)
	clock <- began
	now := func() time.Time { return <-clock }
	var v verifier
	v.start(dir, now)
	v.start(dir, now) // which would wait for the clock
	if got := v.state(); !got.Running || !got.Began.Equal(began) {
		t.Errorf("under way: %+v", got)
	}
	clock <- ended
	waiting.Until(t, "the end of the verification", func() bool { return !v.state().Running })
	if got := v.state(); !got.Began.Equal(began) || !got.Ended.Equal(ended) || got.Event != 1 || got.Events != 1 || got.Fault != "" || len(got.Findings) > 0 {
		t.Errorf("after it: %+v", got)
	}
}

// The page counts the files of a record by their endings. It says what is wrong with a folder
// that cannot be read.
func TestRecordHealth(t *testing.T) {
	r, dir := oneEvent(t)
	for _, name := range []string{"1.pruned", "2.pruned", "x.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Config{Record: r, Dir: dir})
	defer c.Close()
	h := c.recordHealth()
	if h.Segments != 1 || h.Pruned != 2 || h.Bytes < 100 || h.Head != 1 || len(h.Digest) != 64 || h.Fault != "" {
		t.Errorf("%+v", h)
	}
	c.config.Dir = filepath.Join(dir, "x.txt")
	if h := c.recordHealth(); h.Fault == "" || h.Pruned != 0 {
		t.Errorf("a file is a record: %+v", h)
	}
}

// The page of health lists at most 300 counters and 200 learned starts, and says how many
// more there are.
func TestHealthBounds(t *testing.T) {
	for _, c := range []struct{ n, counters, starts int }{{200, 200, 200}, {201, 201, 200}, {300, 300, 200}, {302, 300, 200}} {
		k := New(Config{Health: &Health{
			Upstreams: func() []Upstream { return nil }, Settings: func() string { return "" },
			Counters: func() []Counter { return make([]Counter, c.n) }, Starts: func() []LearnedStart { return make([]LearnedStart, c.n) },
		}})
		a, err := health(k, httptest.NewRequest("GET", "/health", nil))
		k.Close()
		d, ok := a.Data.(healthData)
		if err != nil || !ok || len(d.Counters) != c.counters || d.MoreCounters != c.n-c.counters || len(d.Starts) != c.starts || d.MoreStarts != c.n-c.starts || d.Upstream != "" {
			t.Errorf("of %d: %d counters and %d more, %d starts and %d more, %v", c.n, len(d.Counters), d.MoreCounters, len(d.Starts), d.MoreStarts, err)
		}
	}
}

// A page learns of the newest event, in place of one that it did not take. The last page that
// leaves ends the look-out, and the end of the console ends each page.
func TestHeads(t *testing.T) {
	r, _ := oneEvent(t)
	synctest.Test(t, func(t *testing.T) {
		k := New(Config{Record: r})
		first, _ := k.live.join(false)
		second, _ := k.live.join(false)
		k.live.tell(news{head: 7}, true)
		k.live.tell(news{head: 8}, true)
		if a, b := <-first, <-second; a.head != 8 || b.head != 8 {
			t.Errorf("the pages learn of %d and %d", a.head, b.head)
		}
		stop := k.live.stop
		k.live.leave(second)
		select {
		case <-stop:
			t.Error("the look-out ended while a page follows")
		default:
		}
		k.live.leave(first)
		<-stop
		k.Close()
		k.live.serve(httptest.NewRecorder(), httptest.NewRequest("GET", "/live", nil), false, func() bool {
			t.Error("a page goes on after the end of the console")
			return false
		})
	})
}

// A block that is too long ends between two characters, or where it must if it is not UTF-8.
// After so many bytes that are rendered, the rest is plain.
func TestLongBlocks(t *testing.T) {
	for begin := range 5 {
		b := blocksOf(strings.Repeat("x", begin) + strings.Repeat("\U0001F5FC", maxBlock/4+8))
		if n := len(b[0].Text); n > maxBlock || n <= maxBlock-4 || !utf8.ValidString(b[0].Text) || !b[0].Plain {
			t.Errorf("after %d bytes, a block of %d bytes", begin, n)
		}
	}
	if b := blocksOf(strings.Repeat("\x80", maxBlock+1)); len(b[0].Text) != maxBlock || len(b) != 2 {
		t.Errorf("%d blocks, the first of %d bytes", len(b), len(b[0].Text))
	}
	for n, plain := range map[int]bool{10: false, 11: true} {
		c := cutter{open: make([]byte, n), total: maxRendered - 10}
		c.cut(n, func(b block) {
			if b.Plain != plain || len(b.Text) != n {
				t.Errorf("a block of %d bytes with room for 10: %d bytes, plain %v", n, len(b.Text), b.Plain)
			}
		})
	}
}

// A line that would nest blocks or emphasis deeply is not rendered.
func TestNests(t *testing.T) {
	for _, c := range []struct {
		line string
		n    int // how many may be
	}{{">", 32}, {"> ", 32}, {"1. ", 16}, {"- ", 32}, {"[", 1280}, {"![", 640}, {"a*", 1280}, {"a_~`<", 320}, {" ", 128}, {"\t", 128}} {
		for _, more := range []int{0, 1} {
			if text := "x\n" + strings.Repeat(c.line, c.n+more) + "x\nx"; nests(text) != (more > 0) || (markdown(record.Text(text)) == "") != (more > 0) {
				t.Errorf("%d times %q nests: %v", c.n+more, c.line, nests(text))
			}
		}
	}
	for _, line := range []string{"-", "*", "- ", "_ ", "1. 2.", "=", "> x"} {
		if nests(strings.Repeat(line, 8)) || line != "> x" && nests(strings.Repeat(line, 100)) {
			t.Errorf("a line of %q nests", line)
		}
	}
}

// A question is checked before anything is kept: each bound holds at its edge.
func TestCheckedQuestions(t *testing.T) {
	file := func(n int) []conversation.Attachment {
		return []conversation.Attachment{{Name: " a ", Text: strings.Repeat("x", n)}}
	}
	for name, c := range map[string]struct {
		ask sent
		ok  bool
	}{
		"least":          {sent{Model: "m", Text: "x"}, true},
		"file alone":     {sent{Model: "m", Files: file(maxAttached)}, true},
		"long file":      {sent{Model: "m", Files: file(maxAttached + 1)}, false},
		"text":           {sent{Model: "m", Text: strings.Repeat("x", maxMessage)}, true},
		"long text":      {sent{Model: "m", Text: strings.Repeat("x", maxMessage+1)}, false},
		"nothing":        {sent{Model: "m", Text: " \n"}, false},
		"again":          {sent{Model: "m", Again: true}, true},
		"model":          {sent{Model: strings.Repeat("m", maxModel), Text: "x"}, true},
		"long model":     {sent{Model: strings.Repeat("m", maxModel+1), Text: "x"}, false},
		"no model":       {sent{Text: "x"}, false},
		"no UTF-8":       {sent{Model: "m\xff", Text: "x"}, false},
		"thinks":         {sent{Model: "m", Text: "x", Think: talk.On}, true},
		"does not think": {sent{Model: "m", Text: "x", Think: talk.Off}, true},
		"other thinking": {sent{Model: "m", Text: "x", Think: "x"}, false},
		"files":          {sent{Model: "m", Files: slices.Repeat(file(1), maxFiles)}, true},
		"more files":     {sent{Model: "m", Files: slices.Repeat(file(1), maxFiles+1)}, false},
		"not a text":     {sent{Model: "m", Files: []conversation.Attachment{{Text: "a\x00"}}}, false},
		"not UTF-8":      {sent{Model: "m", Files: []conversation.Attachment{{Text: "a\xff"}}}, false},
	} {
		if err := c.ask.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.ask.Files) > 0 && c.ok && c.ask.Files[0].Name != "a" {
			t.Errorf("%s: a file is named %q", name, c.ask.Files[0].Name)
		}
	}
}

// Files of style and script are kept by a browser as long as their version is that of the
// program.
func TestAssets(t *testing.T) {
	k := New(Config{})
	defer k.Close()
	for path, want := range map[string]string{
		"style.css?v=" + k.look().version: "text/css; charset=utf-8 private, max-age=31536000, immutable", "console.js?v=" + k.look().version: "text/javascript; charset=utf-8 private, max-age=31536000, immutable",
		"style.css": "text/css; charset=utf-8 no-store", "console.js?v=x": "text/javascript; charset=utf-8 no-store", "none.js": "404 text/plain; charset=utf-8 no-store", "none.css": "404 text/plain; charset=utf-8 no-store",
	} {
		w := httptest.NewRecorder()
		k.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/assets/"+path, nil))
		got := w.Header().Get("Content-Type") + " " + w.Header().Get("Cache-Control")
		if w.Code != 200 {
			got = fmt.Sprint(w.Code, " ", got)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// Requests without a body cost no place, and what is wrong with a body is said in the form
// that the client sends.
func TestRefusedBodies(t *testing.T) {
	for status, want := range map[int]string{503: "busy", 408: "took too long", 413: "larger than 99 bytes", 400: "cannot be read"} {
		for _, kind := range []string{"application/json; charset=utf-8", "text/plain", ""} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil)
			r.Header.Set("Content-Type", kind)
			refuseBody(w, r, status, 99)
			isJSON := strings.HasPrefix(w.Body.String(), "{")
			if w.Code != status || isJSON != strings.HasPrefix(kind, "application/json") || status != 503 && !strings.Contains(w.Body.String(), want) || (w.Header().Get("Retry-After") == "5") != (status == 503) {
				t.Errorf("%d, %q: %d %v %s", status, kind, w.Code, w.Header(), w.Body)
			}
		}
	}
}

// A failed audit, a sealed record and a lack of files each have a status of their own. The
// errors of the program are in JSON and in the log; a page has those that are for people.
func TestFailures(t *testing.T) {
	k := New(Config{Tokens: []access.Token{{Name: "a", Secret: "s"}}})
	defer k.Close()
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{errBusy, 503, "error.busy"}, {conversation.ErrNotFound, 404, "error.talk"}, {conversation.ErrUnreachable, 503, "error.store"}, {errNoTalk, 403, "error.notalk"}, {errNoOperator, 403, "error.nooperator"}, {errLogins, 503, "error.logins"}, {BadRequest{errors.New("x")}, 400, "error.request"},
		{record.ErrSealed, 403, "error.sealed"}, {errUnaudited, 503, "error.audit"}, {os.ErrNotExist, 500, "error.record"}, {os.ErrPermission, 500, "error.record"}, {errors.New("x"), 500, "error.failed"}, {errNoPage, 404, "error.missing"},
	} {
		w := httptest.NewRecorder()
		k.failed(w, httptest.NewRequest("GET", "/x", nil), "", fmt.Errorf("what: %w", c.err))
		page := w.Body.String()
		if says := strings.NewReplacer("'", "&#39;", `"`, "&#34;").Replace(Word(c.says)); w.Code != c.status || !strings.Contains(page, says) || strings.Contains(page, "what: ") != forPeople[c.says] {
			t.Errorf("%v: %d %s", c.err, w.Code, page)
		}
	}
}

// Who looks at a page is written with the address of the connection.
func TestAddresses(t *testing.T) {
	for from, want := range map[string]string{"1.2.3.4:5": "1.2.3.4", "[::1]:5": "::1", "@": "@"} {
		r := httptest.NewRequest("GET", "/", nil)
		if r.RemoteAddr = from; addressOf(r) != want {
			t.Errorf("%s is %s", from, addressOf(r))
		}
	}
	if got := withQuery("a", url.Values{"b": {"c"}}); got != "a?b=c" {
		t.Error(got)
	}
}
