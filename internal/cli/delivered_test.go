package cli

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// TestDelivered: show, table and export say what the client got, and what became of the
// thought; the text of it only where content is exported.
func TestDelivered(t *testing.T) {
	x := record.Exchange{
		API: "openai.chat", Model: "m", Status: 200, Outcome: "answered", Leak: record.ThoughtInText, LeakBytes: 3,
		Replies: []record.Reply{record.ReplyOf(sotto.Parse("<think>Hm.</think>It is four.", sotto.EndStopped))},
		Delivered: &record.Delivery{Display: "tags", Narration: "text", Texts: []record.Delivered{{Place: record.PlaceText, Bytes: 42, Spans: []record.DeliveredSpan{
			{Put: "<think>\n"}, {Start: 7, End: 10}, {Put: "\n</think>\n\n"}, {Start: 18, End: 29},
		}}}},
	}
	dir := writeRun(t, []record.Event{{Payload: x}}, record.Options{})
	shown := outputOf(t, "record", "show", dir)
	for _, want := range []string{"client_got display tags, narration text: 42 bytes in the text", "thought sent in the text"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "spans") {
		t.Errorf("the spans are shown:\n%s", shown)
	}
	table := outputOf(t, "record", "table", "replies", dir, "--format", "jsonl")
	if !strings.Contains(table, `"thought":"text","client_text":"<think>\nHm.\n</think>\n\nIt is four."`) {
		t.Errorf("the table is %s", table)
	}
	plain, content := outputOf(t, "record", "export", dir), outputOf(t, "record", "export", "--content", dir)
	for _, want := range []string{`"sotto.reply.thought","value":{"stringValue":"text"}`, `"sotto.reply.client_text.bytes","value":{"intValue":"42"}`} {
		if !strings.Contains(plain, want) {
			t.Errorf("%s is not in %s", want, plain)
		}
	}
	if strings.Contains(plain, "four") || !strings.Contains(content, `"sotto.reply.client_text"`) || !strings.Contains(content, `Hm.\n\u003c/think>`) && !strings.Contains(content, `Hm.\n</think>`) {
		t.Errorf("without content %s\nwith %s", plain, content)
	}
}
