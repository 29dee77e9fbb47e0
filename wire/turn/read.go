package turn

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/switches"
)

// TextOrTexts takes a member that is a text or a list of texts.
func (f *Fields) TextOrTexts(name string) []string {
	if f.Peek(name).Type == gjson.String {
		return []string{f.Text(name)}
	}
	return f.Texts(name)
}

// ReadThinking reads what the members of a body say about thinking, and takes them. A member that
// says more than that stays in the extra of the request.
func (q *Request) ReadThinking(f *Fields, body []byte, api string) error {
	says, members, err := switches.Find(body)
	if err != nil {
		return err
	}
	q.Thinking.Setting, q.Thinking.Extra = says, Extra{API: api}
	slices.Sort(members)
	for _, name := range slices.Compact(members) {
		if v := f.Peek(name); v.Exists() && !(v.IsObject() && saysMore(v)) {
			f.Take(name)
			q.Thinking.Extra.Members = append(q.Thinking.Extra.Members, Member{Key: name, Value: v.Raw})
		}
	}
	return nil
}

// thinkingKeys are the members of an object that say nothing else than how to think.
var thinkingKeys = []string{
	"effort", "enabled", "max_tokens", "type", "budget_tokens", "token_budget", "enable_thinking", "thinking", "reasoning_effort", "thinking_budget",
}

func saysMore(v gjson.Result) bool {
	return slices.ContainsFunc(jsonedit.Members(v), func(m jsonedit.Member) bool { return !slices.Contains(thinkingKeys, m.Key) })
}

// WriteThinking adds the members that say how to think: as they came, if this API's codec has read
// them, and else in words that the API has.
func (q *Request) WriteThinking(o *jsonwrite.Object, api string) error {
	if q.Thinking.Extra.API == api {
		q.Thinking.Extra.Write(o, api)
		return nil
	}
	most, _ := q.MaxTokens.Int64()
	said, err := switches.Members(api, q.Thinking.Words, q.Thinking.Setting, int(max(0, min(most, 1<<30))))
	if err != nil {
		return err
	}
	for _, m := range jsonedit.Members(jsonedit.Parse(said)) {
		o.Raw(m.Key, m.Value.Raw)
	}
	return nil
}
