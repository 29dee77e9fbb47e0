package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/leftout"
)

// What is read of a reply for a client of another API.
var (
	leftOfPart = leftout.ByType(map[string]*leftout.Value{
		"output_text": leftout.Object("type text", nil), "refusal": leftout.Object("type refusal", nil),
		"reasoning_text": leftout.Read, "summary_text": leftout.Read,
	})
	leftOfItem = leftout.ByType(map[string]*leftout.Value{
		"message":          leftout.Object("type id status role", leftout.Members{"content": leftout.List(leftOfPart), "phase": leftOfPhase}),
		"reasoning":        leftout.Object("type id status summary content encrypted_content", nil),
		"function_call":    leftout.Object("type id status call_id name arguments", nil),
		"custom_tool_call": leftout.Object("type id status call_id name input", nil),
		pictureItem:        leftout.As("+."+pictureItem, leftout.Answer(isPicture)),
		// What the client would have to do.
		"computer_call": leftOfAction("computer_call"), "local_shell_call": leftOfAction("local_shell_call"), "shell_call": leftOfAction("shell_call"),
		"apply_patch_call": leftOfAction("apply_patch_call"), "mcp_approval_request": leftOfAction("mcp_approval_request"),
	})
	// leftOfPhase of a message says something of one that is no answer.
	leftOfPhase = leftout.Choose(func(v gjson.Result) *leftout.Value {
		if v.Str == "final_answer" {
			return leftout.Quiet
		}
		return leftout.Lost
	})
	// repeated are the members of a response that repeat its request, or that no other API says.
	repeated = "id object created_at completed_at status background model error incomplete_details instructions tools tool_choice " +
		"parallel_tool_calls temperature top_p top_logprobs frequency_penalty presence_penalty max_output_tokens max_tool_calls truncation user " +
		"safety_identifier prompt_cache_key prompt_cache_retention store metadata previous_response_id conversation prompt reasoning text output_text"
	leftOfResponse = leftout.Object(repeated, leftout.Members{
		"output": leftout.List(leftOfItem),
		"usage": leftout.Object("input_tokens output_tokens total_tokens", leftout.Members{
			"input_tokens_details": leftout.Object("cached_tokens cache_write_tokens", nil).RestQuiet(), "output_tokens_details": leftout.Object("reasoning_tokens", nil).RestQuiet(),
		}).RestQuiet(),
		"content_filters": leftout.QuietUnless("blocked", "filtered", "detected"),
	}).WithQuiet("service_tier billing")
	leftOfState = leftout.Object("type sequence_number", leftout.Members{"response": leftout.As("+", leftOfResponse)})
	leftOfEvent = func() map[string]*leftout.Value {
		about := "type sequence_number item_id output_index content_index summary_index obfuscation "
		item := leftout.Object(about, leftout.Members{"item": leftout.As("output[]", leftOfItem)})
		part := leftout.Object(about, leftout.Members{"part": leftout.As("output[].content[]", leftOfPart)})
		text := leftout.As("output[].content[]", leftout.Object(about+"delta text refusal", nil))
		call := leftout.Object(about+"delta arguments input name", nil)
		all := map[string]*leftout.Value{
			"error": leftout.Read, "keepalive": leftout.Read,
			"response.output_item.added": item, "response.output_item.done": item,
			"response.content_part.added": part, "response.content_part.done": part,
			"response.output_text.annotation.added": leftout.Object(about+"annotation_index", leftout.Members{"annotation": leftout.As("output[].content[].annotations", leftout.Lost)}),
			"response.output_text.delta":            text, "response.output_text.done": text, "response.refusal.delta": text, "response.refusal.done": text,
			"response.function_call_arguments.delta": call, "response.function_call_arguments.done": call,
			"response.custom_tool_call_input.delta": call, "response.custom_tool_call_input.done": call,
		}
		for _, state := range []string{"created", "queued", "in_progress", "completed", "incomplete", "failed"} {
			all["response."+state] = leftOfState
		}
		return all
	}()
	leftOfReply = leftout.Choose(func(v gjson.Result) *leftout.Value {
		kind := v.Get("type").Str
		switch of := leftOfEvent[kind]; {
		case of != nil:
			return of
		case kind == "":
			return leftOfResponse
		case strings.HasPrefix(kind, "response.reasoning_"), shownEvents[kind] != nil: // thoughts, and the progress of an item
			return leftout.Read
		}
		return leftout.Unknown(v)
	})
)

// leftOfAction is a call that is of no function: the client would have to do something that its API has no
// words for.
func leftOfAction(kind string) *leftout.Value { return leftout.As("+."+kind, leftout.Answer(nil)) }

// LeftOut says what a reply loses at a client of another API.
func (codec) LeftOut() *leftout.Value { return leftOfReply }
