package bedrock

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
var counts = []wire.Count{{
	Codec: Converse,
	Request: func(body []byte) ([]byte, error) {
		if q := jsonedit.Parse(body).Get("input.converse"); q.IsObject() {
			return []byte(q.Raw), nil
		}
		return nil, errors.New("only the tokens of a request for Converse are counted: want input.converse")
	},
	Reply: func(tokens int64) []byte {
		return append(strconv.AppendInt([]byte(`{"inputTokens":`), tokens, 10), '}')
	},
	Ask: func(send wire.Send, model string, body []byte) (int64, bool) {
		members := jsonedit.Pick(nil, body, "messages", "system", "toolConfig", "additionalModelRequestFields")
		if len(members) == 0 {
			return 0, false
		}
		q := append(append([]byte(`{"input":{"converse":{`), members[1:]...), "}}}"...)
		n := jsonedit.Parse(send("/model/"+url.PathEscape(model)+countVerb, q)).Get("inputTokens")
		return n.Int(), n.Type == gjson.Number
	},
}}
