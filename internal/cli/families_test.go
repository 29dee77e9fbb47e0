package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// families are models, and a reply of each in the markers of its family.
var families = []struct{ model, dialect, reply string }{
	{"deepseek-r1", "deepseek_r1", "<think>I add them up.</think>Answer: 5"},
	{"qwen3-32b", "qwen3", "<think>Answer: 4, or is it more?</think>\n\nAnswer: 5"},
	{"gpt-oss-20b", "harmony", "<|channel|>analysis<|message|>Answer: 4, or is it more?<|end|><|start|>assistant<|channel|>final<|message|>Answer: 5<|return|>"},
	{"magistral-small", "magistral", "[THINK]I add them up.[/THINK]Answer: 5"},
	{"gemma-4-27b", "gemma4", "<|channel>thought\nI add them up.<channel|>Answer: 5"},
	{"kimi-vl-a3b-thinking", "kimi_vl", "◁think▷I add them up.◁/think▷Answer: 5"},
	{"seed-oss-36b", "seed_oss", "<seed:think>I add them up.</seed:think>Answer: 5"},
	{"command-a-reasoning", "command_a", "<|START_THINKING|>I add them up.<|END_THINKING|><|START_RESPONSE|>Answer: 5<|END_RESPONSE|>"},
}

// logOf returns a log of all families, in one of several shapes. Without models, no row
// names its model.
func logOf(t *testing.T, shape string, models bool) string {
	t.Helper()
	var b strings.Builder
	for i, f := range families {
		row := map[string]any{}
		switch shape {
		case "ollama":
			row["message"], row["done"] = map[string]any{"role": "assistant", "content": f.reply}, true
		case "messages":
			row["messages"] = []any{map[string]any{"role": "user", "content": "2+3?"}, map[string]any{"role": "assistant", "content": f.reply}}
		case "response":
			row["response"] = map[string]any{"model": f.model, "choices": []any{map[string]any{"message": map[string]any{"content": f.reply}}}}
		default:
			row["id"], row["raw"], row["gold"] = i, f.reply, "5"
		}
		if models && shape != "response" {
			row["model"] = f.model
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// TestFamiliesOfOneLog: in a log of several families, the model of each record chooses how
// its reply is read, without any flag: what is stripped does not leak, and the answers are
// those of the replies.
func TestFamiliesOfOneLog(t *testing.T) {
	for shape, args := range map[string][]string{
		"rows":     {"--jsonl", "--field", "raw"},
		"messages": {"--from", "messages"},
		"ollama":   {"--from", "ollama"},
		"response": {"--jsonl", "--field", "response.choices.0.message.content"},
	} {
		log := logOf(t, shape, true)
		stripped, errs, status := runSotto(t, log, append([]string{"strip"}, args...)...)
		if status != 0 || strings.Count(stripped, "Answer: 5") != len(families) || strings.Contains(stripped, "add them") || strings.Contains(stripped, "Answer: 4") {
			t.Errorf("%s: strip: status %d: %s%s", shape, status, stripped, errs)
		}
		var report struct{ Replies, Leaked int }
		out, errs, status := runSotto(t, stripped, "leaks", "--json")
		if err := json.Unmarshal([]byte(out), &report); err != nil || status != 0 || report.Replies != len(families) || report.Leaked != 0 {
			t.Errorf("%s: leaks in what was stripped: status %d, %v: %s%s", shape, status, err, out, errs)
		}
		out, _, _ = runSotto(t, log, "leaks", "--json")
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Leaked != len(families) {
			t.Errorf("%s: leaks in the log: %d of %d", shape, report.Leaked, len(families))
		}
	}
	out, errs, status := runSotto(t, logOf(t, "rows", true), "score", "--task", "math", "--jsonl", "--with", "reading")
	if status != 0 || strings.Count(out, `"ok":true`) != len(families) {
		t.Errorf("score: status %d: %s%s", status, out, errs)
	}
	for _, f := range families {
		if !strings.Contains(out, `"dialect":"`+f.dialect+`"`) {
			t.Errorf("score reads no line in dialect %s:\n%s", f.dialect, out)
		}
	}
	if out, _, status := runSotto(t, logOf(t, "messages", true), "split", "--from", "messages"); status != 0 || strings.Count(out, `"visible":"Answer: 5"`) != len(families) {
		t.Errorf("split: status %d: %s", status, out)
	}
}

// TestFamiliesByMarkers: where the records of such a log do not name their models, the
// markers of each reply do. No answer comes from a thought, nothing leaks, and each command
// says how the replies were read.
func TestFamiliesByMarkers(t *testing.T) {
	const read = "default 2 · command_a 1 by markers · gemma4 1 by markers · harmony 1 by markers · kimi_vl 1 by markers · magistral 1 by markers · seed_oss 1 by markers"
	log := logOf(t, "rows", false)
	for _, command := range [][]string{{"strip", "--field", "raw"}, {"split"}, {"extract", "--task", "math"}, {"score", "--task", "math", "--dialect", "auto"}} {
		out, errs, status := runSotto(t, log, append(command, "--jsonl")...)
		if status != 0 || !strings.Contains(errs, read) || strings.Contains(out, `"candidate":"4"`) || strings.Contains(out, `"visible":"Answer: 4`) {
			t.Errorf("%q: status %d: %s%s", command, status, out, errs)
		}
		if command[0] == "score" && strings.Count(out, `"ok":true`) != len(families) {
			t.Errorf("score: %s", out)
		}
	}
	if out, _, status := runSotto(t, log, "leaks"); status != 0 || !strings.Contains(out, "dialects: "+read) {
		t.Errorf("leaks: status %d: %s", status, out)
	}
	stripped, _, _ := runSotto(t, logOf(t, "messages", false), "strip", "--from", "messages")
	if out, _, _ := runSotto(t, stripped, "leaks", "--json", "--max-leaked", "0"); !strings.Contains(out, `"leaked": 0`) || strings.Count(stripped, `"Answer: 5"`) != len(families) {
		t.Errorf("what was stripped: %s%s", stripped, out)
	}
}

// TestFamiliesNotRead: in one dialect for all, the replies of other families are not read.
// Every command names each family with its count and fails, unless it may miss so many;
// strip counts as leaks does.
func TestFamiliesNotRead(t *testing.T) {
	for shape, args := range map[string][]string{"rows": {"--jsonl", "--field", "raw"}, "messages": {"--from", "messages"}} {
		for _, chosen := range [][]string{{"--dialect", "default"}, {"--dialect", "magistral"}, {"--model", "qwen3"}} {
			log := logOf(t, shape, true) + logOf(t, shape, false)
			stripped, errs, status := runSotto(t, log, append(append([]string{"strip"}, args...), chosen...)...)
			out, _, _ := runSotto(t, stripped, "leaks", "--json")
			var report struct{ Leaked int }
			if err := json.Unmarshal([]byte(out), &report); err != nil || report.Leaked == 0 {
				t.Fatalf("%v: %s", err, out)
			}
			if status != 1 || !strings.Contains(errs, fmt.Sprintf("%d replies of the output still hold reasoning", report.Leaked)) || !strings.Contains(errs, "seed_oss in ") {
				t.Errorf("%s, %q: leaks counts %d; status %d:\n%s", shape, chosen, report.Leaked, status, errs)
			}
		}
	}
	twice := logOf(t, "rows", false) + logOf(t, "rows", false)
	for _, command := range [][]string{{"split"}, {"extract", "--task", "math"}, {"score", "--task", "math"}} {
		command = append(command, "--jsonl", "--dialect", "default")
		_, errs, status := runSotto(t, twice, command...)
		if status != 5 || !strings.Contains(errs, "seed_oss in 2 replies") || !strings.Contains(errs, "magistral in 2 replies") || !strings.Contains(errs, "12 of 16 replies have markers that were not read") {
			t.Errorf("%q: status %d: %s", command, status, errs)
		}
		if _, errs, status := runSotto(t, twice, append(command, "--max-unread", "80%")...); status != 0 {
			t.Errorf("%q with --max-unread: status %d: %s", command, status, errs)
		}
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jsonl")
	if err := os.WriteFile(in, []byte(twice), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, errs, status := runSotto(t, "", "score", "--task", "math", "--jsonl", "--dialect", "default", "--shard", fmt.Sprintf("%d/2", i), "-o", filepath.Join(dir, "out"), in); status != 0 {
			t.Fatalf("shard %d: status %d: %s", i, status, errs)
		}
	}
	out, errs, status := runSotto(t, "", "score", "merge", "--json", filepath.Join(dir, "out"))
	if status != 5 || !strings.Contains(errs, "12 of 16 replies have markers that were not read") || !strings.Contains(out, `{"dialect":"magistral","replies":2}`) {
		t.Errorf("merge: status %d: %s%s", status, errs, out)
	}
}
