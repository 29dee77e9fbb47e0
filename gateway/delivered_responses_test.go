package gateway_test

import (
	"fmt"
	"strings"
)

// The Responses API, with what OpenAI's SDK declares: each kind of item and each event, and
// what other servers add.

const (
	fullResponse = `"id":"resp_1","object":"response","created_at":1760000000,"completed_at":1760000001,"model":"m","background":false,"service_tier":"default","previous_response_id":"resp_0",` +
		`"parallel_tool_calls":true,"temperature":1,"top_p":1,"top_logprobs":0,"frequency_penalty":0,"presence_penalty":0,"max_output_tokens":9,"max_tool_calls":9,"truncation":"auto","user":"u",` +
		`"safety_identifier":"s","prompt_cache_key":"k","prompt_cache_retention":"24h","store":true,"instructions":"Be brief.","metadata":{"k":"v"},"conversation":{"id":"conv_1"},` +
		`"prompt":{"id":"pmpt_1","version":"1","variables":{"a":"b"}},"reasoning":{"effort":"low","summary":"auto","generate_summary":"auto"},` +
		`"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","strict":true,"description":"d","schema":{"type":"object"}}},` +
		`"tools":[{"type":"function","name":"f","description":"d","strict":true,"parameters":{"type":"object"}},{"type":"mcp","server_label":"l","server_url":"http://a","headers":{"h":"v"}}],` +
		`"tool_choice":{"type":"function","name":"f","mode":"auto","server_label":"l"},"moderation":{"x":"y"},` +
		`"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":0},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}`
	fullAnnotations = `[{"type":"url_citation","start_index":0,"end_index":2,"url":"http://a","title":"A"},{"type":"file_citation","file_id":"file_1","filename":"a.txt","index":0},` +
		`{"type":"container_file_citation","container_id":"cntr_1","file_id":"file_1","filename":"a.txt","start_index":0,"end_index":2},{"type":"file_path","file_id":"file_1","index":0}]`
	fullProbabilities = `[{"token":"It is 4.","logprob":-1,"bytes":[73],"top_logprobs":[{"token":"It","logprob":-1,"bytes":[73]}]}]`
	fullOutputText    = `{"type":"output_text","text":"It is 4.","annotations":` + fullAnnotations + `,"logprobs":` + fullProbabilities + `}`
	fullRefusal       = `{"type":"refusal","refusal":"No."}`
	fullSpoken        = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[` + fullOutputText + `,` + fullRefusal + `]}`
	fullReasoning     = `{"id":"rs_1","type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"musing"}],"content":[{"type":"reasoning_text","text":"musing"}],"encrypted_content":"c2ln"}`
)

