package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent/consent"
)

// What limits leave out has the values that their documentation names.
func TestDefaultLimits(t *testing.T) {
	want := Limits{
		Body: 4 << 20, Answer: 4 << 20, Requests: 64, All: 1024, MemoryBytes: 256 << 20, Running: 64, Each: 16, Earlier: 256 << 10, Messages: 64, Task: 8 << 20,
		Page: 1 << 20, Waiting: 100, Tasks: 10_000, Bytes: 1 << 30, Keep: 7 * 24 * time.Hour, Pushes: 8, Queue: 64,
	}
	if diff := cmp.Diff(want, Limits{}.withDefaults()); diff != "" {
		t.Error(diff)
	}
	own := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	if got := own.withDefaults(); got != own {
		t.Errorf("%+v", got)
	}
	if got := (Limits{Body: 100}).withDefaults().Task; got != 200 {
		t.Errorf("a task of %d bytes where a body has 100", got)
	}
}

// Each protocol takes the versions that it speaks, and calls that name none.
func TestCallVersions(t *testing.T) {
	for version, want := range map[string][2]bool{"": {true, true}, "1": {true, false}, "1.0": {true, false}, "1.7": {true, false}, "0.3": {false, true}, "0.3.1": {false, true}, "10": {false, false}, "2.0": {false, false}, "x": {false, false}} {
		for i, legacy := range []bool{false, true} {
			_, call := a2asrv.NewCallContext(t.Context(), a2asrv.NewServiceParams(map[string][]string{a2a.SvcParamVersion: {version}}))
			if err := checkVersion(call, legacy); (err == nil) != want[i] || err != nil && !errors.Is(err, a2a.ErrVersionNotSupported) {
				t.Errorf("version %q, 0.3 %v: %v", version, legacy, err)
			}
		}
	}
	_, call := a2asrv.NewCallContext(t.Context(), a2asrv.NewServiceParams(nil))
	if err := checkVersion(call, false); err != nil {
		t.Errorf("no version: %v", err)
	}
	for mode, want := range map[string]bool{"text/plain": true, " TEXT/Plain; charset=utf-8": true, "text/*": true, "text": true, "*/*": true, "*": true, "application/json": false, "": false, "text/html": false} {
		if got := takesText(mode); got != want {
			t.Errorf("%q takes text: %v", mode, got)
		}
	}
}

