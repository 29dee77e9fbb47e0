package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// The comparison of two readings has the lines in which they differ. Texts that are too long
// are not compared.
func TestReadingsDiff(t *testing.T) {
	of := func(before, after string) string {
		x := &view.Exchange{Replies: []view.Reply{{Answer: view.Excerpt{Text: "unread"}}, {Recorded: &view.Excerpt{Text: record.Text(before)}, Answer: view.Excerpt{Text: record.Text(after)}}}}
		return readingsDiff(x)
	}
	long := strings.Repeat("x", maxDiff)
	for _, c := range []struct{ before, after, want string }{
		{"a", "a", ""}, {"a\nb", "a\nc", "--- " + Word("diff.recorded") + "\n+++ " + Word("diff.reread") + "\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"}, {long + "x", long + "x", ""}, {long + "x", "", Word("diff.long")}, {"", long + "x", Word("diff.long")},
	} {
		if got := of(c.before, c.after); got != c.want {
			t.Errorf("%.20q and %.20q: %.200q, want %.200q", c.before, c.after, got, c.want)
		}
	}
	if got := of(long, ""); !strings.HasPrefix(got, "---") {
		t.Errorf("of %d bytes: %.100q", maxDiff, got)
	}
}

// A search waits five seconds for a place, and as long as its reader does.
func TestSearchesWait(t *testing.T) {
	r, _ := oneEvent(t)
	synctest.Test(t, func(t *testing.T) {
		k := New(Config{Record: r})
		defer k.Close()
		ask := httptest.NewRequest("GET", "/search?q=x", nil)
		for range maxSearches {
			if !k.searching(ask) {
				t.Fatal("no place is free")
			}
		}
		began := time.Now()
		if _, err := search(k, ask); !errors.Is(err, errBusy) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if began = time.Now(); k.searching(ask.WithContext(gone)) || time.Since(began) != 0 {
			t.Errorf("a reader who is gone waited %v", time.Since(began))
		}
		k.searched()
		if !k.searching(ask) {
			t.Error("the place that was given back is not free")
		}
	})
}

// Replies under way are bounded, and a conversation that cannot be written is said to be so.
func TestBusyChat(t *testing.T) {
	k := New(Config{Chat: &Chat{Gateway: http.NotFoundHandler(), Kept: &conversation.Store{Folder: filepath.Join(t.TempDir(), "c")}}})
	defer k.Close()
	for range maxTalksEach {
		if _, err := k.talks.slots.Take(callerOf(viewer{})); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	k.chatSend(w, viewer{Talks: true}.as(httptest.NewRequest("POST", "/chat/send", strings.NewReader(`{"id":"new","model":"m","text":"x"}`))))
	if w.Code != 503 || w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), "8 of your requests are running") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if keys, err := k.config.Chat.Kept.Keys(keeper(viewer{})); err != nil || len(keys) > 0 {
		t.Errorf("a message was kept: %v, %v", keys, err)
	}
	for v, want := range map[viewer]string{{}: "console/ console", {Name: "ann"}: "console/ann console.ann"} {
		if got := keeper(v) + " " + callerOf(v); got != want {
			t.Errorf("%+v is %s, want %s", v, got, want)
		}
	}
}