// fullItems are items of the other kinds.
var fullItems = []string{
	`{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"f","namespace":"n","arguments":"{}","created_by":"u"}`,
	`{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_2","name":"g","namespace":"n","input":"do"}`,
	`{"id":"tsc_1","type":"tool_search_call","status":"completed","call_id":"call_3","arguments":{"a":"b"},"execution":"server"}`,
	`{"id":"tso_1","type":"tool_search_output","status":"completed","call_id":"call_3","execution":"server","tools":[{"type":"function","name":"f","description":"d","parameters":{"a":"b"}}]}`,
	`{"id":"mcp_1","type":"mcp_call","status":"completed","server_label":"l","name":"f","arguments":"{}","output":"done","error":{"type":"t","code":"c","message":"m"},"approval_request_id":"mcpr_1"}`,
	`{"id":"mcpl_1","type":"mcp_list_tools","server_label":"l","tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"annotations":{"a":"b"}}],"error":"e"}`,
	`{"id":"mcpr_1","type":"mcp_approval_request","server_label":"l","name":"f","arguments":"{}"}`,
	`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q","queries":["q"],"url":"http://a","pattern":"p","sources":[{"type":"url","url":"http://a","name":"n"}]}}`,
	`{"id":"fs_1","type":"file_search_call","status":"completed","queries":["q"],"results":[{"file_id":"file_1","filename":"a.txt","score":1,"text":"t","attributes":{"a":"b"}}]}`,
	`{"id":"cu_1","type":"computer_call","status":"completed","call_id":"call_4","action":{"type":"type","text":"t"},"actions":[{"type":"type","text":"t"}],"pending_safety_checks":[{"id":"sc_1","code":"c","message":"m"}]}`,
	`{"id":"ci_1","type":"code_interpreter_call","status":"completed","container_id":"cntr_1","code":"1","outputs":[{"type":"logs","logs":"1"},{"type":"image","url":"http://a"}]}`,
	`{"id":"ig_1","type":"image_generation_call","status":"completed","result":"iVBO","revised_prompt":"p","size":"auto","quality":"auto","background":"auto","output_format":"png","action":"generate"}`,
	`{"id":"ls_1","type":"local_shell_call","status":"completed","call_id":"call_5","action":{"type":"exec","command":["ls"],"env":{"A":"b"},"user":"u","working_directory":"d"}}`,
	`{"id":"sh_1","type":"shell_call","status":"completed","call_id":"call_6","action":{"commands":["ls"]},"environment":{"type":"local","container_id":"cntr_1"},"created_by":"u"}`,
	`{"id":"ap_1","type":"apply_patch_call","status":"completed","call_id":"call_7","operation":{"type":"update_file","path":"p","diff":"d"},"created_by":"u"}`,
	`{"id":"cm_1","type":"compaction","encrypted_content":"c2ln","created_by":"u"}`,
	`{"id":"fco_1","type":"function_call_output","status":"completed","call_id":"call_1","output":"o"}`,
	`{"id":"cto_1","type":"custom_tool_call_output","status":"completed","call_id":"call_2","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"http://a","file_id":"file_1","detail":"low"},{"type":"input_file","filename":"f","file_url":"http://a","file_data":"aGk="}]}`,
	`{"id":"cuo_1","type":"computer_call_output","status":"completed","call_id":"call_4","output":{"type":"computer_screenshot","image_url":"http://a","file_id":"file_1"},"acknowledged_safety_checks":[{"id":"sc_1","code":"c","message":"m"}]}`,
	`{"id":"lso_1","type":"local_shell_call_output","status":"completed","call_id":"call_5","output":"o"}`,
	`{"id":"sho_1","type":"shell_call_output","status":"completed","call_id":"call_6","max_output_length":9,"output":[{"stdout":"o","stderr":"e","outcome":{"type":"exit","exit_code":0},"created_by":"u"}],"created_by":"u"}`,
	`{"id":"apo_1","type":"apply_patch_call_output","status":"completed","call_id":"call_7","output":"o","created_by":"u"}`,
	`{"id":"x_1","type":"something_new","text":"musing"}`,
}

// fullCallEvents are the events about calls, by the item that they are about.
var fullCallEvents = map[string][]string{
	"fc_1":   {`function_call_arguments.delta","delta":"{}","obfuscation":"x`, `function_call_arguments.done","arguments":"{}","name":"f`},
	"ctc_1":  {`custom_tool_call_input.delta","delta":"do`, `custom_tool_call_input.done","input":"do`},
	"mcp_1":  {`mcp_call.in_progress`, `mcp_call_arguments.delta","delta":"{}`, `mcp_call_arguments.done","arguments":"{}","name":"f`, `mcp_call.completed`, `mcp_call.failed`},
	"mcpl_1": {`mcp_list_tools.in_progress`, `mcp_list_tools.completed`, `mcp_list_tools.failed`},
	"ws_1":   {`web_search_call.in_progress`, `web_search_call.searching`, `web_search_call.completed`},
	"fs_1":   {`file_search_call.in_progress`, `file_search_call.searching`, `file_search_call.completed`},
	"ci_1":   {`code_interpreter_call.in_progress`, `code_interpreter_call_code.delta","delta":"1`, `code_interpreter_call_code.done","code":"1`, `code_interpreter_call.interpreting`, `code_interpreter_call.completed`},
	"ig_1":   {`image_generation_call.in_progress`, `image_generation_call.generating`, `image_generation_call.partial_image","partial_image_b64":"iVBO","partial_image_index":0,"size":"auto","quality":"auto","background":"auto","output_format":"png`, `image_generation_call.completed`},
}

const (
	fewMembers = `"id":"resp_1","object":"response","model":"m"`
	fullBegun  = `{` + fewMembers + `,"status":"in_progress","output":[]}`
)

// responsesEvents are the data of a stream, with the numbers of the events.
type responsesEvents []string

func (l *responsesEvents) add(name, members string) {
	*l = append(*l, fmt.Sprintf(`{"type":"response.%s","sequence_number":%d,%s}`, name, len(*l), members))
}

func eventPlace(id string, output int) string {
	return fmt.Sprintf(`"item_id":%q,"output_index":%d`, id, output)
}

