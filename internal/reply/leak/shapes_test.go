package leak

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestShapes: in logs of published tools a leak is found beside the right answer, wherever
// that stands, and a reply without one counts too.
func TestShapes(t *testing.T) {
	for name, row := range map[string]string{
		"lm-evaluation-harness":  `{"doc_id":0,"doc":{"question":"2+2?","answer":"So 2+2 #### 4"},"target":"4","arguments":{"gen_args_0":{"arg_0":"2+2?","arg_1":{"until":["\n\n"]}}},"resps":[[REPLY]],"filtered_resps":["4"],"filter":"strict-match","exact_match":1}`,
		"Inspect":                `{"id":1,"epoch":1,"input":"2+2?","target":"4","output":{"model":"m","choices":[{"message":{"role":"assistant","content":REPLY},"stop_reason":"stop"}]},"scores":{"match":{"value":"C","answer":"4"}}}`,
		"ZeroEval":               `{"session_id":"gsm-1","chat_history":["2+2?"],"output":[REPLY],"generator":"m","correct_answer":"4","answer":"4"}`,
		"OpenAI evals":           `{"run_id":"x","event_id":1,"type":"sampling","data":{"prompt":[{"role":"user","content":"2+2?"}],"sampled":[REPLY],"expected":"4"}}`,
		"HELM":                   `{"instance":{"input":{"text":"2+2?"},"references":[{"output":{"text":"4"},"tags":["correct"]}]},"result":{"success":true,"completions":[{"text":REPLY,"logprob":0}]}}`,
		"simple-evals":           `{"question":"2+2?","correct_answer":"4","extracted_answer":"4","response_text":REPLY}`,
		"AlpacaEval":             `{"instruction":"2+2?","output":REPLY,"generator":"m","dataset":"x"}`,
		"MT-Bench":               `{"question_id":81,"answer_id":"a","model_id":"m","choices":[{"index":0,"turns":[REPLY]}],"reference":["4"]}`,
		"Arena-Hard":             `{"uid":"u","model":"m","messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":{"answer":REPLY}}]}`,
		"LiveCodeBench":          `{"question_title":"Sum","question_content":"2+2?","output_list":[REPLY],"code_list":["print(4)"],"graded_list":[true]}`,
		"BigCodeBench":           `{"task_id":"B/0","solution":"print(4)","raw_solution":REPLY}`,
		"HumanEval":              `{"task_id":"H/0","completion":REPLY,"canonical_solution":"return 4"}`,
		"OpenR1":                 `{"problem":"2+2?","solution":"It is 4.","answer":"4","generations":[REPLY]}`,
		"s1K":                    `{"question":"2+2?","solution":"4","attempt":REPLY,"cot_type":"math"}`,
		"lighteval":              `{"full_prompt":"2+2?","predictions":[REPLY],"gold":["4"],"specifics":"x"}`,
		"promptfoo":              `{"prompt":{"raw":"2+2?","label":"p"},"vars":{"n":"2"},"response":{"output":REPLY,"tokenUsage":{"total":9}},"gradingResult":{"pass":true,"reason":"4"}}`,
		"LangSmith":              `{"id":"r","inputs":{"question":"2+2?"},"outputs":{"output":REPLY},"reference_outputs":{"answer":"4"}}`,
		"Langfuse":               `{"input":[{"role":"user","content":"2+2?"}],"output":{"role":"assistant","content":REPLY},"expectedOutput":"4"}`,
		"DeepEval":               `{"input":"2+2?","actual_output":REPLY,"expected_output":"4"}`,
		"ragas":                  `{"user_input":"2+2?","response":REPLY,"reference":"4","answer":"4"}`,
		"a table of predictions": `{"source":"2+2?","target":"4","prediction":REPLY}`,
		"a column raw":           `{"id":"1","answer":"4","model":"m","raw":REPLY}`,
	} {
		tally := NewTally(0)
		for i, reply := range []string{`"<think>\nTwo and two, so I add them.\n</think>\n\nIt is 4."`, `"It is 4."`} {
			Shipped().Record(gjson.Parse(strings.Replace(row, "REPLY", reply, 1)), &Record{Tally: tally, File: "f", Number: i + 1})
		}
		if r := tally.Report(); r.Leaked != 1 || r.Replies != 2 {
			t.Errorf("%s: %d of %d leak, read %+v", name, r.Leaked, r.Replies, r.Read)
		}
	}
}

// TestUnreadColumns: the report says from which columns replies were read, and which could
// have been replies.
func TestUnreadColumns(t *testing.T) {
	tally := NewTally(0)
	for i, row := range []string{
		`{"raw":"<think>a b c</think>d","answer":"4","other":"x"}`, `{"raw":"d","answer":"4","other":"<think>a b c</think>d"}`, `{"other":"x"}`, `{"other":"x","more":"y"}`, `{"more":"y"}`,
	} {
		Shipped().Record(gjson.Parse(row), &Record{Tally: tally, File: "f", Number: i + 1})
	}
	r := tally.Report()
	if r.Leaked != 2 || r.Replies != 4 { // two of the rows without a named column have "other"
		t.Errorf("%d of %d", r.Leaked, r.Replies)
	}
	want := []Column{{"other", 3, 1, false}, {"raw", 1, 1, true}, {"answer", 0, 0, true}}
	for _, c := range want {
		found := false
		for _, got := range r.Read {
			found = found || got.Name == c.Name && got.Replies == c.Replies && got.Leaked == c.Leaked
		}
		if !found {
			t.Errorf("%+v lacks %+v", r.Read, c)
		}
	}
}
