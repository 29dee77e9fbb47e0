package gateway_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
)

// A full reply of Anthropic's Messages API: the members of the SDKs' declarations of a
// message, its blocks and the events of its stream.
const (
	fullClaudeUsage = `"usage":{"input_tokens":5,"output_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":1,"ephemeral_5m_input_tokens":0},` +
		`"server_tool_use":{"web_search_requests":1,"web_fetch_requests":1},"service_tier":"standard","inference_geo":"us","speed":"fast","iterations":[{"type":"message","input_tokens":5,"output_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":1}}]}`
	fullClaudeEdits = `"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":1,"cleared_input_tokens":10}]}`
	fullClaudeWhy   = `"stop_reason":"end_turn","stop_sequence":"END","stop_details":{"type":"refusal","category":"cyber","explanation":"e"},` +
		`"container":{"id":"container_1","expires_at":"2026-11-21T00:00:00Z","skills":[{"type":"custom","skill_id":"s1","version":"1"}]}`
	fullClaudeHead      = `"id":"msg_1","type":"message","role":"assistant","model":"m","request_id":"req_1",` + fullClaudeUsage
	fullClaudeCitations = `{"type":"char_location","cited_text":"c","document_index":0,"document_title":"t","file_id":"file_1","start_char_index":0,"end_char_index":1},` +
		`{"type":"page_location","cited_text":"c","document_index":0,"document_title":"t","start_page_number":1,"end_page_number":2},` +
		`{"type":"content_block_location","cited_text":"c","document_index":0,"document_title":"t","start_block_index":0,"end_block_index":1},` +
		`{"type":"web_search_result_location","cited_text":"c","title":"t","url":"http://a","encrypted_index":"c2ln"},` +
		`{"type":"search_result_location","cited_text":"c","title":"t","source":"http://a","search_result_index":0,"start_block_index":0,"end_block_index":1}`
	fullClaudeCaller = `"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}`
)

// fullClaudeBlocks are the blocks that are neither text nor thinking.
var fullClaudeBlocks = []string{
	`{"type":"redacted_thinking","data":"c2ln"}`,
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"},` + fullClaudeCaller + `}`,
	`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",` + fullClaudeCaller + `,"content":[{"type":"web_search_result","title":"t","url":"http://a","encrypted_content":"c2ln","page_age":"1 day"}]}`,
	`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`,
	`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"http://a","retrieved_at":"2026-11-21T00:00:00Z","content":{"type":"document","title":"t","citations":{"enabled":true},"source":{"type":"text","media_type":"text/plain","data":"d"}}}}`,
	`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"http://a","content":{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"c2ln"}}}}`,
	`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"o","stderr":"e","return_code":0,"content":[{"type":"code_execution_output","file_id":"file_1"}]}}`,
	`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"encrypted_code_execution_result","encrypted_stdout":"c2ln","stderr":"e","return_code":0,"content":[]}}`,
	`{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"bash_code_execution_result","stdout":"o","stderr":"e","return_code":0,"content":[{"type":"bash_code_execution_output","file_id":"file_1"}]}}`,
	`{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"c","num_lines":1,"start_line":1,"total_lines":1}}`,
	`{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"text_editor_code_execution_create_result","is_file_update":true}}`,
	`{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"text_editor_code_execution_str_replace_result","lines":["-a","+b"],"new_lines":1,"new_start":1,"old_lines":1,"old_start":1}}`,
	`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"f"}]}}`,
	`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_result_error","error_code":"unavailable","error_message":"m"}}`,
	`{"type":"mcp_tool_use","id":"mcptoolu_1","name":"g","server_name":"files","input":{"path":"p"}}`,
	`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"r","citations":null}]}`,
	`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":true,"content":"r"}`,
	`{"type":"container_upload","file_id":"file_1"}`,
	`{"type":"compaction","content":"so far","encrypted_content":"c2ln"}`,
	`{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"advisor_result","text":"musing"}}`,
	`{"type":"new_kind","text":"x","content":[{"type":"text","text":"x"}]}`,
}

const (
	fullClaudeText     = `{"type":"text","text":"It is 4.","citations":[` + fullClaudeCitations + `]}`
	fullClaudeThinking = `{"type":"thinking","thinking":"musing","signature":"c2ln"}`
	fullClaudeCall     = `{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":"b"},` + fullClaudeCaller + `}`
)

const (
	fullClaudeStart = `{"type":"message_start","message":{` + fullClaudeHead + `,"content":[],"stop_reason":null,"stop_sequence":null,"container":null}}`
	fullClaudeEnd   = `{"type":"message_delta","delta":{` + fullClaudeWhy + `},` + fullClaudeUsage + `,` + fullClaudeEdits + `}`
	fullClaudeStop  = `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":5,"outputTokenCount":9,"invocationLatency":1,"firstByteLatency":1}}`
)

// fullClaudeFrames are the events of a stream whose blocks come in pieces.
func fullClaudeFrames() []string {
	frames := []string{
		fullClaudeStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"musing"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It is 4."}}`,
	}
	for _, c := range strings.Split(fullClaudeCitations, "},{") {
		frames = append(frames, `{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{`+strings.Trim(c, "{}")+`}}}`)
	}
	return append(frames, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":`+strings.Replace(fullClaudeCall, `{"a":"b"}`, `{}`, 1)+`}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"compaction","content":null}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"compaction_delta","content":"so far","encrypted_content":"c2ln"}}`,
		`{"type":"content_block_stop","index":3}`)
}

