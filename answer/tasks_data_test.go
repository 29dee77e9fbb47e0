package answer

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests read real replies, which are not in the repository: SOTTO_DATA
// names their folder.

// A loggedReply is a reply, with the verdicts of its authors and of a reader.
type loggedReply struct {
	ID      string `json:"id"`
	Gold    string `json:"gold"`
	Raw     string `json:"raw"`
	Logged  int    `json:"logged_verdict"`
	Audited int    `json:"audited_verdict"`
}

func loggedReplies(t *testing.T, name string) []loggedReply {
	t.Helper()
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA names no folder: real replies are not read")
	}
	file, err := os.Open(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		t.Skip("real replies are not read: ", err)
	}
	defer file.Close()
	var list []loggedReply
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r loggedReply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// logsWrong maps the replies whose log is wrong to the reason.
var logsWrong = map[string]string{
	"qwen25math-72-7": `10000 is the gold 10{,}000, which the log's comparison took for text`,
}

func TestDataQwenMath(t *testing.T) {
	agree, by := 0, map[string]int{}
	list := loggedReplies(t, "qwen25_math_cot")
	for _, r := range list {
		e := Extract(Math, r.Raw, Problem{}, Options{})
		v := Math.Validate(e.Candidate, Problem{Gold: r.Gold})
		by[v.By]++
		wrong := logsWrong[r.ID] != ""
		if e.Method != methodBoxed || (v.OK == (r.Logged == 1)) == wrong {
			t.Errorf("%s: %s %q against %q: %+v, logged %d", r.ID, e.Method, e.Written, r.Gold, v, r.Logged)
		}
		if !wrong {
			agree++
		}
	}
	t.Logf("qwen25_math_cot: %d of %d verdicts as logged, the others %v; %v", agree, len(list), logsWrong, by)
}

// A reader found 62 replies right, and 56 of them have a box after their reasoning.
// Across all 63 boxes, each verdict is the same as the reader's.
func TestDataThinkR1Boxes(t *testing.T) {
	boxes, right, audited, by := 0, 0, 0, map[string]int{}
	for _, r := range loggedReplies(t, "think_r1_math500") {
		audited += r.Audited
		e := Extract(Math, r.Raw, Problem{}, Options{})
		if e.Method != methodBoxed || !strings.Contains(r.Raw, "</think>") {
			t.Logf("%s: %s %q against %q, audited %d", r.ID, e.Method, e.Written, r.Gold, r.Audited)
			continue
		}
		boxes++
		v := Math.Validate(e.Candidate, Problem{Gold: r.Gold})
		by[v.By]++
		if v.OK {
			right++
		}
		if v.OK != (r.Audited == 1) {
			t.Errorf("%s: %q against %q: %+v, audited %d", r.ID, e.Written, r.Gold, v, r.Audited)
		}
	}
	t.Logf("think_r1_math500: %d boxes, %d of them right, of %d audited right; %v", boxes, right, audited, by)
	if right != 56 || audited != 62 || boxes != 63 {
		t.Errorf("%d boxes, %d right, of %d audited right; want 63, 56, 62", boxes, right, audited)
	}
}

func TestDataGSM8K(t *testing.T) {
	agree, right, by := 0, 0, map[string]int{}
	list := loggedReplies(t, "gsm8k_openai")
	for _, r := range list {
		e := Extract(GSM8K, r.Raw, Problem{}, Options{})
		v := GSM8K.Validate(e.Candidate, Problem{Gold: r.Gold})
		by[e.Method+" "+string(v.Reason)+" "+v.By]++
		if v.OK {
			right++
		}
		if v.OK == (r.Logged == 1) {
			agree++
		} else {
			t.Errorf("%s: %q against %q: %+v, logged %d", r.ID, e.Written, r.Gold, v, r.Logged)
		}
	}
	t.Logf("gsm8k_openai: %d of %d verdicts as logged, %d right; %v", agree, len(list), right, by)
}
