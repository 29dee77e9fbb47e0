package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/leftout"
)

// What is read of a reply for a client of another API.
var (
	leftOfCall = leftout.Object("id index type", leftout.Members{
		"function": leftout.Object("name arguments", nil), "custom": leftout.Object("name input", nil),
		"extra_content": leftout.Object("", leftout.Members{"google": leftout.Object("thought_signature", nil)}),
	})
	leftOfPart = leftout.ByType(map[string]*leftout.Value{
		"text": leftout.Object("type text", nil), "output_text": leftout.Object("type text", nil), "refusal": leftout.Lost,
		"thinking": leftout.Read, "reasoning": leftout.Read, "reasoning_text": leftout.Read,
		"image_url": leftout.As("+.image_url", leftout.Answer(nil)), "file": leftout.As("+.file", leftout.Answer(nil)), "audio": leftout.As("+.audio", leftout.Answer(nil)),
	})
	leftOfMessage = leftout.Object("role name refusal function_call "+chatjson.DetailsField+" "+chatjson.NarrationField+" "+strings.Join(chatjson.NativeFields(), " "), leftout.Members{
		"content": leftout.TextOr(leftout.List(leftOfPart)), "tool_calls": leftout.List(leftOfCall),
		"extra_content": leftout.Object("", leftout.Members{"google": leftout.Object("thought_signature", nil)}),
		"audio":         leftout.Answer(nil), "image": leftout.Answer(nil), "images": leftout.List(leftout.Answer(isPicture)),
	})
	leftOfChoice = leftout.Object("index finish_reason error", leftout.Members{
		"message": leftOfMessage, "delta": leftout.As("message", leftOfMessage),
		"stop_reason": leftOfStop, "matched_stop": leftOfStop,
		"content_filter_results": leftOfFilter, "content_filter_offsets": leftout.Quiet,
	}).WithQuiet("native_finish_reason seed")
	// leftOfStop is a token that ended the reply, or one of the client's texts that did.
	leftOfStop = leftout.Choose(func(v gjson.Result) *leftout.Value {
		if v.Type == gjson.Number {
			return leftout.Quiet
		}
		return leftout.Lost
	})
	leftOfFilter = leftout.QuietUnless("filtered", "detected")
	leftOfOther  = leftout.As("/choices[1]", leftout.Lost)
	leftOfReply  = leftout.Object("id object created model obfuscation error", leftout.Members{
		"choices": leftout.List(leftout.Choose(func(choice gjson.Result) *leftout.Value {
			if choice.Get("index").Num > 0 {
				return leftOfOther
			}
			return leftOfChoice
		})),
		"usage": leftout.Object("prompt_tokens completion_tokens total_tokens prompt_cache_hit_tokens prompt_cache_miss_tokens", leftout.Members{
			"prompt_tokens_details":     leftout.Object("cached_tokens cache_write_tokens", nil).RestQuiet(),
			"completion_tokens_details": leftout.Object("reasoning_tokens", nil).RestQuiet(),
		}).RestQuiet(),
		"prompt_filter_results": leftOfFilter,
		"base_resp": leftout.Choose(func(v gjson.Result) *leftout.Value {
			if v.Get("status_code").Num == 0 {
				return leftout.Quiet
			}
			return leftout.Lost
		}),
	}).WithQuiet("system_fingerprint service_tier provider timings x_groq metadata")
)

// LeftOut says what a reply loses at a client of another API.
func (chat) LeftOut() *leftout.Value { return leftOfReply }
