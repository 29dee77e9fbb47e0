package gateway_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// preOpened is a reply whose opener stood in the prompt.
const preOpened = "I add.\n</think>\n\nIt is 4."

// taught returns a conversation whose upstream has shown twice that its replies
// begin inside.
func taught(t *testing.T, s speaker, c gateway.Config) *conversation {
	t.Helper()
	v := converse(t, s, c)
	for range 2 {
		v.hear(t, preOpened, true, "")
	}
	v.isStart(t, "inside")
	return v
}

func (v *conversation) isStart(t *testing.T, want string) {
	t.Helper()
	got := ""
	for _, l := range v.Learned().Starts() {
		if l.Model == "m" && l.Switch == "" {
			got = l.Start()
		}
	}
	if got != want {
		t.Errorf("learned %q, want %q: %v", got, want, v.Learned().Starts())
	}
}

// TestTwoAlikeTeach: after one reply that closed what it had not opened, the next are held
// until they show where they began. After two, it is known.
func TestTwoAlikeTeach(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{})
		v.hear(t, preOpened, true, "").wants(t, preOpened, "")
		v.isStart(t, "")
		v.hear(t, preOpened, true, "").wants(t, "It is 4.", "I add.")
		v.isStart(t, "inside")
		v.hear(t, preOpened, true, "").wants(t, "It is 4.", "I add.")
		v.hear(t, preOpened, false, "").wants(t, "It is 4.", "I add.")
	})
}

// TestTwoUnlikeTeachNothing: a reply that begins outside between the two.
func TestTwoUnlikeTeachNothing(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{})
	for range 3 {
		v.hear(t, preOpened, true, "")
		v.hear(t, "<think>I add.</think>It is 4.", true, "").wants(t, "It is 4.", "I add.")
		v.isStart(t, "")
	}
}

// TestWholeRepliesTeach: what is whole is read auto, and teaches too.
func TestWholeRepliesTeach(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{})
		for range 2 {
			v.hear(t, preOpened, false, "").wants(t, "It is 4.", "I add.")
		}
		v.isStart(t, "inside")
	})
}

// TestProseTeachesNothing: whoever asks about the tag must not change how other
// callers' replies are read.
func TestProseTeachesNothing(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{})
		for _, stream := range []bool{true, false} {
			for range 3 {
				v.hear(t, "The tag </think> ends a thought.", stream, "")
			}
			v.hear(t, "Write:\n```\n</think>\n```\nand go on.", stream, "")
			v.hear(t, "Write:\n```\n</think>\n```\nand go on.", stream, "")
		}
		for _, l := range v.Learned().Starts() {
			if l.Start() == "inside" {
				t.Errorf("learned %v", l)
			}
		}
		v.hear(t, "Hello there.", true, "").wants(t, "Hello there.", "")
	})
}

// TestModelStopsThinking: a reply that does not close the block in which replies began is
// a thought to its end. It is given once, and what was learned is forgotten.
func TestModelStopsThinking(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			v := taught(t, s, gateway.Config{})
			v.hear(t, "Hello there.", stream, "").wants(t, "", "Hello there.")
			v.isStart(t, "")
			v.hear(t, "Hello there.", stream, "").wants(t, "Hello there.", "")
		}
	})
}

// TestSuspectedStart: a close that is not alone on its line, from a model that nothing is
// known of, teaches that later streams must show where they began.
func TestSuspectedStart(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		const raw = "I add two and two.</think>It is 4."
		v := converse(t, s, gateway.Config{})
		v.hear(t, raw, true, "").wants(t, raw, "")
		for range 4 {
			v.hear(t, raw, true, "").wants(t, "It is 4.", "I add two and two.")
		}
		v.isStart(t, "")
		v.hear(t, "Hello there.", true, "").wants(t, "Hello there.", "")
	})
}

// TestUnmarkedTeachesNothing: replies without a marker say nothing about where they began.
// A client can have them by a stop word.
func TestUnmarkedTeachesNothing(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField} {
			v := converse(t, s, gateway.Config{Default: routing.Route{Display: display}})
			for range 3 {
				v.raw, v.cut = "I add", byteByByte("I add")
				ask(v, v.s.path, v.request("deepseek-r1", true, ""))
			}
			v.isStart(t, "")
			v.raw, v.cut = preOpened, byteByByte(preOpened)
			w := ask(v, v.s.path, v.request("deepseek-r1", true, ""))
			thought := "I add."
			if display == routing.DisplayHide {
				thought = ""
			}
			v.s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", thought)
		}
	})
}

