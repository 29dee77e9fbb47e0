package bedrock

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// modelMember holds the members that only some models have. Among them are the switches of
// thinking: the API itself has none.
const modelMember = "additionalModelRequestFields"

// A maker is a maker of models, with the members that its models have.
type maker struct {
	name  string // in the models' names
	api   string // whose words its switches are
	words switches.Words
	topK  bool
}

var makers = []maker{
	{"anthropic.", "anthropic.messages", switches.Thinking, true},
	{"openai.", "openai.chat", switches.ReasoningEffort, false},
}

// makerOf returns the maker of a model. Its name may have a region in front, or be the ARN of a profile.
func makerOf(model string) (maker, bool) {
	i := slices.IndexFunc(makers, func(m maker) bool { return strings.Contains(model, m.name) })
	if i < 0 {
		return maker{}, false
	}
	return makers[i], true
}

// writeOwn returns the members of a request that only the model has.
func writeOwn(q *turn.Request) ([]turn.Member, error) {
	var members []turn.Member
	m, known := makerOf(q.Model)
	var o jsonwrite.Object
	switch {
	case q.Thinking.Extra.API == apiName:
		for _, own := range q.Thinking.Extra.Members {
			o.Raw(own.Key, own.Value)
		}
	case q.Thinking.Setting == switches.Setting{}:
	case !known:
		return nil, &turn.UnsupportedError{What: "a switch of thinking of this model", API: apiName, Of: turn.OfThinking}
	default:
		words := m.words
		if q.Thinking.Words == switches.Adaptive && m.api == "anthropic.messages" {
			words = q.Thinking.Words
		}
		most, _ := strconv.Atoi(string(q.MaxTokens))
		said, err := switches.Members(m.api, words, q.Thinking.Setting, most)
		if err != nil {
			return nil, err
		}
		for _, own := range jsonedit.Members(jsonedit.Parse(said)) {
			o.Raw(own.Key, own.Value.Raw)
		}
	}
	if q.Sampling.TopK != "" {
		if !m.topK && q.Extra.API != apiName {
			return nil, &turn.UnsupportedError{What: "top_k of this model", API: apiName, Of: turn.OfTopK}
		}
		o.Raw("top_k", string(q.Sampling.TopK))
	}
	if !o.Empty() {
		members = append(members, turn.Member{Key: modelMember, Value: string(o.End())})
	}
	return members, nil
}

// readOwn reads the members that only the model has. It reports whether it took any.
func readOwn(f *turn.Fields, q *turn.Request) (took bool) {
	var o jsonwrite.Object
	for _, name := range []string{"thinking", "reasoning_effort", "output_config"} {
		if v := f.Peek(name); v.Exists() {
			o.Raw(name, v.Raw)
		}
	}
	says, names, err := switches.Find(o.End())
	if err == nil && len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return saysMore(f.Peek(name)) }) {
		q.Thinking.Setting, q.Thinking.Extra = says, turn.Extra{API: apiName, Path: modelMember}
		for _, name := range slices.Compact(names) {
			q.Thinking.Extra.Members = append(q.Thinking.Extra.Members, turn.Member{Key: name, Value: f.Take(name).Raw})
		}
		took = true
	}
	if q.Sampling.TopK = turns.Number(f, "top_k"); q.Sampling.TopK != "" {
		took = true
	}
	return took
}

// saysMore reports whether a value has a member that is not one of a switch.
func saysMore(v gjson.Result) bool {
	return v.IsObject() && !turn.HasOnly(v, "type", "budget_tokens", "effort")
}
