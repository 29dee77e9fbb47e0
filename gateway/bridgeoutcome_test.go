package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// An outcome is what becomes of a conversation over a bridge, after a restart without a store: the worst of what becomes of
// its requests.
type outcome int

const (
	itWorks      outcome = iota
	onlyWords            // the thought comes back by its words only
	unthinkingly         // the model answers without its thought
	inTheTags            // the tags of a thought stay in a text
	asSpeech             // the client has made the thought a text
	isRefused            // a 400 in the client's API, which names the place of the thought
)

func (o outcome) String() string {
	return [...]string{"yes", "words", "without", "tags", "text", "400"}[o]
}

// outcome is what becomes of a conversation over a bridge. Each cell of the matrix has one.
func (r *ledgerRun) outcome() outcome {
	if r.server != "restart" || r.thought == "missing" {
		return itWorks
	}
	hidden := r.display == routing.DisplayHide
	switch {
	case r.copied():
		return r.ofCopy()
	case r.isRefusedBare(!hidden && r.is("echo", "renames", "tags")):
		return isRefused
	case hidden, r.is("drop"):
		return r.ofNothing()
	case r.is("empty"):
		if r.display == routing.DisplayTags && r.thought != "in the text" && r.ofTags(true) != itWorks {
			return inTheTags
		}
		return r.ofNothing()
	case r.signsCalls() && r.of("openai.chat"): // it shows no thought
		return itWorks
	case r.is("text"):
		return asSpeech
	}
	return r.ofWords()
}

// copied reports whether the client sends the copy of a thought back.
func (r *ledgerRun) copied() bool {
	return r.as.hasSlot() && (r.is("echo", "renames") || r.is("empty") && r.as.name != "openai.responses")
}

// ofCopy: a thought that stands in the text as the model wrote it has no copy. If it comes in such a text whole, the reply
// is not changed under tags either.
func (r *ledgerRun) ofCopy() outcome {
	asWritten := r.thought == "in the text" && (r.display == routing.DisplayKeep || r.display == routing.DisplayTags && !r.stream && r.is("empty"))
	switch {
	case !asWritten:
		return itWorks
	case r.is("empty"):
		return r.ofNothing()
	case r.need() == history.NeedNone && r.tools && r.api.blocks != "": // the thought is all that the text says
		return inTheTags
	}
	return itWorks
}

// isRefusedBare reports whether the provider refuses calls without what it made: words say that the client sends the words of
// the thought.
func (r *ledgerRun) isRefusedBare(words bool) bool {
	switch {
	case !r.tools:
		return false
	case r.signsCalls(): // in its own API, a provider that signs calls takes a placeholder
		return r.of("openai.chat")
	case r.need() == history.NeedSealed:
		return true
	}
	return r.need() == history.NeedCalls && r.of("openai.chat") && !words
}

// ofNothing: nothing comes back.
func (r *ledgerRun) ofNothing() outcome {
	if r.needed() {
		return unthinkingly
	}
	return itWorks
}

// ofWords: the client sends the words of a thought, in a member for them or between tags.
func (r *ledgerRun) ofWords() outcome {
	tags := r.is("tags")
	inOwnBlock := tags && r.as.blocks != "" && !r.shown(routing.DisplayTags) && r.of("bedrock.converse", "anthropic.messages", "openai.responses", "cohere.chat")
	switch {
	case r.thought == "in the text" && r.need() == history.NeedNone:
		switch {
		case r.tools && r.api.blocks != "" && (tags || !r.shown(routing.DisplayField)), !r.tools && inOwnBlock && r.shown(routing.DisplayField):
			return inTheTags
		case r.tools && !tags && r.of("openai.responses"):
			return onlyWords
		}
		return itWorks
	case r.thought == "in the text":
		if !tags && r.shown(routing.DisplayField) && r.of("openai.responses") {
			return onlyWords
		}
		return itWorks
	case r.thought == "apart" && inOwnBlock:
		return inTheTags
	case tags || r.shown(routing.DisplayTags):
		return r.ofTags(false)
	case r.signsCalls() && r.tools:
		return onlyWords
	case r.thought == "signed":
		return itWorks
	}
	return r.ofMember(r.of("openai.responses", "cohere.chat"))
}

// ofMember: the words of a thought are in a member of their own. The upstream gets them in another place than its own, or
// without the id that it has given to the item.
func (r *ledgerRun) ofMember(moved bool) outcome {
	keeps := r.need() == history.NeedAll || r.need() == history.NeedUnknown
	if r.tools && moved || keeps && r.of("openai.responses") {
		return onlyWords
	}
	return itWorks
}

// ofTags: a thought that was apart is between tags in a text, with words or without.
func (r *ledgerRun) ofTags(empty bool) outcome {
	silent := strings.HasPrefix(r.model, "kimi") // it says nothing beside its calls
	switch {
	case r.thought == "signed" && r.of("openai.chat"):
		return itWorks
	case r.thought == "signed":
		return inTheTags
	case r.tools && (silent && r.api.blocks != "" || r.of("cohere.chat")): // the plan of the calls is another member
		return inTheTags
	}
	// where reasoning is an item, an empty one would be that of an id
	return r.ofMember(r.of("openai.responses"))
}