// fullSpeech is a stream of a thought and a message.
func fullSpeech() fullReply {
	var l responsesEvents
	l.add("created", strings.ReplaceAll(`"response":{`+fullResponse+`,"status":"in_progress","error":null,"incomplete_details":null,"output":[`+fullSpoken+`],"output_text":"musing"}`, "It is 4.", "musing"))
	l.add("queued", `"response":`+fullBegun)
	l.add("in_progress", `"response":`+fullBegun)
	l.add("output_item.added", `"output_index":0,"item":{"id":"rs_1","type":"reasoning","status":"in_progress","summary":[],"encrypted_content":"c2ln"}`)
	for _, part := range []string{"summary", "text"} {
		at, kind, event := eventPlace("rs_1", 0)+`,"summary_index":0`, "summary_text", "reasoning_summary"
		if part == "text" {
			at, kind, event = eventPlace("rs_1", 0)+`,"content_index":0`, "reasoning_text", "reasoning"
		}
		l.add(event+"_part.added", at+`,"part":{"type":"`+kind+`","text":""}`)
		l.add(event+"_text.delta", at+`,"delta":"musing","obfuscation":"x"`)
		l.add(event+"_text.done", at+`,"text":"musing"`)
		l.add(event+"_part.done", at+`,"part":{"type":"`+kind+`","text":"musing"}`)
	}
	l.add("output_item.done", `"output_index":0,"item":`+fullReasoning)
	l.add("output_item.added", `"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","phase":"final_answer","content":[]}`)
	at := eventPlace("msg_1", 1) + `,"content_index":0`
	l.add("content_part.added", at+`,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`)
	l.add("output_text.delta", at+`,"delta":"It is 4.","obfuscation":"x","logprobs":`+fullProbabilities)
	l.add("output_text.annotation.added", at+`,"annotation_index":0,"annotation":`+fullAnnotations[1:strings.Index(fullAnnotations, "},")+1])
	l.add("output_text.done", at+`,"text":"It is 4.","logprobs":`+fullProbabilities)
	l.add("content_part.done", at+`,"part":`+fullOutputText)
	at = eventPlace("msg_1", 1) + `,"content_index":1`
	l.add("content_part.added", at+`,"part":{"type":"refusal","refusal":""}`)
	l.add("refusal.delta", at+`,"delta":"No."`)
	l.add("refusal.done", at+`,"refusal":"No."`)
	l.add("content_part.done", at+`,"part":`+fullRefusal)
	l.add("output_item.done", `"output_index":1,"item":`+fullSpoken)
	l.add("audio.delta", `"delta":"UklG"`)
	l.add("audio.transcript.delta", `"delta":"musing"`)
	l.add("something.new", eventPlace("msg_1", 1)+`,"delta":"musing"`)
	body := func(status string) string {
		return `{` + fullResponse + `,"status":"` + status + `","error":{"code":"c","message":"m","type":"t","param":"p"},"incomplete_details":{"reason":"max_output_tokens"},"output":[` +
			fullReasoning + `,` + fullSpoken + `],"output_text":"It is 4."}`
	}
	l.add("completed", `"response":`+body("completed"))
	return fullReply{path: "/v1/responses", frames: l, body: body("incomplete")}
}

// fullItem is a reply with an item of another kind.
func fullItem(item string) fullReply {
	id := item[len(`{"id":"`):strings.Index(item, `",`)]
	var l responsesEvents
	l.add("created", `"response":`+fullBegun)
	l.add("output_item.added", `"output_index":0,"item":`+item)
	for _, e := range fullCallEvents[id] {
		l.add(e+`",`+eventPlace(id, 0)+`,"x":"y`, `"z":1`)
	}
	l.add("output_item.done", `"output_index":0,"item":`+item)
	end := `{` + fewMembers + `,"status":"completed","output":[` + item + `]}`
	l.add("completed", `"response":`+end)
	body := strings.Replace(end, item, fullReasoning+`,`+item+`,{"type":"message","content":[{"type":"output_text","text":"It is 4."}]}`, 1)
	tools := []string{"_call_input.", "_call_code.", "_arguments."}
	if member := fullToolInput[id]; member != "" {
		tools = append(tools, ".item."+member, ".output[]."+member)
	}
	return fullReply{path: "/v1/responses", frames: l, body: body, tools: tools}
}

// fullToolInput are the members of items that tools get, beside arguments.
var fullToolInput = map[string]string{
	"ctc_1": "input", "cu_1": "action", "ci_1": "code", "ls_1": "action", "sh_1": "action", "ap_1": "operation",
}

func init() {
	fullReplies = append(fullReplies, fullSpeech(), fullReply{
		path: "/v1/responses", body: `{"object":"response","status":"completed","model":"m","output":[` + fullReasoning + `],"output_text":"It is 4."}`,
		frames: []string{
			`{"type":"response.created","response":` + fullBegun + `}`,
			`{"type":"error","sequence_number":1,"code":"c","message":"m","param":"p","status":500,"error":{"type":"t","code":"c","message":"m","param":"p"}}`,
		},
	})
	for _, item := range fullItems {
		fullReplies = append(fullReplies, fullItem(item))
	}
}
