package inputfiles

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// records reads a log. It returns the lines, without the members at and row.
func recordsOf(t *testing.T, in Input, set Settings) (lines []string) {
	t.Helper()
	s, err := Open(in, set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if from := strings.Index(line, `,"at":`); from >= 0 {
			line = line[:from] + line[strings.LastIndex(line, `,"raw":`):]
		}
		lines = append(lines, line)
	}
	return lines
}

const inspectSample = `{"id":"a","epoch":1,"input":"2+3?","choices":null,"target":"5","messages":[],
 "output":{"model":"m/1","choices":[{"message":{"role":"assistant","content":[{"type":"reasoning","reasoning":"so"},{"type":"text","text":"It is "},{"type":"text","text":"5."}]},"stop_reason":"stop"}],"completion":"It is 5."},"scores":{}}`

const inspectFailed = `{"id":"b","epoch":1,"input":"q","target":["5","five"],"output":{"model":"m/1","choices":[]},"error":{"message":"timeout"}}`

const (
	inspectRecord = `{"id":"a","group":"a","model":"m/1","input":"2+3?","gold":"5","finish_reason":"stop","reasoning":"so","raw":"It is 5."}`
	inspectLost   = `{"id":"b","group":"b","model":"m/1","input":"q","gold":["5","five"],"failed":"timeout","end":"aborted","raw":""}`
)

// TestPresets: from each log come the text, the reasoning, the end, the model, the id
// and the gold of every reply, and a record for each request that has none.
func TestPresets(t *testing.T) {
	for _, test := range []struct{ from, file, want string }{
		{"lm-eval", `{"doc_id":0,"doc":{"q":1},"target":"18","arguments":{"gen_args_0":{"arg_0":"Q: x","arg_1":{}}},"resps":[["<think>a</think>18"]],"filtered_resps":["18"],"filter":"strict","exact_match":1.0}
{"doc_id":1,"target":"7","arguments":[["Q: y",{}]],"resps":[["6","7"]],"filter":"strict"}
{"doc_id":0,"target":"18","resps":[["<think>a</think>18"]],"filter":"flexible"}
{"doc_id":2,"target":"7","resps":["flat"],"filter":"strict"}
`, `{"id":0,"group":0,"input":"Q: x","gold":"18","raw":"<think>a</think>18"}
{"id":"1/1","group":1,"input":"Q: y","gold":"7","raw":"6"}
{"id":"1/2","group":1,"input":"Q: y","gold":"7","raw":"7"}
{"id":2,"group":2,"gold":"7","raw":"flat"}`},
		{"zeroeval", `[{"session_id":"gsm-0","chat_history":["2+2?"],"output":["<think>a</think>4"],"generator":"m","configs":{},"correct_answer":"4"}]`,
			`{"id":"gsm-0","group":"gsm-0","model":"m","input":"2+2?","gold":"4","raw":"<think>a</think>4"}`},
		{"openai-batch", `{"id":"batch_req_1","custom_id":"r1","response":{"status_code":200,"body":{"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"5","reasoning_content":"t"},"finish_reason":"length"}]}},"error":null}
{"custom_id":"r2","response":{"status_code":200,"body":{"model":"gpt","choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}},"error":null}
{"custom_id":"r3","response":null,"error":{"code":"batch_expired","message":"too late"}}
{"custom_id":"r4","response":{"status_code":400,"body":{"error":{"message":"bad request"}}},"error":null}
{"custom_id":"r5","response":{"body":{"model":"o","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"6"}]}]}}}
`, `{"id":"r1","group":"r1","model":"gpt","finish_reason":"length","reasoning":"t","raw":"5"}
{"id":"r2","group":"r2","model":"gpt","finish_reason":"stop","failed":"refused: I cannot.","end":"aborted","raw":""}
{"id":"r3","group":"r3","failed":"too late","end":"aborted","raw":""}
{"id":"r4","group":"r4","failed":"bad request","end":"aborted","raw":""}
{"id":"r5","group":"r5","model":"o","finish_reason":"max_output_tokens","reasoning":"hm","raw":"6"}`},
		{"anthropic-batch", `{"custom_id":"r1","result":{"type":"succeeded","message":{"model":"claude","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"5"}],"stop_reason":"end_turn"}}}
{"custom_id":"r2","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}}}
{"custom_id":"r3","result":{"type":"expired"}}
`, `{"id":"r1","group":"r1","model":"claude","finish_reason":"end_turn","reasoning":"t","raw":"5"}
{"id":"r2","group":"r2","failed":"bad","end":"aborted","raw":""}
{"id":"r3","group":"r3","failed":"expired","end":"aborted","raw":""}`},
		{"messages", `{"id":1,"messages":[{"role":"system","content":"s"},{"role":"user","content":"2+3?"},{"role":"assistant","content":"<think>t</think>5"}]}
{"id":2,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":"one"},{"role":"user","content":"more"},{"role":"assistant","content":"two","reasoning_content":"t"}],"gold":"2"}
{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}
{"id":4,"messages":[{"role":"user","content":"q"}]}
`, `{"id":1,"group":1,"input":"2+3?","raw":"<think>t</think>5"}
{"id":2,"group":2,"input":"more","gold":"2","reasoning":"t","raw":"two"}
{"input":"q","raw":"a"}
{"id":4,"group":4,"input":"q","failed":"there is no reply","end":"aborted","raw":""}`},
		{"ollama", `{"model":"qwen3","message":{"role":"assistant","content":"5","thinking":"t"},"done":true,"done_reason":"stop"}
{"model":"qwen3","response":"6","thinking":"u","done":true,"done_reason":"length"}
`, `{"model":"qwen3","finish_reason":"stop","reasoning":"t","raw":"5"}
{"model":"qwen3","finish_reason":"length","reasoning":"u","raw":"6"}`},
		{"inspect", `{"version":2,"status":"success","eval":{"model":"m","samples":3,"note":"\"samples\":["},"plan":{"samples":[1]},"samples":[` + inspectSample + "," + inspectFailed + `],"reductions":[{}]}`,
			inspectRecord + "\n" + inspectLost},
	} {
		got := strings.Join(recordsOf(t, Input{Reader: strings.NewReader(test.file)}, Settings{From: test.from}), "\n")
		if got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.from, got, test.want)
		}
	}
}