// become has the conversation and returns what becomes of it. wrong is what may become of none.
func (r *ledgerRun) become(s *ledgerStage) (o outcome, wrong string) {
	r.converse(s, func(talk []any) (map[string]any, bool) {
		w := s.send(s.next(), s.request(talk))
		if w.Code != http.StatusOK {
			wrong = s.badRefusal(w.Code, w.Body.String(), talk)
			o = isRefused
			return nil, false
		}
		now, fault := s.worst()
		if fault != "" {
			wrong = fmt.Sprintf("%s\nthe client sent %s\nthe upstream got %s", fault, encoded(talk), s.seen)
			return nil, false
		}
		o = max(o, now)
		return s.asks().join(s.t, w.Body.Bytes(), s.stream), true
	})
	return o, wrong
}

// badRefusal is what is wrong with an error that the client gets: it is no 400, or does not name the place where the thought is
// missing in the request.
func (s *ledgerStage) badRefusal(code int, body string, talk []any) string {
	at := s.missing(talk)
	if code == http.StatusBadRequest && at != "" && strings.Contains(body, at) {
		return ""
	}
	return fmt.Sprintf("%d %s, want a 400 that names %s\nthe client sent %s\nthe upstream got %s", code, body, at, encoded(talk), s.seen)
}

// missing is the first message of the talk with a call, which is where a thought is missing.
func (s *ledgerStage) missing(talk []any) string {
	for i, v := range talk {
		if len(callParts(s.asks().itemParts(obj(v)))) > 0 && obj(v)["role"] != "tool" {
			return fmt.Sprintf("%s[%d]", s.asks().list, i)
		}
	}
	return ""
}

// worst is the worst of what has become of the turns in the last request.
func (s *ledgerStage) worst() (o outcome, wrong string) {
	turns, earlier, results := s.api.turns(s.seen)
	before := s.said[:len(s.said)-1]
	if len(turns) != len(before) {
		return 0, fmt.Sprintf("%d turns of the model, want %d", len(turns), len(before))
	}
	var calls []string
	for i := range turns {
		var was, is []string
		for _, p := range callParts(slices.Clone(turns[i])) {
			is = append(is, p.id)
		}
		for _, p := range callParts(slices.Clone(before[i])) {
			was = append(was, p.id)
		}
		if kept := slices.Equal(is, was); kept == (s.client == "renames") && len(was) > 0 {
			return 0, fmt.Sprintf("turn %d has calls %q, which were %q", i, is, was)
		}
		calls = append(calls, is...)
		now, fault := s.becomes(unnamed(turns[i]), unnamed(before[i]), i >= earlier)
		if fault != "" {
			return 0, fmt.Sprintf("turn %d: %s", i, fault)
		}
		o = max(o, now)
	}
	none := func(id string) bool { return id == "" }
	if calls, results = slices.DeleteFunc(calls, none), slices.DeleteFunc(results, none); !slices.Equal(calls, results) {
		return 0, fmt.Sprintf("results of %q, want %q", results, calls)
	}
	return o, ""
}

// unnamed are parts without the ids of calls.
func unnamed(list []ledgerPart) []ledgerPart {
	list = slices.Clone(list)
	for i := range list {
		list[i].id = ""
	}
	return list
}

// becomes says what has become of a turn of the model.
func (s *ledgerStage) becomes(got, want []ledgerPart, current bool) (o outcome, wrong string) {
	if s.same(got, want, current) == "" {
		return itWorks, ""
	}
	got, want = s.normal(got), s.normal(want)
	said := ""
	for _, p := range got {
		if p.kind == "text" {
			said += p.text
		}
	}
	if strings.Contains(said, "<think>") || strings.Contains(said, "</think>") {
		return inTheTags, ""
	}
	if slices.ContainsFunc(want, func(p ledgerPart) bool { return isThoughtPart(p) && p.text != "" && strings.Contains(said, p.text) }) {
		return asSpeech, ""
	}
	if !slices.Equal(withoutThoughts(got), withoutThoughts(want)) {
		return 0, fmt.Sprintf("%+v\nwant %+v", got, want)
	}
	o = unthinkingly
	for _, p := range got {
		if !isThoughtPart(p) {
			continue
		}
		same := func(was ledgerPart) bool { return isThoughtPart(was) && was.text == p.text }
		if p.proof != "" || p.text == "" || !slices.ContainsFunc(want, same) {
			return 0, fmt.Sprintf("%+v\nwant %+v", got, want)
		}
		switch stays := s.mayNot(current); {
		case stays && p.place != "text":
			return 0, fmt.Sprintf("a thought that the family does not need: %+v", got)
		case stays:
			return inTheTags, ""
		}
		o = onlyWords
	}
	return o, ""
}