// TestOneCallersLessons: what the replies to one caller show lowers nothing that protects
// another, over a restart too. What they show of a thought protects all.
func TestOneCallersLessons(t *testing.T) {
	for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayTags} {
		c := gateway.Config{Tokens: people, Data: t.TempDir(), Default: routing.Route{Display: display}}
		raw := ""
		send := func(g http.Handler, caller, model, text string) *heard {
			raw = text
			r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","stream":true,"messages":[{"role":"user","content":"q"}]}`))
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer secret-of-"+caller)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			return speakers[0].listen(t, w.Body.Bytes())
		}
		open := func() *gateway.Handler {
			return handler(t, c, answering(func(*http.Request) *http.Response {
				return response("text/event-stream", strings.NewReader(speakers[0].stream(byteByByte(raw), sotto.EndStopped)))
			}))
		}
		g := open()
		for range 3 {
			send(g, "alice", "deepseek-r1", "<think>I add.</think>It is 4.")
		}
		for range 2 {
			if h := send(g, "bob", "deepseek-r1", preOpened); string(h.text) != "It is 4." && display != routing.DisplayTags || display == routing.DisplayTags && !strings.HasPrefix(string(h.text), "<think>") {
				t.Errorf("%s: %q", display, h.text)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			g = open()
		}
		send(g, "alice", "new", preOpened)
		if h := send(g, "bob", "new", preOpened); strings.HasPrefix(string(h.text), "I add.") {
			t.Errorf("%s: after a close that alice got, bob gets %q", display, h.text)
		}
		// Bob refutes for himself what others' replies say, and not for them.
		const bare = "All of a reply."
		for range 2 {
			send(g, "alice", "newer", preOpened)
		}
		for i, caller := range []string{"bob", "bob", "alice", "dave"} {
			if h := send(g, caller, "newer", bare); strings.Contains(string(h.text), bare) != (i == 1 && display != routing.DisplayHide || display == routing.DisplayTags) {
				t.Errorf("%s: %s gets %q", display, caller, h.text)
			}
		}
	}
}

// TestEndWithinThought: a reply that ends within the block that its prompt opened is never
// shown where reasoning is hidden, however it ends. Elsewhere each byte is in one place: it
// is the answer only if the reply stopped by itself and calls no tool.
func TestEndWithinThought(t *testing.T) {
	const thought = "I add canary"
	each(t, func(t *testing.T, s speaker) {
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField} {
			for _, model := range []string{"deepseek-r1", "new"} {
				for _, end := range []sotto.Ending{sotto.EndStopped, sotto.EndCut} {
					for _, stream := range []bool{true, false} {
						v := converse(t, s, gateway.Config{Default: routing.Route{Display: display}})
						v.raw, v.cut, v.end = thought, byteByByte(thought), end
						w := ask(v, v.s.path, v.request(model, stream, ""))
						hear := s.listen
						if !stream {
							hear = s.listenWhole
						}
						h := hear(t, w.Body.Bytes())
						text, reasoning := "", ""
						if display == routing.DisplayField {
							if reasoning = thought; end == sotto.EndStopped || model == "new" {
								text, reasoning = thought, ""
							}
						}
						if string(h.text) != text || string(h.thought) != reasoning {
							t.Errorf("%s %s %s stream=%v: %q and %q, want %q and %q", display, model, end, stream, h.text, h.thought, text, reasoning)
						}
						if display == routing.DisplayHide && strings.Contains(w.Body.String()+fmt.Sprint(w.Header()), "canary") {
							t.Errorf("%s %s stream=%v: %s", model, end, stream, w.Body)
						}
					}
				}
			}
		}
	})
}

// TestSwitchIsLearnedApart: what replies with thinking showed says nothing of
// those without.
func TestSwitchIsLearnedApart(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := taught(t, s, gateway.Config{})
		for _, more := range []string{`,"think":false`, `,"chat_template_kwargs":{"enable_thinking":false}`, `,"reasoning_effort":"none"`, `,"thinking":{"type":"disabled"}`} {
			v.hear(t, "Hello there.", true, more).wants(t, "Hello there.", "")
		}
		v.isStart(t, "inside")
		v.hear(t, preOpened, true, "").wants(t, "It is 4.", "I add.")
	})
}