// TestEval reads an .eval file by its first bytes: a zip archive, also with zstd. A
// sample that is broken loses no other.
func TestEval(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zipZstd, zstd.ZipCompressor())
	for _, file := range []struct {
		name, text string
		method     uint16
	}{
		{"header.json", "{}", zip.Deflate}, {"samples/a_epoch_1.json", inspectSample, zipZstd},
		{"samples/c_epoch_1.json", "{", zip.Store}, {"samples/b_epoch_1.json", inspectFailed, zip.Deflate}, {"summaries.json", "[]", zip.Deflate},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: file.name, Method: file.method})
		if err == nil {
			_, err = io.WriteString(w, file.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := recordsOf(t, Input{Reader: file, Name: name, File: file}, Settings{})
	if len(got) != 3 || got[0] != inspectRecord || !strings.HasPrefix(got[1], faultMark+"sample 2: ") || got[2] != inspectLost {
		t.Errorf("%q", got)
	}
}

// TestWrongPreset: the error of a wrong guess names the preset that fits.
func TestWrongPreset(t *testing.T) {
	row := `{"custom_id":"x","result":{"type":"expired"}}`
	got := recordsOf(t, Input{Reader: strings.NewReader(row + "\n{}\nno\n")}, Settings{From: "lm-eval"})
	if len(got) != 3 || got[0] != faultMark+"line 1: it does not look like one of the samples of lm-eval; these rows look like rows of an Anthropic batch: --from anthropic-batch" ||
		got[1] != faultMark+"line 2: it does not look like one of the samples of lm-eval" || !strings.HasPrefix(got[2], faultMark+"line 3: ") {
		t.Errorf("%q", got)
	}
	if Suggest([]byte(row)) == "" || Suggest([]byte(`{"raw":"x"}`)) != "" || Suggest([]byte("{")) != "" {
		t.Error("Suggest")
	}
}

// TestPublishedForms reads rows with every member that the programs write, in their
// order, also those that Sotto has no use for.
func TestPublishedForms(t *testing.T) {
	for _, test := range []struct{ from, file, want string }{
		{"lm-eval", `{"doc_id": 0, "doc": {"question": "2+16?", "answer": "It is 18.\n#### 18"}, "target": "It is 18.\n#### 18", "arguments": {"gen_args_0": {"arg_0": "Question: 2+16?\nAnswer:", "arg_1": {"until": ["Question:", "</s>", "<|im_end|>"], "do_sample": false, "temperature": 0.0}}}, "resps": [[" It is 18. The answer is 18."]], "filtered_resps": ["18"], "filter": "strict-match", "metrics": ["exact_match"], "doc_hash": "0b", "prompt_hash": "1c", "target_hash": "2d", "exact_match": 1.0}
{"doc_id": 0, "doc": {"question": "2+16?", "answer": "It is 18.\n#### 18"}, "target": "It is 18.\n#### 18", "arguments": {"gen_args_0": {"arg_0": "Question: 2+16?\nAnswer:", "arg_1": {"until": ["Question:"]}}}, "resps": [[" It is 18. The answer is 18."]], "filtered_resps": ["18"], "filter": "flexible-extract", "metrics": ["exact_match"], "doc_hash": "0b", "prompt_hash": "1c", "target_hash": "2d", "exact_match": 1.0}
{"doc_id": 1, "doc": {"goal": "g", "gold": 0}, "target": "0", "arguments": {"gen_args_0": {"arg_0": "Question: g\nAnswer:", "arg_1": " yes"}, "gen_args_1": {"arg_0": "Question: g\nAnswer:", "arg_1": " no"}}, "resps": [[["-3.25", "False"]], [["-4.5", "False"]]], "filtered_resps": [["-3.25", "False"], ["-4.5", "False"]], "filter": "none", "metrics": ["acc"], "doc_hash": "0b", "prompt_hash": "1c", "target_hash": "2d", "acc": 1.0}
`, `{"id":0,"group":0,"input":"Question: 2+16?\nAnswer:","gold":"It is 18.\n#### 18","raw":" It is 18. The answer is 18."}
` + faultMark + "line 3: it has likelihoods of given answers: there is no reply to read"},
		{"inspect", `{"version": 2, "status": "success", "eval": {"task": "t", "model": "m-1"}, "plan": {"steps": []}, "results": {"total_samples": 1}, "stats": {}, "samples": [{"id": 1, "epoch": 1, "input": [{"id": "a1", "content": "Which city?", "source": "input", "role": "user"}], "choices": ["Rome", "Lima"], "target": "B", "messages": [{"id": "a1", "content": "Which city?", "source": "input", "role": "user"}, {"id": "a2", "content": "ANSWER: B", "source": "generate", "role": "assistant", "model": "m-1"}], "output": {"model": "m-1", "choices": [{"message": {"id": "a2", "content": "ANSWER: B", "source": "generate", "role": "assistant", "model": "m-1"}, "stop_reason": "max_tokens"}], "completion": "ANSWER: B", "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}, "time": 0.5}, "scores": {"choice": {"value": "C", "answer": "B", "explanation": "ANSWER: B", "history": []}}, "metadata": {}, "store": {}, "events": [{"span_id": "s", "timestamp": "t", "event": "span_begin"}], "model_usage": {"m-1": {"input_tokens": 9}}, "total_time": 0.6, "working_time": 0.6, "uuid": "u", "error_retries": [], "attachments": {}}], "reductions": []}
`, `{"id":1,"group":1,"model":"m-1","input":[{"id": "a1", "content": "Which city?", "source": "input", "role": "user"}],"gold":"B","options":["Rome", "Lima"],"finish_reason":"max_tokens","raw":"ANSWER: B"}`},
		{"openai-batch", `{"id": "batch_req_1", "custom_id": "request-2", "response": {"status_code": 200, "request_id": "req_1", "body": {"id": "chatcmpl-1", "object": "chat.completion", "created": 1711652795, "model": "m-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello.", "refusal": null, "annotations": []}, "logprobs": null, "finish_reason": "stop"}, {"index": 1, "message": {"role": "assistant", "content": "Hi.", "refusal": null}, "logprobs": null, "finish_reason": "length"}], "usage": {"prompt_tokens": 22, "completion_tokens": 2, "total_tokens": 24}, "service_tier": "default", "system_fingerprint": "fp_1"}}, "error": null}
{"id": "batch_req_2", "custom_id": "request-3", "response": null, "error": {"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}}
{"id": "batch_req_3", "custom_id": "request-4", "response": {"status_code": 200, "request_id": "req_3", "body": {"id": "resp_1", "object": "response", "created_at": 1741476777, "status": "completed", "error": null, "incomplete_details": null, "instructions": null, "model": "m-2", "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "Good day.", "annotations": []}]}], "parallel_tool_calls": true, "reasoning": {"effort": "low", "summary": null}, "store": true, "text": {"format": {"type": "text"}}, "usage": {"output_tokens_details": {"reasoning_tokens": 3}}}}, "error": null}
`, `{"id":"request-2/1","group":"request-2","model":"m-1","finish_reason":"stop","raw":"Hello."}
{"id":"request-2/2","group":"request-2","model":"m-1","finish_reason":"length","raw":"Hi."}
{"id":"request-3","group":"request-3","failed":"This request could not be executed before the completion window expired.","end":"aborted","raw":""}
{"id":"request-4","group":"request-4","model":"m-2","raw":"Good day."}`},
		{"anthropic-batch", `{"custom_id":"my-second-request","result":{"type":"succeeded","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"Hello again."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":36,"service_tier":"batch"}}}}
{"custom_id":"my-first-request","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"},"request_id":"req_1"}}}
{"custom_id":"my-third-request","result":{"type":"canceled"}}
`, `{"id":"my-second-request","group":"my-second-request","model":"m-1","finish_reason":"end_turn","raw":"Hello again."}
{"id":"my-first-request","group":"my-first-request","failed":"max_tokens: Field required","end":"aborted","raw":""}
{"id":"my-third-request","group":"my-third-request","failed":"canceled","end":"aborted","raw":""}`},
	} {
		got := strings.Join(recordsOf(t, Input{Reader: strings.NewReader(test.file)}, Settings{From: test.from}), "\n")
		if got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.from, got, test.want)
		}
	}
}

// TestPresetDocs: docs/reference/inputs.md has a row for each preset.
func TestPresetDocs(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/reference/inputs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| `--from` | rows |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			rows = append(rows, name)
		}
	}
	want := Presets()
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("the table has %q, and there are %q", rows, want)
	}
}