// The list of conversations has 30 on a page, the last one first, and leads to the rest, also
// in a search.
func TestTalkPages(t *testing.T) {
	k := New(Config{Chat: &Chat{Gateway: http.NotFoundHandler(), Kept: &conversation.Store{Folder: filepath.Join(t.TempDir(), "c")}}})
	defer k.Close()
	for i := range 32 {
		m := conversation.Message{Role: "user", Text: fmt.Sprintf("number %d", i)}
		if _, err := k.config.Chat.Kept.Create(keeper(viewer{}), talkAgent, conversation.Change{Add: []conversation.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		query            string
		rows, next       int
		older, something string
	}{
		{"", 30, 30, "from=30", ""}, {"from=30", 2, 0, "", ""}, {"from=29", 3, 0, "", ""}, {"from=x", 30, 30, "from=30", ""}, {"from=-3", 30, 30, "from=30", ""}, {"from=99", 0, 0, "", ""},
		{"q=NUMBER", 30, 30, "from=30&q=NUMBER", "number"}, {"q=+number+&from=30", 2, 0, "", "number"}, {"q=none", 0, 0, "", ""}, {"q=" + strings.Repeat("x", 257), 0, 0, "", ""},
	} {
		l, err := k.talkList(httptest.NewRequest("GET", "/chat?"+c.query, nil))
		if err != nil || len(l.Rows) != c.rows || l.Next != c.next || l.Older != c.older || l.All != 32 || (l.Searched > 0) != strings.Contains(c.query, "q=") || len(l.Query) > maxQuery {
			t.Fatalf("%.20s: %d rows, next %d, older %q, of %d, %d bytes searched, %v", c.query, len(l.Rows), l.Next, l.Older, l.All, l.Searched, err)
		}
		for _, row := range l.Rows {
			if (row.Message == 1) != (c.something != "") || !strings.Contains(row.Found, c.something) || !strings.HasPrefix(row.Title, "number") {
				t.Fatalf("%s: %+v", c.query, row)
			}
		}
	}
	for query, to := range map[string]string{"": "chat/new", "q=a+b": "chat/new?q=a+b"} {
		if a, err := chatHome(k, httptest.NewRequest("GET", "/chat?"+query, nil)); err != nil || a.Redirect != to {
			t.Errorf("%s leads to %s, %v", query, a.Redirect, err)
		}
	}
}

// A console serves a listener until its context ends, and a page that follows the record ends
// with it. A listener that fails is an error.
func TestServe(t *testing.T) {
	r, _ := oneEvent(t)
	var log bytes.Buffer
	k := New(Config{Record: r, Log: slog.New(slog.NewTextHandler(&log, nil))})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Serve(ctx, l) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%v", resp.Header)
	}
	cancel()
	waiting.For(t, "the end of the console", func() error {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return nil
		default:
			return errors.New("it serves")
		}
	})
	if err := k.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "the console: ") {
		t.Errorf("on a closed listener: %v", err)
	}
	k.failed(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil), "", fs.ErrPermission)
	k.failed(httptest.NewRecorder(), httptest.NewRequest("GET", "/y", nil), "", errNoPage)
	if got := log.String(); !strings.Contains(got, "/x") || strings.Contains(got, "/y") {
		t.Errorf("the log has %s", got)
	}
}

// An address with a token leads to the same page without it, and shows nothing of the page.
func TestRefusedURLs(t *testing.T) {
	k := New(Config{Tokens: []access.Token{{Name: "a", Secret: "s"}}})
	defer k.Close()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/playground?key=s", nil)
	r.Header.Set("Accept", "text/html")
	if k.ServeHTTP(w, r); w.Code != http.StatusSeeOther || w.Body.Len() > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w, r = httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/playground?key=s&format=json", nil)
	if k.ServeHTTP(w, r); w.Code != http.StatusBadRequest || strings.Count(w.Body.String(), "{") != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A block does not end within a fence, which ends at a line of its own marks.
func TestFences(t *testing.T) {
	long := strings.Repeat("x", minBlock)
	for text, want := range map[string]int{
		long + "\n\nb": 2, "```\n" + long + "\n\nb\n```\n\nc": 2, "```\n" + long + "\n\nb": 1, "~~~\n" + long + "\n\nb\n```\n\nc": 1, "~~~\n" + long + "\n\nb\n  ~~~~ \t\n\nc": 2, "````\n" + long + "\n```\n\nb": 1, "```\n" + long + "\n``` no\n\nb": 1,
		"- " + long + "\n\n- b": 1, "- " + long + "\n\nb": 2, long + "\n\n- b": 2, long + "\n\n  b": 1, long[1:] + "\n\nb": 2, long[3:] + "\n\nb": 1, "\n\n" + long + "\n\nb": 2, long + "\nb\n \n\nc": 2,
	} {
		if got := blocksOf(text); len(got) != want {
			t.Errorf("%q is %d blocks, want %d", text, len(got), want)
		}
	}
}

// A reader who takes nothing.
type deafReader struct {
	*httptest.ResponseRecorder
	lines int
}

func (d *deafReader) Write([]byte) (int, error) { d.lines++; return 0, errors.New("nobody reads") }

// A search ends with its reader.
func TestSearchEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := w.Append(t.Context(), record.Event{Payload: record.Exchange{Messages: []record.Message{{Role: "user", Text: record.Say("needle")}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sidecar.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := New(Config{Record: r, Dir: dir})
	defer k.Close()
	a, err := searchStream(k, httptest.NewRequest("GET", "/search/stream?q=needle", nil))
	if err != nil {
		t.Fatal(err)
	}
	all, deaf := httptest.NewRecorder(), &deafReader{ResponseRecorder: httptest.NewRecorder()}
	a.Stream(all)
	a.Stream(deaf)
	if n := strings.Count(all.Body.String(), `"hits"`); n < 8 || deaf.lines > 2 || !strings.HasSuffix(all.Body.String(), "}\n") || !strings.Contains(all.Body.String(), `"done":true`) {
		t.Errorf("%d lines with hits, and %d for one who takes none: %s", n, deaf.lines, all.Body)
	}
}
