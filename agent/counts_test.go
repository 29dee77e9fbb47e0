package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// Tokens that a server counted are believed as far as they are possible; others are estimated
// from the bytes of the prompt and of the reply.
func TestUsage(t *testing.T) {
	reply := model.Reply{Raw: "12345678", Thoughts: []model.Thought{{Text: "1234", Raw: json.RawMessage(`"12"`)}}, Calls: []model.Call{{Arguments: "{}--"}}}
	x := record.Invocation{Messages: []record.Message{{Text: record.Say("12345")}, {Text: record.Say("123")}}, Replies: []record.Reply{{}}}
	for _, c := range []struct {
		name string
		u    model.Usage
		x    record.Invocation
		want *record.Usage
	}{
		{"counted", model.Usage{Input: 5, Output: 6, Reasoning: 3, CacheRead: 1, CacheWrite: 2}, x, &record.Usage{Input: 5, Output: 6, Reasoning: 3, CacheRead: 1, CacheWrite: 2}},
		{"not counted", model.Usage{}, x, &record.Usage{Input: 2, Output: 4, Estimated: true}},
		{"input alone", model.Usage{Input: 5}, x, &record.Usage{Input: 5, Output: 4, Estimated: true}},
		{"output alone", model.Usage{Output: 5}, x, &record.Usage{Input: 2, Output: 5, Estimated: true}},
		{"impossible", model.Usage{Input: -1, Output: maxTokens + 1}, x, &record.Usage{Input: 2, Output: 4, Estimated: true}},
		{"the most", model.Usage{Input: maxTokens, Output: maxTokens}, x, &record.Usage{Input: maxTokens, Output: maxTokens}},
		{"no reply", model.Usage{}, record.Invocation{Messages: x.Messages}, nil},
		{"no reply, impossible", model.Usage{Input: maxTokens + 1, Output: -1}, record.Invocation{}, nil},
		{"no reply, counted", model.Usage{Input: 5}, record.Invocation{}, &record.Usage{Input: 5}},
		{"no reply, output", model.Usage{Output: 5}, record.Invocation{}, &record.Usage{Output: 5}},
		{"recorded", model.Usage{Input: 5, Output: 6}, record.Invocation{Replies: x.Replies, Usage: &record.Usage{Input: 7, Output: 8}}, &record.Usage{Input: 7, Output: 8}},
	} {
		r := reply
		r.Usage = c.u
		if diff := cmp.Diff(c.want, usageOf(r, c.x)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, c := range []struct {
		u             record.Usage
		thoughts, all int
		want          int64
		guessed       bool
	}{
		{record.Usage{Output: 10, Reasoning: 4}, 1, 2, 4, false}, {record.Usage{Output: 10, Reasoning: 40}, 1, 2, 10, false}, {record.Usage{Output: 10, Reasoning: -1}, 0, 2, 0, false}, {record.Usage{Output: 10}, 1, 4, 2, true}, {record.Usage{Output: 10}, 0, 4, 0, false}, {record.Usage{Output: 10}, 1, 0, 0, false},
	} {
		var tn turn
		if tn.spend(&c.u, c.thoughts, c.all); tn.took.Reasoning != c.want || tn.took.Estimated != c.guessed {
			t.Errorf("%+v, %d of %d bytes: %d tokens, guessed %v", c.u, c.thoughts, c.all, tn.took.Reasoning, tn.took.Estimated)
		}
	}
	m := model.Message{Text: "123", Thoughts: []model.Thought{{Text: "1234"}, {Text: "1", Raw: json.RawMessage("12")}}, Calls: []model.Call{{Arguments: "12345"}}}
	q := &model.Request{Messages: []model.Message{m, {Text: "1"}}, Tools: []model.Tool{{Name: "a", Description: "bc", Schema: json.RawMessage("def")}}}
	if weight(m) != 14 || promptBytes(q) != 21 {
		t.Errorf("%d and %d bytes", weight(m), promptBytes(q))
	}
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2} {
		if millis(d) != want {
			t.Errorf("%v is %d ms", d, millis(d))
		}
	}
}

// A window learns from prompts that the server counted. Its estimate stays between one and
// eight bytes a token.
func TestWindowLearns(t *testing.T) {
	w := &window{size: 10}
	for _, c := range []struct{ bytes, tokens, of, want int64 }{{0, 0, 100, 25}, {100, 50, 10, 5}, {100, 1, 80, 10}, {100, 1000, 80, 80}} {
		w.bytes, w.tokens = c.bytes, c.tokens
		if got := w.estimate(c.of); got != c.want {
			t.Errorf("after %d bytes of %d tokens, %d bytes are %d tokens, want %d", c.bytes, c.tokens, c.of, got, c.want)
		}
	}
	for _, c := range []struct {
		w       *window
		u       *record.Usage
		bytes   int64
		largest int64
		learned bool
	}{
		{nil, &record.Usage{Input: 9}, 1, 5, false}, {&window{}, &record.Usage{Input: 9}, 1, 5, false}, {&window{size: 1}, nil, 1, 5, false}, {&window{size: 1}, &record.Usage{Input: 9}, 1, 9, true}, {&window{size: 1}, &record.Usage{Input: 3}, 1, 5, true},
		{&window{size: 1}, &record.Usage{Input: 9, Estimated: true}, 1, 9, false}, {&window{size: 1}, &record.Usage{Input: 9}, 0, 9, false}, {&window{size: 1}, &record.Usage{}, 1, 5, false},
	} {
		if got := c.w.count(c.bytes, c.u, 5); got != c.largest || c.w != nil && (c.w.bytes == c.bytes && c.w.tokens > 0) != c.learned {
			t.Errorf("%+v: %d, window %+v", c.u, got, c.w)
		}
	}
}

// A prompt has the latest reflections that fit into the budget, the oldest first, and says how
// many are left out. The latest is there in any case, cut.
func TestPastReflections(t *testing.T) {
	r := &run{x: &Experiment{ReflectionLabel: "{cycle}:"}, memories: []memory{
		{cycle: 1, reflection: "one", thoughts: []string{"abc", "d"}}, {cycle: 2, reflection: "two", note: "Thoughts: x", thoughts: []string{"x"}}, {cycle: 3, reflection: "three"},
	}}
	const one, two, three = "1: one", "2: two\nThoughts: x", "3: three"
	left := func(n int) string { return fmt.Sprintf("(%d earlier reflections are left out.)", n) }
	for budget, want := range map[int]string{
		100: one + "\n\n" + two + "\n\n" + three, len(one) + len(two) + len(three) + 2: one + "\n\n" + two + "\n\n" + three, len(one) + len(two) + len(three) + 1: left(1) + "\n\n" + two + "\n\n" + three,
		len(two) + len(three): left(2) + "\n\n" + three, len(three): left(2) + "\n\n" + three, 4: left(2) + "\n\n3: t […]", 0: left(3),
	} {
		r.x.ReflectionBudget = budget
		d := draft{run: r}
		got, extra := d.past(), d.extra
		wantExtra := 0
		if strings.Contains(want, one) {
			wantExtra = len("Thoughts: abc\n\nd")
		}
		if got != want || extra != wantExtra {
			t.Errorf("in %d bytes: %q and %d, want %q and %d", budget, got, extra, want, wantExtra)
		}
	}
	r.memories = nil
	if d := (draft{run: r}); d.past() != "" || d.extra != 0 {
		t.Errorf("%q, %d", d.past(), d.extra)
	}
	for text, want := range map[string]string{strings.Repeat("h", 200): "", strings.Repeat("h", 201): "has 201 bytes: want 200 at most", " ": "white space only", "a\tb": "want one line", "a\xff": "want one line", "": ""} {
		if err := checkHeading(text); fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	for text, ok := range map[string]bool{"": true, "{cycle}": true, "{cycle} {cycle}": false, "x": false, "{cycle}" + strings.Repeat("l", 93): true, "{cycle}" + strings.Repeat("l", 94): false} {
		if err := checkLabel(text); (err == nil) != ok {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// Calls are carried as one line each, the latest that fit, without reasoning.
func TestCarriedLines(t *testing.T) {
	c := &carried{budget: 10}
	for _, line := range []string{"1234", "5678", "9"} {
		c.keep(line)
	}
	if got := strings.Join(c.lines, "|"); got != "5678|9" || c.left != 1 || c.bytes != 7 {
		t.Errorf("%s, %d left out, %d bytes", got, c.left, c.bytes)
	}
	c.then(&carried{lines: []string{"ab"}})
	if got := strings.Join(c.lines, "|"); got != "5678|9|ab" || c.left != 1 {
		t.Errorf("%s, %d left out", got, c.left)
	}
	c.then(&carried{lines: []string{"cd"}, left: 2})
	if got := strings.Join(c.lines, "|"); got != "cd" || c.left != 6 || c.bytes != 3 {
		t.Errorf("%s, %d left out, %d bytes", got, c.left, c.bytes)
	}
	if got := c.text(0); !strings.HasSuffix(got, "\n\n(6 earlier calls are left out.)\ncd\n\n") || new(carried).text(0) != "" || !strings.Contains((&carried{left: 1}).text(0), "(1 earlier") {
		t.Errorf("%q", got)
	}
	c.keep(strings.Repeat("x", 10))
	if len(c.lines) != 0 || c.bytes != 0 {
		t.Errorf("a line that is too long: %+v", c)
	}
	tn := &turn{Turn: Turn{Grammar: sotto.Default(), Cycle: 2, Limits: Limits{Arguments: 3000}, Secrets: record.NewSecrets("k-12345678")}, box: &toolbox{}, carried: &carried{budget: 1 << 20}}
	long := `{"a":"` + strings.Repeat("x", 2000) + `"}`
	for _, c := range []struct{ name, arguments, result, want string }{
		{"look", `{"a":"<think>s</think>b k-12345678"}`, "r\nk-12345678", `cycle 2: look {"a":"b [secret]"} gave "r\n[secret]"`}, {"a b", `{`, "r", `cycle 2: unknown (unreadable) gave "r"`},
		{"look", `{"a":"` + strings.Repeat("x", 3000) + `"}`, "r", `cycle 2: look (unreadable) gave "r"`}, {"look", `{}`, `{"t":"\u003cthink\u003es\u003c\/think\u003eb"}`, `cycle 2: look {} gave "{\"t\":\"b\"}"`},
		{"look", long, strings.Repeat("y", 3000), "cycle 2: look " + long[:maxCarriedArguments] + "… gave \"" + strings.Repeat("y", maxCarriedResult) + "…\""},
	} {
		tn.carry(model.Call{Name: c.name, Arguments: c.arguments}, c.result)
		if got := tn.carried.lines[len(tn.carried.lines)-1]; got != c.want {
			t.Errorf("%.60s: %.200s\nwant %.200s", c.arguments, got, c.want)
		}
	}
	tn.carried = nil
	tn.carry(model.Call{Name: "look"}, "r") // nothing is carried
}

// A summary is the first sentence of what the model says, on one line.
func TestFirstSentences(t *testing.T) {
	for text, want := range map[string]string{
		"One. Two.": "One.", "One\n two": "One two", "Is it? Yes.": "Is it?", "Stop! Go.": "Stop!", "v1.2 is out. New": "v1.2 is out.", "一。二": "一。", "はい！次": "はい！", "何？x": "何？", "": "", "No end": "No end", "e.g.": "e.g.", strings.Repeat("x", 301): strings.Repeat("x", 300),
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%.20q: %.20q, want %.20q", text, got, want)
		}
	}
}

// A reflection of three parts is one JSON object, alone or in one fence. Its thought is found
// where it stands.
func TestReflections(t *testing.T) {
	const whole = `{"thought": "t", "reflection_on_progress": " p ", "plan_for_next_cycle": "n"}`
	for text, want := range map[string]string{
		whole: "Progress: p\nPlan: n", "```json\n" + whole + "\n```": "Progress: p\nPlan: n", " " + whole + "\n": "Progress: p\nPlan: n", `{"plan_for_next_cycle":"n"}`: "Plan: n", `{"reflection_on_progress":"p"}`: "Progress: p",
		`{"thought":"t"}`: "-", `{"reflection_on_progress":" "}`: "-", whole + " more": "-", whole + whole: "-", `{"reflection_on_progress":"p","more":1}`: "-", "text": "-", "": "-", `["p"]`: "-",
	} {
		r, ok := ReadReflection(text)
		got := r.String()
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{whole: `"t"`, "~~~\n" + whole + "\n~~~": `"t"`, `{"reflection_on_progress":"p"}`: "", `{"Thought":"a","x":{"thought":"b"},"THOUGHT":"c"}`: `"a" "c"`, `{"thought":`: "", `x`: ""} {
		var got []string
		for _, s := range thoughtSpans(text) {
			got = append(got, text[s.Start:s.End])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
	s := record.Segment{Channel: sotto.ChannelText, Start: 10, End: 40}
	var got []string
	for _, x := range parted(s, 12, []record.Span{{Start: 1, End: 3}, {Start: 8, End: 9}}) {
		got = append(got, fmt.Sprint(x.Channel, x.Start, x.End))
	}
	if strings.Join(got, " ") != "text 10 13 reasoning 13 15 text 15 20 reasoning 20 21 text 21 40" {
		t.Error(got)
	}
}

// Which runs are recalled is said by name, or by a pattern for runs of sotto's own.
func TestRecalledRuns(t *testing.T) {
	start := func(agent, parent string) record.RunStart { return record.RunStart{Agent: agent, Parent: parent} }
	selects := Recall{Runs: []string{"one", "a*", "x.y*z"}}.selects()
	for _, c := range []struct {
		run   string
		start record.RunStart
		want  bool
	}{
		{"one", start("other", "p"), true}, {"ones", start("sotto", ""), false}, {"a", start("sotto", ""), true}, {"abc", start("sotto", ""), true}, {"abc", start("sotto", "p"), false}, {"abc", start("other", ""), false}, {"ba", start("sotto", ""), false}, {"x.y1z", start("sotto", ""), true}, {"xxyz", start("sotto", ""), false}, {"x.yz1", start("sotto", ""), false},
	} {
		if got := selects(c.run, c.start); got != c.want {
			t.Errorf("%s of %s below %q: %v", c.run, c.start.Agent, c.start.Parent, got)
		}
	}
	names := func(n int) []string { return strings.Split(strings.Repeat("a ", n)+"a", " ") }
	for _, c := range []struct {
		r      Recall
		p      Policy
		key    string
		phrase string
	}{
		{Recall{}, "", "", ""}, {Recall{Runs: []string{"a"}}, Keep, "recall", "is not set"}, {Recall{Budget: 1}, Keep, "recall", "is not set"}, {Recall{On: true}, "", "recall", "strip"}, {Recall{On: true}, Strip, "recall", "strip"}, {Recall{On: true}, Summary, "recall", "summary"}, {Recall{On: true}, Keep, "", ""}, {Recall{On: true, Budget: -1}, Keep, "recall-budget", "from 1"},
		{Recall{On: true, Runs: names(31)}, Retrieve, "", ""}, {Recall{On: true, Runs: names(32)}, Retrieve, "recall-runs", "33 names: want 32 at most"}, {Recall{On: true, Runs: []string{"a", ""}}, Keep, "recall-runs[1]", "want the name"}, {Recall{On: true, Runs: []string{"a/b"}}, Selective, "recall-runs[0]", "want the name"}, {Recall{On: true, Runs: []string{"*"}}, Selective, "", ""},
	} {
		if key, err := c.r.check(c.p); key != c.key || (err == nil) != (c.key == "") || err != nil && !strings.Contains(err.Error(), c.phrase) {
			t.Errorf("%.60v under %s: %s, %v", c.r, c.p, key, err)
		}
	}
	var s thoughts
	for i := range 40 {
		s.remember("r", i, strings.Repeat("x", maxThought+9))
	}
	if n := maxSearched / maxThought; len(s.list) != n || s.bytes != maxSearched || s.list[n-1].cycle != 39 || s.list[0].cycle != 40-n {
		t.Errorf("%d thoughts of %d bytes", len(s.list), s.bytes)
	}
	x := thought{run: "r", cycle: 1, text: strings.Repeat("<é\n", 50)}
	for n := 60; n < 500; n += 7 {
		if line := x.cutTo(n); len(line) > n || n > len(x.line()) && line != x.line() || !json.Valid([]byte(line)) {
			t.Fatalf("cut to %d bytes: %d, %s", n, len(line), line)
		}
	}
}

// Of a text at most 32 calls are read, and the search ends after 64 beginnings that are none.
func TestTextCallBounds(t *testing.T) {
	box := memoryBox(t)
	count := func(text string) int {
		r, err := sotto.Default().Parse(text, sotto.BeginAuto, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		return len(box.textCalls(text, r))
	}
	call, none := "<list/>\n", "{\n"
	for _, c := range []struct {
		text string
		want int
	}{
		{strings.Repeat(call, 31), 31}, {strings.Repeat(call, 33), 32}, {strings.Repeat(none, 63) + call, 1}, {strings.Repeat(none, 64) + call, 0}, {strings.Repeat(call+none, 40), 32}, {"```\n" + strings.Repeat(call, 40) + "```", 32}, {"text\n\n```\n" + call + "```\n", 1}, {"```\n" + call + "```\nmore", 0},
		{"[" + strings.Repeat(`{"name":"list"},`, 40) + `{"name":"list"}]`, 32}, {`{"tool_calls":[{"function":{"name":"read","arguments":{"key":"a"}}}]}`, 1}, {`[[[[{"name":"list"}]]]]`, 0}, {`[[{"name":"list"}]]`, 1}, {`{"name":"list","other":1}`, 0}, {`{"name":"list","id":"1","type":"x","arguments":null}`, 1}, {`{"name":"unknown","arguments":"{}"}`, 0},
		{`{"function":"read","parameters":{"key":"a"}}`, 1}, {`{"action":"read","action_input":"{}"}`, 1}, {`{"name":"a b","arguments":{}}`, 0}, {"<function=read>\n<parameter=key>a</parameter></function>", 1}, {`<invoke name="read"><parameter name="key">a</parameter></invoke>`, 1}, {"<function=none></function>", 0}, {"<function=read>", 0},
	} {
		if got := count(c.text); got != c.want {
			t.Errorf("%.60q has %d calls, want %d", c.text, got, c.want)
		}
	}
}

// Where a reply may be one thought that was cut, its text is not an answer.
func TestUnclosed(t *testing.T) {
	grammar := func(name string) *sotto.Grammar {
		g, err := sotto.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		dialect  string
		start    sotto.Beginning
		raw      string
		end      sotto.Ending
		withhold bool
		want     bool
	}{
		{"default", sotto.BeginAuto, "text", sotto.EndCut, true, true}, {"default", sotto.BeginAuto, "text", sotto.EndCut, false, false}, {"default", sotto.BeginAuto, "text", sotto.EndStopped, true, false}, {"default", sotto.BeginAuto, "text", sotto.EndUnknown, true, false}, {"default", sotto.BeginOutside, "text", sotto.EndCut, true, false},
		{"default", sotto.BeginAuto, "<think>a</think>text", sotto.EndCut, true, false}, {"default", sotto.BeginAuto, "text", sotto.EndAborted, true, true},
	} {
		r, err := grammar(c.dialect).Parse(c.raw, sotto.BeginAuto, c.end)
		if err != nil {
			t.Fatal(err)
		}
		tn := &turn{Turn: Turn{Grammar: grammar(c.dialect)}}
		tn.withhold = c.withhold
		if got := tn.unclosed(c.start, r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	var said []string
	on := inBlocks(func(text string) { said = append(said, text) })
	for i, block := range []int{1, 1, 2, 2, 3} {
		on(block, fmt.Sprint(i))
	}
	if got := strings.Join(said, "|"); got != "0|1|\n\n2|3|\n\n4" || inBlocks(nil) != nil {
		t.Errorf("%q", got)
	}
}