// A message is taken if it is text of a user, with names and a size within bounds, for a task
// that waits for it.
func TestCheckedMessages(t *testing.T) {
	s := &Server{limits: Limits{Task: 2000, Messages: 3}.withDefaults(), store: emptyStore(t, Limits{})}
	waits := entry{state: a2a.TaskStateInputRequired, said: 2}
	text := func(n int) func(r *a2a.SendMessageRequest) {
		return func(r *a2a.SendMessageRequest) {
			r.Message.Parts = a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", n))}
		}
	}
	with := func(f func(m *a2a.Message)) func(r *a2a.SendMessageRequest) {
		return func(r *a2a.SendMessageRequest) { f(r.Message) }
	}
	modes := func(list ...string) func(r *a2a.SendMessageRequest) {
		return func(r *a2a.SendMessageRequest) {
			r.Config = &a2a.SendMessageConfig{AcceptedOutputModes: list}
		}
	}
	toTask := with(func(m *a2a.Message) { m.TaskID = "t" })
	for _, c := range []struct {
		name   string
		change func(r *a2a.SendMessageRequest)
		task   entry
		want   error
		says   string
	}{
		{"new", text(1), entry{}, nil, ""},
		{"no message", func(r *a2a.SendMessageRequest) { r.Message = nil }, entry{}, nil, ""},
		{"of an agent", with(func(m *a2a.Message) { m.Role = a2a.MessageRoleAgent }), entry{}, a2a.ErrInvalidParams, "ROLE_USER"},
		{"an empty part", with(func(m *a2a.Message) { m.Parts = append(m.Parts, nil) }), entry{}, a2a.ErrInvalidParams, "part 2 of the message is empty"},
		{"data", with(func(m *a2a.Message) { m.Parts = append(m.Parts, &a2a.Part{Content: a2a.Data{}}) }), entry{}, a2a.ErrUnsupportedContentType, "part 2 of the message is not text"},
		{"blank", with(func(m *a2a.Message) { m.Parts = a2a.ContentParts{a2a.NewTextPart(" ")} }), entry{}, a2a.ErrInvalidParams, "the message has no text"},
		{"output", modes("image/png", "text/*"), entry{}, nil, ""},
		{"other output", modes("image/png"), entry{}, a2a.ErrUnsupportedContentType, "this agent answers in text/plain"},
		{"a long name", with(func(m *a2a.Message) { m.ID = strings.Repeat("i", 257) }), entry{}, a2a.ErrInvalidParams, "more than 256 bytes"},
		{"the longest name", with(func(m *a2a.Message) { m.ID = strings.Repeat("i", 256) }), entry{}, nil, ""},
		{"a context", with(func(m *a2a.Message) { m.ContextID = "a\nb" }), entry{}, a2a.ErrInvalidParams, "control character"},
		{"an extension", with(func(m *a2a.Message) { m.Extensions = []string{"x", "a\x00b"} }), entry{}, a2a.ErrInvalidParams, "control character"},
		{"a reference", with(func(m *a2a.Message) { m.ReferenceTasks = []a2a.TaskID{"x", "a\x7fb"} }), entry{}, a2a.ErrInvalidParams, "control character"},
		{"large", text(2000), entry{}, a2a.ErrInvalidParams, "and 2000 is the limit"},
		{"large with the task", text(500), entry{size: 1500}, a2a.ErrInvalidParams, "and 2000 is the limit"},
		{"to a task", toTask, waits, nil, ""},
		{"to a task that has ended", toTask, entry{state: a2a.TaskStateCompleted}, a2a.ErrUnsupportedOperation, "the task has ended"},
		{"to a task that runs", toTask, entry{state: a2a.TaskStateWorking}, a2a.ErrUnsupportedOperation, "still running"},
		{"one too many", toTask, entry{state: a2a.TaskStateInputRequired, said: 3}, a2a.ErrUnsupportedOperation, "has had 3 messages"},
	} {
		r := message("Hi")
		c.change(r)
		if err := s.checkMessage(r, "", c.task); !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for payload, want := range map[any]a2a.TaskID{
		&a2a.SendMessageRequest{}: "", &a2a.GetTaskRequest{ID: "a"}: "a", &a2a.CancelTaskRequest{ID: "b"}: "b", &a2a.SubscribeToTaskRequest{ID: "c"}: "c", &a2a.PushConfig{TaskID: "d"}: "d",
		&a2a.GetTaskPushConfigRequest{TaskID: "e"}: "e", &a2a.ListTaskPushConfigRequest{TaskID: "f"}: "f", &a2a.DeleteTaskPushConfigRequest{TaskID: "g"}: "g", &a2a.ListTasksRequest{}: "",
	} {
		if got := taskOf(payload); got != want {
			t.Errorf("%T names task %q, want %q", payload, got, want)
		}
	}
	for length, want := range map[int]int{-1: 3, 0: 0, 1: 1, 2: 2, 3: 3, 4: 3} {
		task := &a2a.Task{History: []*a2a.Message{{ID: "1"}, {ID: "2"}, {ID: "3"}}}
		cutHistory(task, &length)
		if len(task.History) != want || want > 0 && task.History[want-1].ID != "3" {
			t.Errorf("%d messages of 3: %v", length, task.History)
		}
	}
}

// An update has runs of texts and the events of tools, in their order. What it has no room for
// is counted or said to be left out.
func TestProgressParts(t *testing.T) {
	outline := func(parts []*a2a.Part) string {
		var list []string
		for _, p := range parts {
			mark := ""
			if p.Metadata[ThoughtKey] == true {
				mark = "*"
			}
			list = append(list, fmt.Sprintf("%v%s %s", p.Metadata[ChannelKey], mark, p.Text()))
		}
		return strings.Join(list, "|")
	}
	var p progress
	for _, e := range []Event{Narration{Text: "a"}, Narration{Text: "b"}, Narration{}, Reasoning{Text: "c"}, ToolStart{ID: "1", Name: "t", Arguments: "{}"}, ToolEnd{ID: "1", Name: "t", Result: "r"}, ToolEnd{Name: "u", Failed: true, Result: "x"}, Narration{Text: "d"}} {
		p.gather(e)
	}
	for i, want := range []string{"", "", "start 1", "end 1", "failed <nil>", ""} {
		if it := p.items[i]; want != "" && fmt.Sprint(it.meta["state"], " ", it.meta["call"]) != want {
			t.Errorf("item %d: %v, want %s", i, it.meta, want)
		}
	}
	if got := outline(p.unsent(false)); got != "narration ab|reasoning* c|tool t: started|tool t: done|tool u: failed|narration d" {
		t.Error(got)
	}
	p = progress{previews: true}
	p.gather(ToolStart{Name: strings.Repeat("n", 200), ID: strings.Repeat("i", 200), Arguments: strings.Repeat("a", 5000)})
	if it := p.items[0]; len(it.meta["tool"].(string)) > maxName+3 || len(it.meta["call"].(string)) > maxName+3 || len(it.text) > maxName+maxPreview+20 || p.bytes < maxPreview || !strings.Contains(it.text, ": started a") {
		t.Errorf("%d bytes: %v", len(it.text), it.meta)
	}
	p = progress{previews: true, bytes: progressBytes - 2}
	p.gather(ToolEnd{Name: "t", Result: "12"})
	p.gather(ToolEnd{Name: "t", Result: "3"})
	p.gather(Narration{Text: "4"})
	p.gather(Narration{Text: "5"})
	if got := outline(p.unsent(true)); got != "tool t: done 12|tool t: done|narration … (the rest is left out here)" {
		t.Error(got)
	}
	p = progress{}
	for i := range progressParts + 3 {
		p.gather(ToolStart{Name: fmt.Sprint(i)})
	}
	p.gather(Narration{Text: "lost"})
	if parts := p.unsent(false); len(parts) != progressParts+1 || parts[progressParts].Text() != "… and 3 more" || p.pending() {
		t.Errorf("%d parts, the last %q", len(parts), parts[len(parts)-1].Text())
	}
	p = progress{}
	p.gather(Reasoning{Text: "x\xe2\x82"})
	if got := outline(p.unsent(false)); got != "reasoning* x" || !p.pending() {
		t.Errorf("before the end of a character: %q", got)
	}
	p.gather(Reasoning{Text: "\xacy\xe2"})
	if got := outline(p.unsent(false)); got != "reasoning* €y" || !p.pending() {
		t.Errorf("before the next character: %q", got)
	}
	p.gather(Reasoning{Text: "\x82\xac"})
	if got := outline(p.unsent(false)); got != "reasoning* €" || p.pending() {
		t.Errorf("after it: %q", got)
	}
	p.gather(Narration{Text: "y\xe2"})
	if got := outline(p.unsent(true)); got != "narration y\uFFFD" || p.pending() {
		t.Errorf("at the end: %q", got)
	}
	for s, want := range map[string]int{"": 0, "a": 0, "é": 0, "a\xc3": 1, "\xe2\x82": 2, "a\xf0\x9f\x98": 3, "\x82\x82\x82\x82": 0, "€": 0, "\xff": 0} {
		if got := cutRune(s); got != want {
			t.Errorf("%q: %d bytes of an incomplete character, want %d", s, got, want)
		}
	}
	if got := valid("a\xff\xfeé"); got != "a\uFFFD\uFFFDé" {
		t.Errorf("%q", got)
	}
}

// The first update may be sent at once, later ones after a pause that grows with the age of
// the turn; a tool's event waits for no sentence.
func TestUpdatePace(t *testing.T) {
	begun := time.Unix(1000, 0)
	for age, want := range map[time.Duration]time.Duration{0: time.Second, 8 * time.Second: 9 * time.Second, 16 * time.Second: 18 * time.Second, 80 * time.Second: 90 * time.Second} {
		p := pace{begun: begun, last: begun.Add(age), least: time.Second}
		if got := p.due().Sub(begun); got != want {
			t.Errorf("after an update at %v the next is due at %v, want %v", age, got, want)
		}
	}
	if p := (pace{begun: begun, least: time.Second}); !p.due().Equal(begun) {
		t.Errorf("the first update is due at %v", p.due())
	}
	p := progress{since: begun, items: []item{{channel: "narration", text: "x"}}}
	if !p.dueAt(time.Second).Equal(begun.Add(time.Second)) {
		t.Error("a sentence does not wait")
	}
	p.items = append(p.items, item{channel: "tool"})
	if !p.dueAt(time.Second).Equal(begun) {
		t.Error("a tool's event waits")
	}
}

// How a turn ended decides its state, its ending, its text and what the client is told.
func TestEnds(t *testing.T) {
	asked := &consent.Question{ID: "1"}
	failed, done, cut := a2a.TaskStateFailed, a2a.TaskStateCompleted, sotto.EndCut
	for _, c := range []struct {
		name  string
		out   Outcome
		err   error
		shown string
		want  ended
	}{
		{"silent", Outcome{}, errSilent, "sh", ended{ending: Silent, state: failed, text: "sh", message: "The model sent nothing for 1m0s, so the task was ended."}},
		{"closing", Outcome{Text: "t"}, errClosing, "sh", ended{ending: Interrupted, state: failed, text: "t", message: interruptedMessage}},
		{"too long", Outcome{Text: "t"}, errTooLong, "sh", ended{ending: CutOff, state: done, text: "sh"}},
		{"unrecorded", Outcome{Text: "t"}, errUnrecorded, "sh", ended{ending: Aborted, state: failed, message: "What the agent did could not be recorded, so its answer is not given."}},
		{"failed", Outcome{}, errors.New("x"), "sh", ended{ending: Aborted, state: failed, text: "sh", message: "The agent failed before its answer was complete."}},
		{"out of time", Outcome{}, fmt.Errorf("x: %w", context.DeadlineExceeded), "", ended{ending: Aborted, state: failed, message: "The agent ran out of time before its answer was complete."}},
		{"question", Outcome{Text: "t", Question: "q", Consent: asked, Diagnostics: []sotto.Diagnostic{{}}}, nil, "sh", ended{ending: Asked, state: a2a.TaskStateInputRequired, message: "q", consent: asked}},
		{"cut in thought", Outcome{End: cut}, nil, "sh", ended{ending: NoVisibleAnswer, state: failed, message: "The model's reply reached its length limit before it had any visible text."}},
		{"nothing", Outcome{Text: " "}, nil, "sh", ended{ending: NoVisibleAnswer, state: failed, text: " ", message: "The model's reply has no visible answer."}},
		{"aborted", Outcome{Text: "t", End: sotto.EndAborted}, nil, "", ended{ending: Aborted, state: failed, text: "t", message: "The model's reply broke off before it was complete."}},
		{"cut", Outcome{Text: "t", End: cut}, nil, "", ended{ending: CutOff, state: done, text: "t"}},
		{"answered", Outcome{Text: "t", End: sotto.EndStopped, Diagnostics: []sotto.Diagnostic{{Code: "x"}}}, nil, "", ended{ending: Answered, state: done, text: "t", remarks: []sotto.Diagnostic{{Code: "x"}}}},
	} {
		got := end(c.out, c.err, c.shown, time.Minute)
		if diff := cmp.Diff(fmt.Sprintf("%+v", c.want), fmt.Sprintf("%+v", got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for n, want := range map[int]string{5: "aéé answered", 4: "aé cut", 3: "aé cut", 2: "a cut", 0: " cut"} {
		e := ended{ending: Answered, text: "aéé"}
		e.limit(n)
		if got := fmt.Sprint(e.text, " ", e.ending); got != want {
			t.Errorf("at most %d bytes: %s, want %s", n, got, want)
		}
	}
	e := ended{ending: Silent, text: "long"}
	if e.limit(2); e.ending != Silent || e.text != "lo" {
		t.Errorf("%+v", e)
	}
	if got := codes([]sotto.Diagnostic{{Code: "b"}, {Code: "a"}, {Code: "b"}}); fmt.Sprint(got) != "[b a]" {
		t.Error(got)
	}
}

// Credentials go into headers, and addresses of pushes are those of the open network.
func TestPushChecks(t *testing.T) {
	for _, c := range []struct {
		token, scheme, credentials string
		ok                         bool
	}{
		{"", "", "", true}, {strings.Repeat("t", 8192), "bearer", "c", true}, {strings.Repeat("t", 8193), "", "", false}, {"a\nb", "", "", false}, {"é", "", "", false}, {" ~", "BASIC", strings.Repeat("c", 8192), true}, {"", "Bearer", strings.Repeat("c", 8193), false}, {"", "Digest", "c", false}, {"", "basic", "\x1f", false},
	} {
		config := &a2a.PushConfig{Token: c.token}
		if c.scheme != "" {
			config.Auth = &a2a.PushAuthInfo{Scheme: c.scheme, Credentials: c.credentials}
		}
		if err := checkAuth(config); (err == nil) != c.ok {
			t.Errorf("%.20q %s %.20q: %v", c.token, c.scheme, c.credentials, err)
		}
	}
	g := guard{allow: loopback}
	long := "http://127.0.0.1/" + strings.Repeat("x", 2048-17)
	for address, want := range map[string]string{
		"https://127.0.0.1/x": "", "http://127.0.0.1:9/x": "", "http://[::1]/": "", long: "", long + "x": "longer than 2048 bytes", "ftp://127.0.0.1": "only https is allowed", "https://u@127.0.0.1": "holds a user name", "127.0.0.1": "not a URL", "https://:80": "not a URL", "https://": "not a URL",
		"http://10.0.0.1": "are not allowed", "http://8.8.8.8": "are not allowed", "https://8.8.8.8": "",
	} {
		if err := g.url(t.Context(), address); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: %v", address, err)
		}
	}
	for address, want := range map[string]error{"8.8.8.8": nil, "2606:4700::1": nil, "::ffff:8.8.8.8": nil, "10.1.2.3": errPrivate, "::ffff:10.1.2.3": errPrivate, "169.254.1.1": errPrivate, "fe80::1%eth0": errPrivate, "64:ff9b::808:808": errPrivate, "2002::1": errPrivate, "100.64.0.1": errPrivate, "127.0.0.1": nil} {
		if err := g.address("https", netip.MustParseAddr(address)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
	if refusedAddress(errors.New("x")) || !refusedAddress(fmt.Errorf("dial: %w", errPrivate)) {
		t.Error("an address that is not public is tried again")
	}
	if _, err := g.client(time.Second).Get("ftp://127.0.0.1/"); err == nil || !strings.Contains(err.Error(), `scheme "ftp"`) {
		t.Error(err)
	}
}

// Push configurations of a task are kept by their ids, as many as the limit says, and apart
// from those of other tasks.
func TestPushConfigStore(t *testing.T) {
	s := emptyStore(t, Limits{Pushes: 2})
	p := newSender(s, guard{allow: loopback}, s.limits, slog.New(slog.DiscardHandler))
	defer p.close()
	save := func(task a2a.TaskID, id string) error {
		c, err := p.Save(t.Context(), task, &a2a.PushConfig{ID: id, URL: "http://127.0.0.1/", TaskID: "other"})
		if err == nil && (c.TaskID != task || c.ID == "") {
			t.Errorf("kept as %+v", c)
		}
		return err
	}
	for _, c := range []struct {
		task a2a.TaskID
		id   string
		ok   bool
	}{{"a", "1", true}, {"a", strings.Repeat("i", 128), true}, {"a", "2", false}, {"a", "1", true}, {"b", "", true}, {"b", strings.Repeat("i", 129), false}, {"b", "a\x00", false}, {"b", "1", true}} {
		if err := save(c.task, c.id); (err == nil) != c.ok {
			t.Errorf("task %s, %.10q: %v", c.task, c.id, err)
		}
	}
	if _, err := p.Save(t.Context(), "a", nil); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Error(err)
	}
	count := func(task a2a.TaskID) int {
		list, err := p.List(t.Context(), task)
		if err != nil || list == nil {
			t.Errorf("%v, %v", list, err)
		}
		return len(list)
	}
	if c, err := p.Get(t.Context(), "b", "1"); err != nil || c.ID != "1" || count("a") != 2 || count("b") != 2 {
		t.Errorf("%+v, %v, %d and %d", c, err, count("a"), count("b"))
	}
	if err := p.Delete(t.Context(), "a", "1"); err != nil || count("a") != 1 || count("b") != 2 {
		t.Errorf("%v, %d and %d", err, count("a"), count("b"))
	}
	if _, err := p.Get(t.Context(), "a", "1"); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	if err := p.DeleteAll(t.Context(), "b"); err != nil || count("a") != 1 || count("b") != 0 {
		t.Errorf("%v, %d and %d", err, count("a"), count("b"))
	}
}

// Tokens can be replaced; a server that needs some keeps the old ones where the new ones are
// wrong. The card is read, never written, and its addresses are those that the client used.
func TestTokensAndCard(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes."), Tokens: []Token{{Name: "ann", Secret: "a-token"}}, Path: "/p"})
	status := func(token string) int {
		got, _, _ := get(t, "POST", h.url()+rpcPath, list, "Authorization", "Bearer "+token)
		return got
	}
	if err := h.SetTokens([]Token{{Name: "bob", Secret: "b"}, {Name: "", Secret: ""}}); err == nil || !strings.HasPrefix(err.Error(), "a2aserver: ") || status("a-token") != 200 {
		t.Errorf("%v, %d", err, status("a-token"))
	}
	if err := h.SetTokens([]Token{{Name: "bob", Secret: "b-token"}}); err != nil || status("a-token") != 401 || status("b-token") != 200 {
		t.Errorf("%v, %d, %d", err, status("a-token"), status("b-token"))
	}
	if err := h.SetTokens(nil); err != nil || status("b-token") != 401 {
		t.Errorf("without tokens: %v, %d", err, status("b-token"))
	}
	for _, c := range []struct{ method, path string }{{"POST", cardPath}, {"DELETE", legacyCard}} {
		if got, body, header := get(t, c.method, h.url()+c.path, ""); got != http.StatusMethodNotAllowed || header.Get("Allow") != "GET, HEAD" || !strings.Contains(body, `"code":405`) || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, got, header, body)
		}
	}
	got, body, header := get(t, "GET", h.url()+cardPath, "")
	if got != 200 || header.Get("Vary") != "Host" || header.Get("Cache-Control") != "no-cache" || header.Get("Content-Length") != fmt.Sprint(len(body)) || !strings.Contains(body, h.url()+"/p"+rpcPath) {
		t.Errorf("%d %v %s", got, header, body)
	}
	r := httptest.NewRequest("GET", "https://h/", nil)
	if got := h.base(r); got != "https://h/p" {
		t.Error(got)
	}
	for path, want := range map[string]bool{cardPath: true, legacyCard: true, "/a2a": true, "/a2a/": true, "/a2a/rest/tasks": true, "/a2ax": false, "/": false, "/.well-known/x": false} {
		if IsProtocolPath(path) != want {
			t.Errorf("%s is a path of the protocol: %v", path, !want)
		}
	}
	for remote, want := range map[string]string{"1.2.3.4:5": "1.2.3.4/32", "[2001:db8::1:2:3:4]:5": "2001:db8::/64", "[::ffff:1.2.3.4]:5": "1.2.3.4/32", "@": "@"} {
		if got := network(remote); got != want {
			t.Errorf("%s is of %s, want %s", remote, got, want)
		}
	}
}

// A part is reasoning if this server or another one marked it.
func TestMarkedParts(t *testing.T) {
	for _, c := range []struct {
		meta map[string]any
		want bool
	}{
		{nil, false}, {map[string]any{ThoughtKey: true}, true}, {map[string]any{ThoughtKey: false}, false}, {map[string]any{"thought": true}, true}, {map[string]any{"thought": "TRUE"}, true}, {map[string]any{"thought": "yes"}, false}, {map[string]any{ThoughtKey: 1}, false},
		{map[string]any{ChannelKey: "reasoning"}, true}, {map[string]any{ChannelKey: "narration"}, false}, {map[string]any{ThoughtKey: false, "thought": true}, true},
	} {
		p := a2a.NewTextPart("x")
		p.Metadata = c.meta
		if got := IsThought(p); got != c.want || (VisibleText([]*a2a.Part{nil, p, a2a.NewTextPart(""), a2a.NewTextPart("y")}) == "y") != c.want {
			t.Errorf("%v: %v", c.meta, got)
		}
	}
	if IsThought(nil) {
		t.Error("no part is a thought")
	}
}

// A question stands before the message that answers it, in the history of a task.
func TestQuestionFirst(t *testing.T) {
	q, a, other := &a2a.Message{ID: "q"}, &a2a.Message{ID: "a"}, &a2a.Message{ID: "o"}
	for _, c := range []struct {
		name    string
		history []*a2a.Message
		status  *a2a.Message
		want    string
	}{{"answered", []*a2a.Message{other, a}, q, "oqa "}, {"only", []*a2a.Message{a}, q, "qa "}, {"no question", []*a2a.Message{other, a}, nil, "oa "}, {"another last", []*a2a.Message{a, other}, q, "ao q"}, {"empty", nil, q, " q"}} {
		task := &a2a.Task{History: c.history, Status: a2a.TaskStatus{Message: c.status}}
		putQuestionFirst(task, a)
		got := ""
		for _, m := range task.History {
			got += m.ID
		}
		if got += " "; task.Status.Message != nil {
			got += task.Status.Message.ID
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