// TestAssumedInsideAndAnOpener: a model that writes its own opener after all has
// its reasoning separated, and not given as the answer.
func TestAssumedInsideAndAnOpener(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			v := taught(t, s, gateway.Config{})
			v.hear(t, "<think>I add.</think>\n\nIt is 4.", stream, "").wants(t, "It is 4.", "I add.")
			v.hear(t, "<think>\nI add.\n</think>\n\nIt is 4.", stream, "").wants(t, "It is 4.", "I add.")
		}
	})
}

// TestAssumedInsideAndAnEmptyThought: a close at once is a close: the lesson
// stands.
func TestAssumedInsideAndAnEmptyThought(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, raw := range []string{"\n\n</think>\n\nIt is 4.", "</think>It is 4.", "</think>\nIt is 4."} {
			v := taught(t, s, gateway.Config{})
			v.hear(t, raw, true, "").wants(t, "It is 4.", "")
			v.hear(t, preOpened, true, "").wants(t, "It is 4.", "I add.")
		}
	})
}

// TestCutReplyUnlearnsNothing: reasoning that a limit cut off is not an answer.
func TestCutReplyUnlearnsNothing(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := taught(t, s, gateway.Config{})
		v.end = sotto.EndCut
		v.hear(t, "I add two and", true, "").wants(t, "", "I add two and")
		v.isStart(t, "inside")
	})
}

