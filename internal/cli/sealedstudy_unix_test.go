//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/lab/study"
)

// Canaries are what no file of a sealed study may hold in plain: what was asked, thought, said,
// called, remembered and judged, the values of the grid, and what a server said when it failed.
// The number is the answer to each problem.
var studyCanaries = []string{"CANARY", "31415926"}

// writeSealedStudies writes two studies, one of runs and one of streams, and their inputs.
func writeSealedStudies(t *testing.T, dir string, problems int) (identity string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i := range problems {
		fmt.Fprintf(&list, `{"id":"CANARYid-%d","input":"CANARYquestion %d: how many pages has CANARYbook %d?","gold":"31415926"}`+"\n", i, i, i*7919)
	}
	for name, text := range map[string]string{
		"identity": id.String() + "\n", "recipients": id.Recipient().String() + "\n", "problems.jsonl": list.String(),
		"experiment.yaml": "v: 1\nname: base\nsystem: CANARYsystem\ngoal: CANARYgoal\ncycles: 3\nmodel: {provider: scripted, name: brief, script: script.yaml}\nlimits: {failed-cycles: 1, attempts: 1}\n",
		"script.yaml": `- when: {model: silent}
  error: {status: 400, message: CANARYerror}
- when: {step: 1}
  text: "<think>CANARYthought</think>CANARYnote"
  calls: [{name: write, arguments: {key: CANARYkey, value: CANARYvalue}}]
- text: "<think>CANARYsecond</think>CANARYanswer"
`,
		"streamscript.yaml": `- text: "<think>CANARYthought</think>CANARYwork: it has 31415926 pages.\n#### 31415926"` + "\n",
		"runs.yaml":         "v: 1\nname: runs\nquestion: CANARYquestion\nbase: {run: experiment.yaml}\ngrid: {model.name: [brief, silent], system: [CANARYsystem one, CANARYsystem two]}\nworkers: 2\nrecord: {recipient: recipients, reasoning: full}\n",
		"streams.yaml":      "v: 1\nname: streams\nbase: {solve: {task: gsm8k, problems: problems.jsonl, script: streamscript.yaml}}\ngrid: {mode: [{label: CANARYcot, value: cot}, {label: CANARYgraph, value: graph}]}\nworkers: 2\nrecord: {recipient: recipients}\n",
		"rubric.yaml":       "v: 1\nname: depth\ninstruction: How deep is it?\ncriteria:\n  - {name: depth, description: depth of the thought, scale: [1, 5]}\n",
		"judge.yaml":        `- text: "<think>CANARYjudge</think>{\"depth\": 3}"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "identity")
}

// inPlain lists the files below a folder that hold a canary, or whose names do.
func inPlain(t *testing.T, dir string) (list []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(name)
		for _, canary := range studyCanaries {
			if bytes.Contains(data, []byte(canary)) || strings.Contains(name[len(dir):], strings.ToLower(canary)) {
				list = append(list, name+": "+canary)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%s: %d files, %v", dir, files, err)
	}
	return list
}

// A sealed study of runs has no secret in plain in any file, and is reported with the identity.
func TestSealedRuns(t *testing.T) {
	dir := t.TempDir()
	identity := writeSealedStudies(t, dir, 1)
	at := filepath.Join(dir, "runs")
	if status, _, errs := runStudy("study", filepath.Join(dir, "runs.yaml"), "-q", "-o", at); status != 1 || !strings.Contains(errs, "2 of 4 cells are not done") {
		t.Fatal(errs)
	}
	if list := inPlain(t, at); len(list) > 0 {
		t.Errorf("in plain: %q", list)
	}
	if logs, _ := filepath.Glob(filepath.Join(at, "logs", "*")); len(logs) != 4 {
		t.Errorf("logs %q", logs)
	}
	for _, command := range [][]string{{"study", "report"}, {"compare"}, {"thoughts", "--by", "system"}} {
		if status, out, errs := runStudy(append(command, at)...); status == 0 || !strings.Contains(errs, "--identity") {
			t.Errorf("%q without the identity: %s%s", command, out, errs)
		}
	}
	if status, out, errs := runStudy("study", "status", at); status != 1 || !strings.Contains(out, "2 done, 2 failed") || strings.Contains(out, "CANARY") || strings.Contains(out, "failed_cycles") || !strings.Contains(errs, "--identity") {
		t.Errorf("status without the identity: %s%s", out, errs)
	}
	if _, out, _ := runStudy("study", "status", at, "--identity", identity); !strings.Contains(out, "CANARYsystem two") || !strings.Contains(out, "failed_cycles") {
		t.Errorf("status with the identity: %s", out)
	}
	if status, out, errs := runStudy("study", "report", at, "--identity", identity); status != 0 || !strings.Contains(out, "CANARYsystem one") || !strings.Contains(out, "answered_share") {
		t.Errorf("report: %s%s", out, errs)
	}
	judged := []string{"thoughts", at, "--identity", identity, "--rubric", filepath.Join(dir, "rubric.yaml"), "--judge-script", filepath.Join(dir, "judge.yaml")}
	if status, _, errs := runStudy(judged...); status == 0 || !strings.Contains(errs, "--record-recipient") {
		t.Errorf("a judge's record in plain: %s", errs)
	}
	if status, out, errs := runStudy(append(judged, "--record-recipient", filepath.Join(dir, "recipients"))...); status != 0 || !strings.Contains(out, "depth") {
		t.Errorf("the judge: %s%s", out, errs)
	}
	if list := inPlain(t, at+".judged"); len(list) > 0 {
		t.Errorf("of the judge, in plain: %q", list)
	}
}

// A sealed study of streams that is killed with SIGKILL has no secret in plain in any file.
// Without the identity it goes on, and a stream whose memory must be read begins again; with
// the identity both go on where they were. The figures are those of a study that was not killed.
func TestSealedStreamsKilled(t *testing.T) {
	dir := t.TempDir()
	const problems = 80
	identity := writeSealedStudies(t, dir, problems)
	file := filepath.Join(dir, "streams.yaml")
	for _, with := range [][]string{nil, {"--identity", identity}} {
		at := filepath.Join(dir, fmt.Sprint("streams", len(with)))
		for try := 0; !killStreams(t, file, at); try++ { // on a machine that is busy one may end before both began
			if try == 9 {
				t.Fatal("the streams ended before they were killed")
			}
			os.RemoveAll(at)
		}
		if list := inPlain(t, at); len(list) > 0 {
			t.Errorf("after the kill, in plain: %q", list)
		}
		if status, _, errs := runStudy(append([]string{"study", file, "-q", "-o", at}, with...)...); status != 0 {
			logs, _ := filepath.Glob(filepath.Join(at, "logs", "*"))
			t.Fatalf("resumed: %s%q", errs, logs)
		}
		if list := inPlain(t, at); len(list) > 0 {
			t.Errorf("in plain: %q", list)
		}
		again, _ := filepath.Glob(filepath.Join(at, "old", "*", "*.jsonl"))
		if want := 1 - len(with)/2; len(again) != want {
			t.Errorf("with %q, %d streams began again", with, len(again))
		}
		sealedResults(t, dir, at, identity, problems)
	}
}

// killStreams runs a study until both of its streams have results, and kills it with its cells.
// It reports whether both were under way.
func killStreams(t *testing.T, file, at string) bool {
	t.Helper()
	c := exec.Command("sotto", "study", file, "-q", "-o", at)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for begun := false; !begun && len(ended) == 0; time.Sleep(time.Millisecond) {
		outputs, _ := filepath.Glob(filepath.Join(at, "streams", "*.jsonl"))
		begun = len(outputs) == 2
		for _, name := range outputs {
			data, _ := os.ReadFile(name)
			begun = begun && bytes.Count(data, []byte("\n")) > 3
		}
	}
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil && len(ended) == 0 {
		t.Fatal(err)
	}
	<-ended
	time.Sleep(20 * time.Millisecond) // the system ends the cells
	s, err := study.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	return s.Counts()[study.Running] == 2
}

// sealedResults checks what a finished study of streams says.
func sealedResults(t *testing.T, dir, at, identity string, problems int) {
	t.Helper()
	s, err := study.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Cells {
		m := s.State(&s.Cells[i]).Measures
		if m["problems"] != float64(problems) || m["solved"] != float64(problems) || m["attempts"] != float64(problems) {
			t.Errorf("cell %s: %v", s.Cells[i].ID, m)
		}
		name := study.StreamFile(at, s.Cells[i].ID)
		if status, out, errs := runStudy("solve", "report", name); status == 0 || !strings.Contains(errs, "--identity") {
			t.Errorf("solve report without the identity: %s%s", out, errs)
		}
		if status, out, errs := runStudy("solve", "report", name, "--identity", identity); status != 0 || !strings.Contains(out, fmt.Sprint(problems, "   100.0")) {
			t.Errorf("solve report: %s%s", out, errs)
		}
	}
	if status, out, errs := runStudy("study", "report", at, "-i", identity, "--html", filepath.Join(dir, "page.html")); status != 0 || !strings.Contains(out, "CANARYgraph") {
		t.Errorf("report: %s%s", out, errs)
	}
	if status, out, errs := runStudy("compare", at, "-i", identity); status != 0 || !strings.Contains(out, "CANARYcot") {
		t.Errorf("compare: %s%s", out, errs)
	}
	memories, _ := filepath.Glob(filepath.Join(at, "memory", "*"))
	if len(memories) != 1 {
		t.Fatalf("memories %q", memories)
	}
	if status, out, errs := runStudy("solve", "memory", "ls", "--memory", memories[0], "-i", identity); status != 0 || strings.Count(out, "31415926") < 1 && strings.Count(out, "CANARY") < problems {
		t.Errorf("memory: %.400s%s", out, errs)
	}
	if status, _, errs := runStudy("solve", "memory", "ls", "--memory", memories[0]); status == 0 || !strings.Contains(errs, "--identity") {
		t.Errorf("memory without the identity: %s", errs)
	}
}
