package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/sayings"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/switches"
)

// modelTalk is a conversation: the user's questions, and what the model says. After the replies with calls come the
// results. The client aborts one reply, and the limit of tokens cuts another in its thought.
var modelTalk = []struct {
	question string // or the results of the calls before, if empty
	reply    modelReply
	aborted  bool
}{
	{"How is the weather in Oslo and in Bergen?", modelReply{
		thought: "Two cities:\n\n1. \"Oslo\",\n2. Bergen \u2014 I ask for both. 😀", redacted: true, text: "Let me look.",
		calls: []modelCall{{weather, `{"city":"Oslo","days":[1,2.5]}`}, {weather, `{"city":"Bergen"}`}},
	}, false},
	{"", modelReply{thought: "Bergen needs the wind, too.", calls: []modelCall{{"get_wind", `{}`}}}, false},
	{"", modelReply{thought: "Now I know all:\n  both are cold.", text: "It is **4 °C** in both.\n\nBergen is windy."}, false},
	{"Why is that?", modelReply{thought: "Because of the sea. I explain it.", text: "The wind comes from the sea, and it is strong in autumn."}, true},
	{"Once more, please.", modelReply{thought: "I begin again, and the sea is", end: sotto.EndCut}, false},
	{"And tomorrow?", modelReply{thought: "I ask again.", text: "I look again.", calls: []modelCall{{weather, `{"city":"Oslo"}`}}}, false},
	{"", modelReply{thought: "The same.", text: "Still 4 °C."}, false},
	{"Thanks.", modelReply{thought: "Be polite.", text: "You are welcome."}, false},
}

// A modelRun is the conversation of one client with one model.
type modelRun struct {
	as, api *ledgerAPI
	rule    history.Rule
	writer  modelWriter
	model   string
	client  string // echo, drop
	display routing.Display
	stream  bool
	asks    string // how much thinking: "" if the client does not say, off, low or high
}

func (r *modelRun) String() string {
	return fmt.Sprintf("%s to %s, %s (%s, %s), client %s, %s, stream %v, thinking %q", r.as.name, r.api.name, r.rule.Name, r.model, r.writer.place, r.client, r.display, r.stream, r.asks)
}

// switches returns the words in which the server reads how much to think, if they are not those of its API, and how the
// client and the server's own client say that.
func (r *modelRun) switches() (words switches.Words, client, own string) {
	client, own = modelSwitches[r.as.name][r.asks], modelSwitches[r.api.name][r.asks]
	if w, ok := modelWords[[2]string{r.rule.Name, r.api.name}]; ok {
		words, own = w.words, w.says[r.asks]
	}
	return words, client, own
}

// maySwitch reports whether the server of a model, and the client's API, have words for how much to think. Bedrock's API has only those
// of the model, and a server that reads levels cannot be told to think not at all.
func (r *modelRun) maySwitch() bool {
	_, client, own := r.switches()
	onBedrock := r.as.name == "bedrock.converse" || r.api.name == "bedrock.converse"
	return client != "" && own != "" && (!onBedrock || r.rule.Name == "claude-sealed")
}

// modelPlaces are where the models of a family have their thoughts in an API, if they are served over it.
func modelPlaces(rule, api string) (places []string, signed bool) {
	switch rule {
	case "claude-sealed":
		return map[string][]string{"openai.chat": {"reasoning_details"}, "anthropic.messages": {"thinking"}, "bedrock.converse": {"thinking"}}[api], true
	case "gemini-sealed":
		return map[string][]string{"openai.chat": {"calls"}, "gemini.generate": {"thought"}}[api], true
	case "openai-sealed", "grok-sealed":
		return map[string][]string{"openai.responses": {"reasoning"}}[api], true
	case "gemini-unsigned":
		return nil, false // these do not think
	}
	places = map[string][]string{
		"openai.chat": {"reasoning_content", "reasoning"}, "openai.responses": {"reasoning"}, "anthropic.messages": {"thinking"}, "ollama.chat": {"thinking"},
		"gemini.generate": {"thought"}, "bedrock.converse": {"thinking"}, "cohere.chat": {"thinking", "tool_plan"},
	}[api]
	switch rule {
	case "minimax-keep":
		if api == "openai.chat" {
			places = append(places, "reasoning_details", detailsOnly)
		}
	case "harmony-keep", "magistral-strip", "gemma4-strip":
		return places, false // they have other tags, which servers take out of the text
	}
	return append(places, "tags"), false
}

// modelOf is the name of a model of a family.
func modelOf(r history.Rule) string {
	if len(r.Models) == 0 {
		return "some-model"
	}
	return strings.Trim(strings.ReplaceAll(r.Models[0], "*", "-"), "-") + "-x"
}

