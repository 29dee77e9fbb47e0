package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/panel"
	"github.com/sotto-llm/sotto/record"
)

// A raterServer is a server of chat completions on a port of its own, which can be ended and
// begun again.
type raterServer struct {
	t *testing.T
	// reply answers the n-th request about the text with this number: with a status that is not 200, or with text.
	reply func(text, n int, prompt string) (status int, said string)
	mu    sync.Mutex
	count map[int]int // requests by text
	all   int
	body  []string
	addr  string
	http  *http.Server
}

func (s *raterServer) begin() {
	s.t.Helper()
	addr := s.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.http = &http.Server{Handler: s}
	go s.http.Serve(l)
	s.t.Cleanup(func() { s.http.Close() })
}

var textNumber = regexp.MustCompile(`answer number (\d+)`)

func (s *raterServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Messages []struct{ Role, Content string }
		Stream   bool
	}
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) != 2 {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	prompt := q.Messages[1].Content
	found := textNumber.FindStringSubmatch(prompt)
	if found == nil {
		http.Error(w, `{"error":{"message":"no text"}}`, http.StatusBadRequest)
		return
	}
	text, _ := strconv.Atoi(found[1])
	s.mu.Lock()
	s.count[text]++
	s.all++
	n := s.count[text]
	s.body = append(s.body, string(body))
	s.mu.Unlock()
	status, said := s.reply(text, n, prompt)
	if status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, `{"error":{"message":"not now"}}`)
		return
	}
	content, _ := json.Marshal(said)
	w.Header().Set("Content-Type", "text/event-stream")
	half := len(said) / 2
	if strings.HasPrefix(said, "broken") {
		content, _ = json.Marshal(said[:half])
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", content)
	w.(http.Flusher).Flush()
	if strings.HasPrefix(said, "broken") {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n")
}

// honest is the rating of a text by a rater that thinks aloud about another one.
func honest(text, _ int, _ string) (int, string) {
	return http.StatusOK, fmt.Sprintf("<think>Perhaps {\"checks\": 5, \"mood\": \"calm\"}? No.</think>{\"checks\": %d, \"mood\": \"tense\", \"why\": \"so\"}", 1+text%4)
}

// panelFiles writes a record of one run, a rubric and the raters of some servers.
func panelFiles(t *testing.T, cycles int, raters ...*raterServer) (audit, rubric, file string) {
	t.Helper()
	dir := t.TempDir()
	var events []record.Event
	for i := range cycles {
		raw := fmt.Sprintf("<think>secret thought %d</think>answer number %d", i, i)
		events = append(events, record.Event{Run: "secret-run", Cycle: i + 1, Payload: record.Invocation{Model: "secret-author", Replies: []record.Reply{spoken("", raw, 1)}}})
	}
	rubric, file = filepath.Join(dir, "rubric.yaml"), filepath.Join(dir, "raters.yaml")
	text := "v: 1\nraters:\n"
	for i, s := range raters {
		s.t, s.count = t, map[int]int{}
		s.begin()
		text += fmt.Sprintf("  - {name: rater-%d, model: {provider: openai, name: m%d, url: 'http://%s'}}\n", i, i, s.addr)
	}
	for name, text := range map[string]string{
		rubric: "v: 1\nname: r\ncriteria: [{name: checks, description: d, scale: [1, 5]}, {name: mood, description: e, labels: [calm, tense], level: nominal}]\n",
		file:   text,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return writeRun(t, events, record.Options{}), rubric, file
}

// panelRun runs the command, and returns its result, its last line and whether it succeeded.
func panelRun(t *testing.T, args ...string) (r panel.Result, last string, ok bool) {
	t.Helper()
	c := exec.Command("sotto", append([]string{"panel", "--json"}, args...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	ok = c.Run() == nil
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, " ratings of ") {
			last = line
		}
	}
	return r, last, ok
}

// TestPanelMisbehaving has two servers rate twelve cycles. One is honest. The other rates
// beyond the scale, refuses, breaks off, and is away for a while in the middle: what can be
// had is had, what cannot is counted, and nothing that a rater thinks is taken for a rating.
func TestPanelMisbehaving(t *testing.T) {
	t.Parallel()
	shaky := &raterServer{}
	died := make(chan struct{})
	shaky.reply = func(text, n int, prompt string) (int, string) {
		shaky.mu.Lock()
		all := shaky.all
		shaky.mu.Unlock()
		switch {
		case all == 5: // it dies with the request
			go func() {
				shaky.http.Close()
				close(died)
			}()
			<-died
			return http.StatusServiceUnavailable, ""
		case text == 3:
			return http.StatusBadRequest, ""
		case text%4 == 1 && !strings.Contains(prompt, "could not be used"):
			return http.StatusOK, `{"checks": 6, "mood": "tense"}`
		case text%4 == 2:
			return http.StatusOK, `<think>{"checks": 2, "mood": "calm"}</think>I would rather not. It is about 2.`
		case text == 4 && n == 1:
			return http.StatusOK, `broken {"checks": 1, "mood": "calm"}`
		}
		return honest(text, n, prompt)
	}
	steady := &raterServer{reply: honest}
	audit, rubric, raters := panelFiles(t, 12, steady, shaky)
	go func() {
		<-died
		time.Sleep(time.Second)
		shaky.begin()
	}()
	r, last, ok := panelRun(t, "--rubric", rubric, "--raters", raters, "--outage-wait", "100ms", "--outage-retries", "50", audit, "--run", "secret-run")
	if !ok || r.Ratings != 24 || r.Rated != 20 || r.Failed != 4 || r.Missing != 0 {
		t.Errorf("%d ratings: %d rated, %d failed, %d missing (%v)", r.Ratings, r.Rated, r.Failed, r.Missing, r.Raters)
	}
	if want := "24 ratings of 12 texts (12 replies) by 2 raters, each once: 20 rated, 4 failed, 0 missing"; !strings.HasPrefix(last, want) {
		t.Errorf("the last line is %q, want %q", last, want)
	}
	if f := r.Raters[1].Faults; f["request_failed"] != 1 || len(f) != 2 {
		t.Errorf("faults: %v", f)
	}
	values := map[string]int{}
	for _, x := range r.Each {
		if x.Item == "mood" {
			if x.Label != "tense" || x.Value != 2 {
				t.Errorf("%s rated the mood of cycle %d as %q", x.Rater, x.Cycle, x.Label)
			}
			continue
		}
		values[x.Rater]++
		if x.Value != float64(1+(x.Cycle-1)%4) {
			t.Errorf("%s rated cycle %d as %g", x.Rater, x.Cycle, x.Value)
		}
	}
	if values["rater-0"] != 12 || values["rater-1"] != 8 || len(r.Cycles) != 12 {
		t.Errorf("ratings by rater: %v; %d cycles", values, len(r.Cycles))
	}
	for _, s := range []*raterServer{steady, shaky} {
		for _, body := range s.body {
			if found := regexp.MustCompile(`secret|rater-\d|rubric|cycle`).FindString(strings.ReplaceAll(body, "scores, a rubric", "")); found != "" {
				t.Fatalf("a rater is told %q:\n%s", found, body)
			}
		}
	}
	if thinks(t, filepath.Join(audit+".panel", "rater-0")) != 12 {
		t.Error("the record of a rater does not have its thoughts")
	}
}

// thinks counts the replies in a record in which a rater's thought is separated.
func thinks(t *testing.T, dir string) (n int) {
	rd, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range rd.Events(record.Query{}) {
		if x, is := e.Payload.(record.Invocation); err == nil && is && len(x.Replies) == 1 && slices.ContainsFunc(x.Replies[0].Segments, func(s record.Segment) bool { return s.Channel == sotto.ChannelReasoning }) {
			n++
		}
	}
	return n
}

// TestPanelRefused has a server that refuses its rater for a while: its ratings are missing
// and said to be, those of the other are there, and the same command asks for the rest only.
func TestPanelRefused(t *testing.T) {
	t.Parallel()
	refuses := true
	second := &raterServer{}
	second.reply = func(text, n int, prompt string) (int, string) {
		second.mu.Lock()
		defer second.mu.Unlock()
		if refuses {
			return http.StatusUnauthorized, ""
		}
		return honest(text, n, prompt)
	}
	first := &raterServer{reply: honest}
	audit, rubric, raters := panelFiles(t, 12, first, second)
	args := []string{"--rubric", rubric, "--raters", raters, audit}
	r, last, ok := panelRun(t, args...)
	if ok || r.Rated != 12 || r.Missing != 12 || r.Raters[1].Missing != 12 || r.Raters[1].Error == "" || !strings.Contains(last, "12 rated, 0 failed, 12 missing") {
		t.Errorf("refused: %+v, %q", r.Raters, last)
	}
	if r.Items[0].Alpha.Value != nil {
		t.Error("one rater agrees with nobody")
	}
	second.mu.Lock()
	refuses = false
	second.mu.Unlock()
	r, _, ok = panelRun(t, args...)
	if !ok || r.Rated != 24 || r.Missing != 0 || first.all != 12 || r.Raters[0].Recalled != 12 || r.Raters[1].Asked != 12 {
		t.Errorf("again: %+v, %d requests to the first server", r.Raters, first.all)
	}
	if a := r.Items[0]; *a.Alpha.Value != 1 || *a.Single.Value != 1 || a.Alpha.Units != 12 {
		t.Errorf("agreement: %+v", a)
	}
}

// TestPanelKilled kills the command with SIGKILL at moments of chance, and runs it again: the
// result is that of a run without a kill, and no reply that is in a record was asked for
// again.
func TestPanelKilled(t *testing.T) {
	t.Parallel()
	kills, cycles := 6, 40
	if effort.Brief() {
		kills, cycles = 2, 12
	}
	slow := func(text, n int, prompt string) (int, string) {
		time.Sleep(3 * time.Millisecond)
		if text%5 == 2 {
			return http.StatusOK, "nothing"
		}
		return honest(text, n, prompt)
	}
	a, b := &raterServer{reply: slow}, &raterServer{reply: slow}
	audit, rubric, raters := panelFiles(t, cycles, a, b)
	args := func(to string) []string {
		return []string{"--rubric", rubric, "--raters", raters, "--workers", "2", "--record", filepath.Join(filepath.Dir(rubric), to), audit}
	}
	straight, _, ok := panelRun(t, args("straight")...)
	if !ok || straight.Missing != 0 || straight.Failed == 0 {
		t.Fatalf("%+v", straight.Raters)
	}
	asked := a.all + b.all
	replies := func(to string) int {
		return calls(t, filepath.Join(filepath.Dir(rubric), to, "rater-0")) + calls(t, filepath.Join(filepath.Dir(rubric), to, "rater-1"))
	}
	for k := range kills {
		before := replies("killed")
		c := exec.Command("sotto", append([]string{"panel"}, args("killed")...)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { c.Wait(); close(ended) }()
		for more := 2 + 5*k%7; replies("killed") < before+more; {
			select {
			case <-ended:
				more = 0
			case <-time.After(time.Millisecond):
			}
		}
		c.Process.Kill()
		<-ended
	}
	killed, _, ok := panelRun(t, args("killed")...)
	if !ok || !slices.Equal(killed.Each, straight.Each) || killed.Failed != straight.Failed || killed.Missing != 0 {
		t.Errorf("after %d kills: %+v, want %+v", kills, killed.Raters, straight.Raters)
	}
	if got, want := replies("killed"), replies("straight"); got != want {
		t.Errorf("%d replies in the records after kills, %d without", got, want)
	}
	// Two calls of each rater may be under way when the command is killed.
	if extra := a.all + b.all - 2*asked; extra < 0 || extra > 4*kills {
		t.Errorf("%d requests more than without kills", extra)
	}
}