// TestLearnedSurvives a restart, is listed and forgotten.
func TestLearnedSurvives(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	taught(t, speakers[0], gateway.Config{Data: dir})
	info, err := os.Stat(filepath.Join(dir, "starts.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}

	v := converse(t, speakers[0], gateway.Config{Data: dir})
	v.isStart(t, "inside")
	v.hear(t, preOpened, true, "").wants(t, "It is 4.", "I add.")
	list := v.Learned().Starts()
	if len(list) != 1 || list[0].Model != "m" || list[0].Upstream != "upstream" || list[0].Seen.IsZero() {
		t.Errorf("listed %+v", list)
	}
	if n, err := v.Learned().Forget("other*"); n != 0 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if n, err := v.Learned().Forget("*"); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	v.hear(t, preOpened, true, "").wants(t, preOpened, "")

	if err := os.WriteFile(filepath.Join(dir, "starts.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.OpenLearned(dir, 0); err == nil || !strings.Contains(err.Error(), "starts.json") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestLearnedIsBounded: new lessons push out those not seen for longest, and are
// not refused.
func TestLearnedIsBounded(t *testing.T) {
	v := converse(t, speakers[0], gateway.Config{Limits: gateway.Limits{Learned: 3}})
	v.raw, v.cut = preOpened, byteByByte(preOpened)
	for i := range 10 {
		for range 2 {
			ask(v, v.s.path, v.request(fmt.Sprintf("m%d", i), true, ""))
		}
	}
	list := v.Learned().Starts()
	if len(list) != 3 {
		t.Errorf("%d entries", len(list))
	}
	newest := false
	for _, l := range list {
		newest = newest || l.Model == "m9" && l.Start() == "inside"
	}
	if !newest {
		t.Errorf("the last lesson is not among %+v", list)
	}
}

// TestNativeTeachesOutside: an upstream that tells reasoning apart has content
// that begins outside, whatever was learned.
func TestNativeTeachesOutside(t *testing.T) {
	v := taught(t, speakers[0], gateway.Config{})
	v.raw = ""
	v.cut = nil
	native := chatFrame(`{"reasoning_content":"I add."}`, "null") + chatFrame(`{"content":"It is 4."}`, "null")
	s := v.s
	s.open = native
	w := converse(t, s, gateway.Config{Data: t.TempDir()})
	for range 3 {
		w.hear(t, "", true, "").wants(t, "It is 4.", "I add.")
	}
	w.isStart(t, "outside")
	if l := w.Learned().Starts(); len(l) != 1 || l[0].Native != "reasoning_content" {
		t.Errorf("learned %+v", l)
	}
}

// TestPromptTail: an opener at the end of a rendered prompt, or of a prefill,
// says how the reply begins.
func TestPromptTail(t *testing.T) {
	v := converse(t, speakerOf(t, "openai.completions"), gateway.Config{})
	v.raw, v.cut = preOpened, byteByByte(preOpened)
	w := ask(v, v.s.path, `{"model":"m","stream":true,"prompt":"<|im_start|>assistant\n<think>\n"}`)
	v.s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")

	c := converse(t, speakerOf(t, "openai.chat"), gateway.Config{})
	c.raw, c.cut = preOpened, byteByByte(preOpened)
	w = ask(c, c.s.path, `{"model":"m","stream":true,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>\n"}]}`)
	c.s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
}

// TestRouteStart: what the configuration says takes precedence over what was learned.
func TestRouteStart(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		v := converse(t, s, gateway.Config{Routes: []routing.Route{{Models: []string{"m*"}, Start: "inside:think"}}})
		for _, stream := range []bool{true, false} {
			v.hear(t, preOpened, stream, "").wants(t, "It is 4.", "I add.")
		}
	})
}

// TestPreOpeningFamilyIsHeld: of a family whose templates may open the block, the
// reply is held until it is known how it began.
func TestPreOpeningFamilyIsHeld(t *testing.T) {
	for raw, want := range map[string][2]string{
		preOpened:                           {"It is 4.", "I add."},
		"It is 4.":                          {"It is 4.", ""},
		"<think>\nI add.</think>\nIt is 4.": {"It is 4.", "I add."},
	} {
		v := converse(t, speakers[0], gateway.Config{})
		v.raw, v.cut = raw, byteByByte(raw)
		w := ask(v, v.s.path, v.request("deepseek-r1", true, ""))
		v.s.listen(t, w.Body.Bytes()).wants(t, want[0], want[1])
	}
}

// TestLearnedHoldsNoText: what a client writes into a request's model and switches
// is in starts.json, the list and the log escaped, as a fixed word or as a digest;
// and what an earlier version kept is not taken on.
func TestLearnedHoldsNoText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var log journal
	v := converse(t, speakers[0], gateway.Config{Data: dir, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	v.raw, v.cut = preOpened, byteByByte(preOpened)
	for range 2 {
		w := ask(v, v.s.path, `{"model":"m\u001b]0;title\u0007\u202e","stream":true,"reasoning_effort":"CANARY text","think":4711,"messages":[{"role":"user","content":"q"}]}`)
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "starts.json"))
	if err != nil || len(v.Learned().Starts()) != 1 {
		t.Fatal(err, v.Learned().Starts())
	}
	for _, all := range []string{string(data), log.String(), v.Learned().Starts()[0].Model + v.Learned().Starts()[0].Switch} {
		if strings.Contains(all, "CANARY") || strings.Contains(all, "4711") || strings.ContainsFunc(all, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
			t.Errorf("%q", all)
		}
	}
	old := strings.Replace(string(data), `"switch": "`, `"switch": "reasoning_effort=CANARY text,`, 1)
	if old == string(data) {
		t.Fatalf("no switch in %s", data)
	}
	if err := os.WriteFile(filepath.Join(dir, "starts.json"), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := gateway.OpenLearned(dir, 0)
	if err != nil || len(l.Starts()) != 0 {
		t.Errorf("%v, %v", l.Starts(), err)
	}
}

// TestWithheldIsLogged: the log names a model of which a reply was withheld, and the
// setting, once in a while; the client and the record get the finding.
func TestWithheldIsLogged(t *testing.T) {
	var log journal
	v := converse(t, speakers[0], gateway.Config{Default: routing.Route{Display: routing.DisplayHide}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		v.raw, v.cut = "Hello there.", byteByByte("Hello there.")
		if w := ask(v, v.s.path, v.request("m", true, "")); !strings.Contains(w.Body.String(), "start_unknown") || strings.Contains(w.Body.String(), "Hello") {
			t.Errorf("%s", w.Body)
		}
	}
	if n := strings.Count(log.String(), "set start: outside"); n != 1 || !strings.Contains(log.String(), "model=m") {
		t.Errorf("%d times in %s", n, log.String())
	}
}