// modelRuns are the conversations of a pair.
func modelRuns(as, api *ledgerAPI) (all []modelRun) {
	for i, rule := range history.Rules() {
		places, signed := modelPlaces(rule.Name, api.name)
		for _, place := range places {
			for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
				for n := range 4 {
					r := modelRun{as: as, api: api, rule: rule, model: modelOf(rule), writer: modelWriter{place, signed, i%2 > 0}, client: []string{"echo", "drop"}[n/2], display: display, stream: n%2 > 0}
					if rule.Need == history.NeedUnknown && (r.client == "drop" || display == routing.DisplayHide) {
						continue // nothing says that such a model needs what the client leaves out
					}
					if api.name == "bedrock.converse" && rule.Name == "claude-sealed" {
						r.model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
					}
					if r.asks = []string{"", "off", "low", "high"}[(i+n)%4]; !r.maySwitch() {
						r.asks = ""
					}
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// TestBridgeModel: the model cannot tell. What reaches the upstream through a bridge means the same as what the best
// client of the upstream's own API sends: one that returns each reply as its provider documents it.
func TestBridgeModel(t *testing.T) {
	for _, as := range ledgerAPIs {
		for _, api := range ledgerAPIs {
			if as == api {
				continue
			}
			t.Run(as.name+" to "+api.name, func(t *testing.T) {
				t.Parallel()
				chosen := effort.OneOf(modelSample, modelSample/20, t.Name())
				for _, r := range modelRuns(as, api) {
					if chosen() {
						if wrong := r.play(t); wrong != "" {
							t.Errorf("%s: %s", &r, wrong)
						}
					}
				}
			})
		}
	}
}

const modelSample = 200

// TestBridgeModelFamilies: each family of the table that thinks is in a conversation.
func TestBridgeModelFamilies(t *testing.T) {
	for _, rule := range history.Rules() {
		if got := history.RuleFor(modelOf(rule), "").Name; got != rule.Name {
			t.Errorf("%q is a model of %s, want %s", modelOf(rule), got, rule.Name)
		}
		n := 0
		for _, api := range ledgerAPIs {
			places, _ := modelPlaces(rule.Name, api.name)
			n += len(places)
		}
		if n == 0 && rule.Name != "gemini-unsigned" {
			t.Errorf("no conversation has a model of %s", rule.Name)
		}
	}
}

// A modelStage is a conversation under way.
type modelStage struct {
	*modelRun
	t       *testing.T
	gateway *gateway.Handler
	n       int
	cancel  context.CancelFunc
	seen    string // what the upstream got
	own     string // its reply, as its own client gets it

	switched string // how its own client says how much to think
}

func (r *modelRun) play(t *testing.T) (wrong string) {
	s := &modelStage{modelRun: r, t: t}
	start := sotto.BeginOutside
	if r.writer.place == "tags" {
		start = ""
	}
	words, switched, own := r.switches()
	s.switched = own
	s.gateway = handler(t, gateway.Config{UpstreamAPI: r.api.name, Default: routing.Route{Display: r.display, Start: start, ThinkingSwitch: words}}, silencing(s.answer))
	var talk, said []any
	var calls, ownCalls []ledgerPart
	for n, step := range modelTalk {
		s.n = n
		if step.question != "" {
			talk, said = append(talk, r.as.user(step.question)), append(said, r.api.user(step.question))
		}
		talk, said = append(talk, r.as.results(calls)...), append(said, r.api.results(ownCalls)...)
		calls, ownCalls = nil, nil
		w := s.send(r.as.ask(r.model, r.stream, talk, switched))
		if s.seen == "" || !step.aborted && w.Code != http.StatusOK {
			return fmt.Sprintf("request %d: %d %s\nof %s", n, w.Code, w.Body, encoded(talk))
		}
		if wrong := s.judge(said); wrong != "" {
			return fmt.Sprintf("request %d: %s\nthe client sent %s\nthe upstream got %s", n, wrong, encoded(talk), s.seen)
		}
		if step.aborted {
			text := ""
			if r.stream {
				text = r.as.partial(t, w.Body.Bytes())
			}
			if text != "" {
				talk, said = append(talk, r.as.answer(text)...), append(said, r.api.answer(text)...)
			}
			continue
		}
		reply := r.as.join(t, w.Body.Bytes(), r.stream)
		calls = callParts(r.as.parts(reply))
		r.as.treat(reply, r.client)
		sends := slices.ContainsFunc(r.as.parts(reply), func(p ledgerPart) bool { return p.text != "" || p.proof != "" })
		if !sends {
			continue
		}
		talk = append(talk, r.as.sent(reply)...)
		message := r.api.join(t, []byte(s.own), r.stream)
		ownCalls = callParts(r.api.parts(message))
		said = append(said, r.api.sent(message)...)
	}
	return ""
}

func callParts(list []ledgerPart) []ledgerPart {
	return slices.DeleteFunc(list, func(p ledgerPart) bool { return p.kind != "call" })
}

// answer is the upstream's.
func (s *modelStage) answer(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	s.seen = string(body)
	step := &modelTalk[s.n]
	if step.aborted && !s.stream {
		s.cancel()
		return nil, q.Context().Err()
	}
	reply, kind := s.writer.write(s.api.name, s.model, s.n, &step.reply, s.stream, step.aborted)
	if s.own = reply; step.aborted {
		return response(kind, io.MultiReader(strings.NewReader(reply), cancelling{s.cancel, q.Context()})), nil
	}
	return response(kind, strings.NewReader(reply)), nil
}

// A cancelling body is where the client goes away.
type cancelling struct {
	cancel context.CancelFunc
	ctx    context.Context
}

func (c cancelling) Read([]byte) (int, error) {
	c.cancel()
	<-c.ctx.Done()
	return 0, c.ctx.Err()
}

func (s *modelStage) send(body string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	s.cancel, s.seen, s.own = cancel, "", ""
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, s.as.path(url.PathEscape(s.model), s.stream), strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
		s.gateway.ServeHTTP(w, r)
	}()
	return w
}

// judge compares what the upstream got with what its own client would have sent.
func (s *modelStage) judge(own []any) (wrong string) {
	want := s.api.ask(s.model, s.stream, s.api.alternating(s.returned(own)), s.switched)
	is, was := once(s.said(s.seen)), once(s.said(want))
	if !slices.Equal(is, was) {
		return "the upstream got (+), and its own client sends (-)\n" + strings.Join(difference(was, is), "\n")
	}
	return ""
}

// once are lines without those of a member that says what a list of details says, too: such a server needs one of them.
func once(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		words, ok := strings.CutPrefix(line, "assistant: thought reasoning ")
		return ok && slices.ContainsFunc(lines, func(other string) bool {
			return strings.HasPrefix(other, "assistant: thought detail reasoning.text "+words)
		})
	})
}

// difference are the lines of only one of two lists.
func difference(was, is []string) (all []string) {
	for _, line := range was {
		if !slices.Contains(is, line) {
			all = append(all, "- "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			all = append(all, "+ "+line)
		}
	}
	if all == nil {
		return append([]string{"another order:"}, is...)
	}
	return all
}

func (s *modelStage) said(body string) []string {
	i := slices.IndexFunc(providers.APIs(), func(a providers.API) bool { return a.Codec.Name() == s.api.name })
	said, err := sayings.Of(providers.APIs()[i].Name, []byte(body))
	if err != nil {
		s.t.Fatal(err)
	}
	return said.Exact()
}

// returned is the conversation as the provider documents that it wants it back: without the thoughts of earlier turns
// if the family wants none, or only those of turns with calls; and without thoughts that the provider should have
// signed and has not.
func (s *modelStage) returned(own []any) (all []any) {
	isUser := func(v any) bool {
		return str(obj(v)["role"]) == "user" && resultIDs(parsed(v)) == nil && !strings.Contains(encoded(v), "functionResponse")
	}
	for i, v := range own {
		m := obj(decodedJSON(encoded(v)))
		from, to := i, i+1
		for from > 0 && !isUser(own[from]) {
			from--
		}
		for to < len(own) && !isUser(own[to]) {
			to++
		}
		earlier := to < len(own)
		bare := false
		switch s.rule.Need {
		case history.NeedNone:
			bare = earlier || !s.carries()
		case history.NeedCalls:
			bare = earlier && !slices.ContainsFunc(own[from:to], func(v any) bool { return len(callParts(s.api.itemParts(obj(v)))) > 0 })
		case history.NeedSealed:
			bare = !s.carries() && (earlier || s.writer.place == "thought")
		}
		if len(s.api.itemParts(m)) == 0 || isUser(v) || resultIDs(parsed(v)) != nil {
			all = append(all, v)
			continue
		}
		if bare || s.rule.Need == history.NeedSealed && s.unsigned(m) {
			if m = s.api.bare(m); m == nil {
				continue
			}
		}
		if s.writer.place != detailsOnly && (earlier && !(s.client == "echo" && s.as.hasSlot()) || !s.writer.signed) { // a limit: the list of a thought whose words have a member of their own, too
			delete(m, "reasoning_details")
		}
		all = append(all, m)
	}
	return all
}

// carries reports whether the client itself sends a thought back, or a copy of it.
func (s *modelStage) carries() bool {
	return s.client == "echo" && (s.display != routing.DisplayHide || s.as.hasSlot())
}

// unsigned reports whether a message has a thought, and nothing that its provider has signed or that is not a thought.
func (s *modelStage) unsigned(m map[string]any) bool {
	return !slices.ContainsFunc(s.api.itemParts(m), func(p ledgerPart) bool { return p.proof != "" || !isThoughtPart(p) && p.text != "" })
}
