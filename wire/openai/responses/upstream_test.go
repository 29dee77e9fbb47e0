package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A script is what an upstream sends: its items, and its end.
type script struct {
	items []scriptItem
	end   string // completed unless set
	died  bool   // the last item does not end, nor does the response
	first int    // number of the first event
	vllm  bool   // members sorted by name
	lines bool   // data of several lines
}

type scriptItem struct {
	kind      string     // message, reasoning, summary, function_call
	parts     [][]string // each in its deltas
	encrypted string
}

func msg(parts ...[]string) scriptItem {
	return scriptItem{kind: "message", parts: parts}
}
func rsn(parts ...[]string) scriptItem {
	return scriptItem{kind: "reasoning", parts: parts}
}
func call(deltas ...string) scriptItem {
	return scriptItem{kind: "function_call", parts: [][]string{deltas}}
}
func deltas(deltas ...string) []string { return deltas }

type scriptWriter struct {
	*script
	b   strings.Builder
	seq int
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// event writes an event; members is JSON that begins with a comma.
func (w *scriptWriter) event(name, members string) {
	data := fmt.Sprintf(`{"type":%q,"sequence_number":%d%s}`, name, w.seq, strings.ReplaceAll(members, "\n", ""))
	if w.vllm {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			panic(err)
		}
		b, _ := json.Marshal(m)
		data = string(b)
	}
	if w.lines {
		data = strings.ReplaceAll(data, `,"sequence_number"`, ",\ndata: \"sequence_number\"")
	}
	w.seq++
	fmt.Fprintf(&w.b, "event: %s\ndata: %s\n\n", name, data)
}

func (s *script) status() string {
	if s.end == "" {
		return "completed"
	}
	return s.end
}

func (it scriptItem) id(i int) string {
	return map[string]string{"message": "msg", "function_call": "fc", "reasoning": "rs", "summary": "rs"}[it.kind] + "_up" + fmt.Sprint(i)
}

func (it scriptItem) part(text string) string {
	switch it.kind {
	case "message":
		return `{"type":"output_text","text":` + quoted(text) + `,"annotations":[],"logprobs":[]}`
	case "reasoning":
		return `{"type":"reasoning_text","text":` + quoted(text) + `}`
	}
	return `{"type":"summary_text","text":` + quoted(text) + `}`
}

func (it scriptItem) json(i int, done bool) string {
	status := "in_progress"
	var parts []string
	if done {
		status = "completed"
		for _, p := range it.parts {
			parts = append(parts, it.part(strings.Join(p, "")))
		}
	}
	list := "[" + strings.Join(parts, ",") + "]"
	switch it.kind {
	case "message":
		return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","status":%q,"content":%s}`, it.id(i), status, list)
	case "function_call":
		args := ""
		if done {
			args = strings.Join(it.parts[0], "")
		}
		return fmt.Sprintf(`{"id":%q,"type":"function_call","call_id":"c1","name":"f","arguments":%s,"status":%q}`, it.id(i), quoted(args), status)
	}
	summary, content := list, "[]"
	if it.kind == "reasoning" {
		summary, content = "[]", list
	}
	sealed := ""
	if it.encrypted != "" && done {
		sealed = `,"encrypted_content":` + quoted(it.encrypted)
	}
	return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":%s,"content":%s%s}`, it.id(i), summary, content, sealed)
}

func (s *script) whole() string {
	var items []string
	for i, it := range s.items {
		items = append(items, it.json(i, true))
	}
	return s.response(s.status(), strings.Join(items, ",\n"))
}

func (s *script) response(status, output string) string {
	details, usage := "null", "null"
	if status == "incomplete" {
		details = `{"reason":"max_output_tokens"}`
	}
	if status != "in_progress" {
		usage = `{"input_tokens":5,"output_tokens":100,"total_tokens":105}`
	}
	return fmt.Sprintf(`{"id":"resp_1","object":"response","status":%q,"incomplete_details":%s,"output":[%s],"temperature":1.0,"usage":%s}`,
		status, details, output, usage)
}

func (s *script) stream() string {
	w := &scriptWriter{script: s, seq: s.first}
	w.event("response.created", `,"response":`+s.response("in_progress", ""))
	w.event("response.in_progress", `,"response":`+s.response("in_progress", ""))
	for i, it := range s.items {
		w.event("response.output_item.added", fmt.Sprintf(`,"output_index":%d,"item":%s`, i, it.json(i, false)))
		for n, deltas := range it.parts {
			w.part(i, n, it, deltas)
		}
		if s.died && i == len(s.items)-1 {
			return w.b.String()
		}
		w.event("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, i, it.json(i, true)))
	}
	w.event("response."+s.status(), `,"response":`+s.whole())
	return w.b.String()
}

func (w *scriptWriter) part(i, n int, it scriptItem, deltas []string) {
	index, kind, part := "content_index", "output_text", "content_part"
	switch it.kind {
	case "function_call":
		at := fmt.Sprintf(`,"item_id":%q,"output_index":%d`, it.id(i), i)
		for _, d := range deltas {
			w.event("response.function_call_arguments.delta", at+`,"delta":`+quoted(d))
		}
		w.event("response.function_call_arguments.done", at+`,"arguments":`+quoted(strings.Join(deltas, "")))
		return
	case "reasoning":
		kind = "reasoning_text"
	case "summary":
		index, kind, part = "summary_index", "reasoning_summary_text", "reasoning_summary_part"
	}
	at := fmt.Sprintf(`,"item_id":%q,"output_index":%d,%q:%d`, it.id(i), i, index, n)
	w.event("response."+part+".added", at+`,"part":`+it.part(""))
	probs := ""
	if it.kind == "message" {
		probs = `,"logprobs":[]`
	}
	for _, d := range deltas {
		w.event("response."+kind+".delta", at+`,"delta":`+quoted(d)+probs)
	}
	if w.died && i == len(w.items)-1 && n == len(it.parts)-1 {
		return
	}
	text := strings.Join(deltas, "")
	w.event("response."+kind+".done", at+`,"text":`+quoted(text)+probs)
	w.event("response."+part+".done", at+`,"part":`+it.part(text))
}