// fullClaudeStarts are the events of blocks that come in one piece, from an index on.
func fullClaudeStarts(index int, blocks ...string) (frames []string) {
	for i, b := range blocks {
		frames = append(frames, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index+i, b), fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index+i))
	}
	return frames
}

func fullClaudeBody(blocks ...string) string {
	return `{` + fullClaudeHead + `,` + fullClaudeWhy + `,` + fullClaudeEdits + `,"content":[` + strings.Join(blocks, ",") + `]}`
}

func init() {
	const (
		path    = "/v1/messages"
		unknown = `{"type":"content_block_delta","index":1,"delta":{"type":"new_delta","text":"x"}}`
		fault   = `{"type":"error","request_id":"req_1","error":{"type":"overloaded_error","message":"%s"}}`
	)
	frames := fullClaudeFrames()
	frames = append(slices.Insert(frames, 7, unknown), fullClaudeEnd, fullClaudeStop)
	blocks := append([]string{fullClaudeThinking, fullClaudeText}, fullClaudeBlocks...)
	fullReplies = append(fullReplies,
		fullReply{path: path, frames: frames, body: fullClaudeBody(append(blocks, fullClaudeCall)...)},
		fullReply{path: path, frames: append(append([]string{fullClaudeStart}, fullClaudeStarts(0, blocks...)...), fmt.Sprintf(fault, "busy")), body: fmt.Sprintf(fault, "It is 4.")},
	)
}

// TestMessagesPassGuard: all that the API documents passes a guard: a client gets the same
// in meaning as without one.
func TestMessagesPassGuard(t *testing.T) {
	var known []string
	for _, b := range fullClaudeBlocks {
		if !strings.Contains(b, "new_kind") && !strings.Contains(b, "advisor") {
			known = append(known, regexp.MustCompile(`"input":{[^}]*}`).ReplaceAllString(b, `"input":{}`)) // it comes in pieces
		}
	}
	s := speakerOf(t, "anthropic.messages")
	frames := slices.Concat(fullClaudeFrames(), fullClaudeStarts(4, known...), []string{fullClaudeEnd, fullClaudeStop})
	_, stream := streamOf(s.path, frames)
	stream = strings.TrimSuffix(stream, "data: [DONE]\n\n")
	for _, display := range []routing.Display{routing.DisplayKeep, routing.DisplayField, routing.DisplayTags} {
		for _, streamed := range []bool{true, false} {
			body := fullClaudeBody(append([]string{fullClaudeThinking, fullClaudeText, fullClaudeCall}, known...)...)
			if streamed {
				body = stream
			}
			_, plain, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display}}, streamed, body)
			_, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display, Guard: guard.Rule{Guard: &judgeFunc{}}}}, streamed, body)
			if got, plain := meaningOf(s, got), meaningOf(s, plain); got != plain {
				t.Errorf("%s stream=%v: the reply changed:\n%s\nwithout the guard\n%s", display, streamed, got, plain)
			}
		}
	}
}

// TestMessagesCutThought: a signature is of a whole thought. If a guard cuts some of that or all,
// the signature does not come: the provider would refuse it with what is left. A sealed copy of
// the thought stands in its place.
func TestMessagesCutThought(t *testing.T) {
	s := speakerOf(t, "anthropic.messages")
	rest := strings.Repeat("Some words that are harmless. ", 40)
	for _, first := range []string{rest, ""} {
		thought := first + "A canary."
		frames := []string{fullClaudeStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`}
		for _, piece := range inPieces(thought, 20) {
			frames = append(frames, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":`+quoted(piece)+`}}`)
		}
		frames = append(frames, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`, `{"type":"content_block_stop","index":0}`)
		_, stream := streamOf(s.path, slices.Concat(frames, fullClaudeStarts(1, fullClaudeText), []string{fullClaudeEnd, fullClaudeStop}))
		bodies := map[bool]string{true: stream, false: fullClaudeBody(strings.Replace(fullClaudeThinking, "musing", thought, 1), fullClaudeText)}
		for streamed, body := range bodies {
			judges := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
				if strings.Contains(p.Text, "canary") {
					return guard.Verdict{Action: guard.Cut}, nil
				}
				return guard.Verdict{Action: guard.Pass}, nil
			}}
			_, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: routing.DisplayField, Guard: guard.Rule{Guard: judges}}}, streamed, body)
			if h := joined(t, s, streamed, got); h != "It is 4." || strings.Contains(got, "canary") {
				t.Errorf("stream=%v: %q of\n%s", streamed, h, got)
			}
			part := strings.Contains(got, "harmless")
			if strings.Contains(got, `"signature":"c2ln"`) || strings.Count(got, `"signature":"`+sealedslot.Prefix) != 1 {
				t.Errorf("stream=%v: a part of the thought is there: %v:\n%s", streamed, part, got)
			}
			if streamed && part != (first != "") {
				t.Errorf("what came before is there: %v", part)
			}
		}
	}
}
