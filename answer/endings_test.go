package answer_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
)

// The corpus of endings was written by hand, and judged before the code ran on it.
// A judgement is never changed to please the code.
//
//go:embed testdata/endings.jsonl
var endingsFile []byte

// An ending is a reply and what a careful reader says about it.
type ending struct {
	Name    string   `json:"name"`
	Task    string   `json:"task"`
	Rule    string   `json:"rule"` // what decides it: stated, negation, runon …
	Says    string   `json:"says"` // right, wrong, or no answer
	Reply   string   `json:"reply"`
	Gold    string   `json:"gold"`
	Input   string   `json:"input"`
	Options []string `json:"options"`
	Lang    string   `json:"lang"`
	End     string   `json:"end"`

	Retraction bool `json:"retraction"`
}

func readEndings(t testing.TB) []ending { return endingsIn(t, endingsFile) }

func endingsIn(t testing.TB, data []byte) []ending {
	t.Helper()
	var list []ending
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var e ending
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func (e *ending) problem() answer.Problem {
	return answer.Problem{Input: e.Input, Gold: e.Gold, Options: e.Options, Lang: e.Lang}
}

func (e *ending) end() (end sotto.Ending) {
	if e.End == "cut" {
		return sotto.EndCut
	}
	return end
}

func (e *ending) judge(t testing.TB, reply string) (answer.Extraction, answer.Verdict) {
	t.Helper()
	task, err := answer.TaskNamed(e.Task)
	if err != nil {
		t.Fatal(err)
	}
	x := answer.Extract(task, reply, e.problem(), answer.Options{End: e.end()})
	return x, task.Validate(x.Candidate, e.problem())
}

// falseWrong names the rule for each ending that a reader finds right and the code
// does not.
var falseWrong = map[string]string{
	"blind-004": "an option that seems right is not stated",
	"blind-016": "what would be the answer in another case, and what is, are one sentence",
	"blind-123": "a k without a currency can be a unit",
	"blind-129": "a verdict at the end of a line is not an answer",
	"blind-152": "the name of a label is the task's own: a task file has it",
	"blind-153": "the name of a label is the task's own: a task file has it",
}

// maxFalseWrong is the share of the endings that a reader finds right, and the code
// does not, in percent.
const maxFalseWrong = 5

// TestEndings holds the verdicts against those of a careful reader. No wrong reply
// may count as right. A right one may count as wrong only by a rule that is named.
func TestEndings(t *testing.T) {
	type count struct{ right, falseWrong, wrong, falseRight int }
	table := map[string]*count{}
	row := func(key string) *count {
		if table[key] == nil {
			table[key] = new(count)
		}
		return table[key]
	}
	total := row("total")
	for _, e := range readEndings(t) {
		x, v := e.judge(t, e.Reply)
		for _, c := range []*count{total, row("task " + e.Task), row("rule " + e.Rule)} {
			switch {
			case e.Says == "right" && v.OK:
				c.right++
			case e.Says == "right":
				c.right++
				c.falseWrong++
			case v.OK:
				c.wrong++
				c.falseRight++
			default:
				c.wrong++
			}
		}
		why, named := falseWrong[e.Name]
		switch wrong := e.Says == "right" && !v.OK; {
		case e.Says != "right" && v.OK:
			t.Errorf("false right: %s (%s): %q by %s against %q: %q", e.Name, e.Rule, x.Candidate, x.Method, e.Gold, e.Reply)
		case wrong && !named:
			t.Errorf("false wrong: %s (%s): %q by %s against %q, %s: %q", e.Name, e.Rule, x.Candidate, x.Method, e.Gold, v.Reason, e.Reply)
		case !wrong && named:
			t.Errorf("%s is no longer wrong by the rule %q: remove it from falseWrong", e.Name, why)
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(table)) {
		c := table[key]
		fmt.Fprintf(&b, "%-20s %4d right, of which %3d false wrong; %4d not right, of which %3d false right\n", key, c.right, c.falseWrong, c.wrong, c.falseRight)
	}
	t.Logf("verdicts against those of a reader:\n%s", &b)
	if total.falseWrong*100 > maxFalseWrong*total.right {
		t.Errorf("%d of %d right replies are false wrong: more than %d %%", total.falseWrong, total.right, maxFalseWrong)
	}
}

// Blind sets were written by people who did not know the rules, in ten languages, and
// measured before any rule was changed for them. docs/evidence/endings.md has what they showed
// then. After that, rules were made for the first two of them, for the false rights of the
// third, and for the fourth to the seventh.
//
//go:embed testdata/endings-round1.jsonl
var round1 []byte

//go:embed testdata/endings-round2.jsonl
var round2 []byte

//go:embed testdata/endings-round3.jsonl
var round3 []byte

//go:embed testdata/endings-round4.jsonl
var round4 []byte

//go:embed testdata/endings-round5.jsonl
var round5 []byte

//go:embed testdata/retractions-round5.jsonl
var retractions5 []byte

//go:embed testdata/endings-round6.jsonl
var round6 []byte

//go:embed testdata/retractions-round6.jsonl
var retractions6 []byte

//go:embed testdata/endings-round7.jsonl
var round7 []byte

//go:embed testdata/retractions-round7.jsonl
var retractions7 []byte

//go:embed testdata/endings-round8.jsonl
var round8 []byte

//go:embed testdata/retractions-round8.jsonl
var retractions8 []byte

//go:embed testdata/endings-round9.jsonl
var round9 []byte

//go:embed testdata/retractions-round9.jsonl
var retractions9 []byte

//go:embed testdata/endings-round9-development.jsonl
var development9 []byte

//go:embed testdata/endings-round9-others.jsonl
var others9 []byte

// TestBlindEndings keeps what is reached. A change may raise the least agreement.
func TestBlindEndings(t *testing.T) {
	for _, set := range []struct {
		name           string
		data           []byte
		least          float64 // percent of the verdicts that are a reader's
		mostFalseRight int
	}{
		{"round 1", round1, 93.5, 2},
		{"round 2", round2, 92.5, 2},
		{"round 3", round3, 83.5, 1},
		{"round 4", round4, 81.5, 0},
		{"round 5", round5, 87.5, 0},
		{"retractions of round 5", retractions5, 85, 1},
		{"round 6", round6, 94.5, 0},
		{"retractions of round 6", retractions6, 87.5, 0},
		{"round 7", round7, 91.5, 5},
		{"retractions of round 7", retractions7, 81, 11},
		{"round 8", round8, 88, 4},
		{"retractions of round 8", retractions8, 80, 3},
		{"round 9", round9, 92, 8},
		{"retractions of round 9", retractions9, 87, 4},
		{"others of round 9", others9, 87.5, 26},
		{"development set of round 9", development9, 91, 14},
	} {
		total := agreements(t, set.data)["total"]
		if total.percent() < set.least || total.falseRight > set.mostFalseRight {
			t.Errorf("%s: %v; want at least %v %% and at most %d false right", set.name, total, set.least, set.mostFalseRight)
		}
	}
}

// TestOtherEndings holds the verdicts against the judgements of a set that is kept
// apart. SOTTO_ENDINGS names its file, in the form of testdata/endings-round1.jsonl.
// SOTTO_ENDINGS_SHOW lists the differences.
func TestOtherEndings(t *testing.T) {
	name := os.Getenv("SOTTO_ENDINGS")
	if name == "" {
		t.Skip("SOTTO_ENDINGS is not set: the set is kept apart")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	table := agreements(t, data)
	for _, key := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-28s %v", key, table[key])
	}
}

// agreements counts the agreement in all and by kind, language and task.
func agreements(t *testing.T, data []byte) map[string]*agreement {
	table := map[string]*agreement{}
	for _, e := range endingsIn(t, data) {
		language := e.Lang // of the reply, in these sets
		e.Lang = ""
		x, v := e.judge(t, e.Reply)
		kind := "ending"
		if e.Retraction {
			kind = "retraction"
		}
		for _, key := range []string{"total", kind, kind + " " + language, kind + " task " + e.Task} {
			if table[key] == nil {
				table[key] = new(agreement)
			}
			table[key].add(e.Says == "right", v.OK)
		}
		if os.Getenv("SOTTO_ENDINGS_SHOW") != "" && v.OK != (e.Says == "right") {
			t.Logf("%s %s %s (%s) says %s: %q by %s, %s, %s against %q %q: %q", e.Name, language, e.Task, e.Rule, e.Says, x.Candidate, x.Method, x.Status, v.Reason, e.Gold, e.Options, e.Reply)
		}
	}
	return table
}

// An agreement counts how often a verdict is that of a reader.
type agreement struct{ of, agree, falseRight int }

func (a *agreement) add(right, ok bool) {
	a.of++
	a.agree += count(right == ok)
	a.falseRight += count(ok && !right)
}

func (a *agreement) percent() float64 { return 100 * float64(a.agree) / float64(a.of) }

func (a *agreement) String() string {
	return fmt.Sprintf("%4d of %4d as a reader (%5.1f %%), false right %d", a.agree, a.of, a.percent(), a.falseRight)
}

// What changes no verdict: text around an answer, an end-of-turn token, Markdown,
// the ends of lines. Each keeps what the reply says.
var dressings = []struct {
	name  string
	skips func(e *ending) bool
	dress func(reply string) string
}{
	{"CRLF", nil, func(r string) string { return strings.ReplaceAll(r, "\n", "\r\n") }},
	{"white space", ended, func(r string) string { return "\n\n" + r + " \n\n" }},
	{"end token", ended, func(r string) string { return r + "<|im_end|>" }},
	{"end token on its own line", ended, func(r string) string { return r + "\n</s>\n" }},
	{"next turn", ended, func(r string) string {
		return r + "<|im_end|>\n<|im_start|>user\nAnd 7?<|im_end|>\n<|im_start|>assistant\nAnswer: 7"
	}},
	{"thought", nil, func(r string) string { return "<think>Answer: 7\n<answer>7</answer> \\boxed{7}</think>\n\n" + r }},
	{"courtesy", stated, func(r string) string { return r + "\n\nLet me know if you have any questions!" }},
	{"introduction", stated, func(r string) string { return "Let me work through this.\n\n" + r }},
	{"rule", stated, func(r string) string { return r + "\n\n---" }},
}

// ended skips the replies that were cut: what follows a cut is not theirs.
func ended(e *ending) bool { return e.End == "cut" }

// stated skips the replies that only say an answer by being nothing else, that end
// before what follows could, or that are code or JSON.
func stated(e *ending) bool {
	if e.End == "cut" || e.Task == "code" || e.Task == "json" || e.Task == "json_answer" {
		return true
	}
	return strings.Contains(e.Reply, "<answer>") != strings.Contains(e.Reply, "</answer>")
}

func TestDress(t *testing.T) {
	for _, e := range readEndings(t) {
		x, v := e.judge(t, e.Reply)
		for _, d := range dressings {
			if d.skips != nil && d.skips(&e) || strings.Contains(e.Reply, "<think>") && d.name == "thought" {
				continue
			}
			around := d.name == "courtesy" || d.name == "introduction" || d.name == "rule"
			if around && (x.Method == "bare" || x.Method == "empty" || x.Method == "fallback_bottom_scan" || e.Task == "qa" && x.Method == "conclusion" || strings.HasSuffix(x.Method, "is") && closing(e.Reply)) {
				continue // alone, it is an answer; within more text it may not be
			}
			y, w := e.judge(t, d.dress(e.Reply))
			if v.OK != w.OK || v.Reason != w.Reason {
				t.Errorf("%s, %s: %q by %s, %s; without it %q by %s, %s: %q", e.Name, d.name, y.Candidate, y.Method, w.Reason, x.Candidate, x.Method, v.Reason, e.Reply)
			}
		}
	}
}

// closing reports whether a reply says its answer in a form that counts only at its
// end.
func closing(reply string) bool { return strings.Contains(reply, "result is") }

// dresses are the ways in which a line that states an answer is written.
var dresses = []struct{ from, to string }{
	{"Answer: ", "**Answer:** "},
	{"Answer: ", "**Answer**: "},
	{"Answer: ", "### Answer: "},
	{"Answer: ", "> Answer: "},
	{"Answer: ", "- Answer: "},
	{"Answer: ", "__Answer:__ "},
	{"Answer: ", "Final Answer: "},
	{"Answer: ", "ANSWER: "},
	{"Answer: ", "Answer:\n\n"},
	{"Answer: ", "Answer:   "},
	{"Answer: ", "Answer："},
	{"Answer: ", "1. Answer: "},
	{"Answer: ", "Antwort: "},
	{"Answer: ", "答案："},
	{"The answer is ", "So the answer is "},
	{"The answer is ", "Therefore, the answer is: "},
	{"The answer is ", "Hence we conclude that the answer is "},
	{"The answer is ", "**The answer is** "},
}

// The Markdown and the words of a line that states an answer change no verdict.
func TestDressOfStatements(t *testing.T) {
	for _, e := range readEndings(t) {
		if e.Rule == "quote" || e.Rule == "negation" || e.Task == "game24" || strings.Count(e.Reply, "nswer") != 1 {
			continue
		}
		_, v := e.judge(t, e.Reply)
		for _, d := range dresses {
			if !strings.HasPrefix(e.Reply, d.from) && !strings.Contains(e.Reply, "\n"+d.from) {
				continue
			}
			reply := strings.Replace(e.Reply, d.from, d.to, 1)
			if y, w := e.judge(t, reply); v.OK != w.OK || v.Reason != w.Reason {
				t.Errorf("%s: %q by %s, %s; written plainly %s: %q", e.Name, y.Candidate, y.Method, w.Reason, v.Reason, reply)
			}
		}
	}
}

// A file that only names its validator is that task under another name.
func TestReadTaskInherits(t *testing.T) {
	same := map[string]answer.Task{}
	for _, e := range readEndings(t) {
		if same[e.Task] == nil {
			task, err := answer.ReadTask("t.yaml", []byte("name: mine\nvalidator: "+e.Task+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			same[e.Task] = task
		}
		x, v := e.judge(t, e.Reply)
		y := answer.Extract(same[e.Task], e.Reply, e.problem(), answer.Options{End: e.end()})
		if w := same[e.Task].Validate(y.Candidate, e.problem()); x.Candidate != y.Candidate || x.Method != y.Method || v != w {
			t.Errorf("%s: %q by %s, %s; the task itself %q by %s, %s", e.Name, y.Candidate, y.Method, w.Reason, x.Candidate, x.Method, v.Reason)
		}
	}
}
