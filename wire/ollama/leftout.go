package ollama

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/leftout"
)

// What is read of a reply for a client of another API.
var leftOfReply = leftout.Object("model created_at done done_reason prompt_eval_count eval_count error", leftout.Members{
	"message": leftout.Object("role content refusal "+chatjson.DetailsField+" "+chatjson.NarrationField+" "+strings.Join(chatjson.NativeFields(), " "), leftout.Members{
		"tool_calls": leftout.List(leftout.Object("id type index", leftout.Members{
			"function": leftout.Object("name arguments index", nil),
		})),
		"images": leftout.Answer(nil), "image": leftout.Answer(nil),
	}),
}).WithQuiet("total_duration load_duration prompt_eval_duration eval_duration remote_model remote_host")

// LeftOut says what a reply loses at a client of another API.
func (chat) LeftOut() *leftout.Value { return leftOfReply }
