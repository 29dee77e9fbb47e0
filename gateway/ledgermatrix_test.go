package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// A ledgerRun is one conversation of the matrix.
type ledgerRun struct {
	api     *ledgerAPI
	thought string // in the text, apart, signed
	model   string
	client  string // one of ledgerClients
	display routing.Display
	server  string // same, restart, replica
	stream  bool
	tools   bool
}

func (r *ledgerRun) String() string {
	return fmt.Sprintf("%s, %s (%s), client %s, %s, %s, stream %v, tools %v", r.api.name, r.thought, r.model, r.client, r.display, r.server, r.stream, r.tools)
}

// start is how the model's texts begin. Where nothing shows it, a text without a marker is withheld from a client
// that is to see no thought.
func (r *ledgerRun) start() sotto.Start {
	if r.thought != "in the text" {
		return sotto.StartOutside
	}
	return ""
}

func (r *ledgerRun) need() history.Need { return history.RuleFor(r.model, r.api.name).Need }

// The values of the matrix. The models of a thought have the needs of their families.
var (
	ledgerThoughts = []string{"in the text", "apart", "signed"}
	ledgerDisplays = []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep}
	ledgerServers  = []string{"same", "restart", "replica"}
)

// ledgerModels are models of an API that think so: those of each need. There are none if the API has no place for
// such a thought.
func ledgerModels(api, thought string) []string {
	switch thought {
	case "in the text":
		return []string{"minimax-m2-loop", "qwen3-loop"}
	case "apart":
		return []string{"kimi-k2-loop", "deepseek-v3.2-loop", "qwen3-apart-loop", "apart-loop"}
	}
	return map[string][]string{
		"openai.chat": {"gemini-3-loop"}, "gemini.generate": {"gemini-3-loop"}, "openai.responses": {"gpt-5-loop"},
		"anthropic.messages": {"claude-loop"}, "bedrock.converse": {"claude-loop"},
	}[api]
}

// ledgerRuns are the conversations of an API.
func ledgerRuns(api *ledgerAPI) (all []ledgerRun) {
	for _, thought := range ledgerThoughts {
		for _, model := range ledgerModels(api.name, thought) {
			for _, client := range ledgerClients {
				for _, display := range ledgerDisplays {
					for _, server := range ledgerServers {
						for i := range 4 {
							if client.name == "renames" && i/2 == 0 {
								continue // without tools there are no calls
							}
							all = append(all, ledgerRun{api, thought, model, client.name, display, server, i%2 > 0, i/2 > 0})
						}
					}
				}
			}
		}
	}
	return all
}

// A ledgerStage is a conversation under way: a client, gateways, and the model's server, which plays its replies and
// checks what comes back.
type ledgerStage struct {
	*ledgerRun
	t        *testing.T
	upstream http.Handler
	gateways []*gateway.Handler
	config   gateway.Config
	n        int // requests

	seen   string         // the last request, as the upstream got it
	said   [][]ledgerPart // what the upstream has said
	refuse string         // … and by which it refused
}

// play has the conversation. It returns what is wrong, or "".
func (r *ledgerRun) play(t *testing.T) (wrong string) {
	s := &ledgerStage{ledgerRun: r, t: t, upstream: scripted.New(scripted.Options{})}
	s.config = gateway.Config{Default: routing.Route{Display: r.display, Start: r.start()}, Transport: answering(s.answer), Upstream: &url.URL{Scheme: "http", Host: "upstream"}}
	switch r.server {
	case "replica":
		s.config.Shared, s.config.SharedSecret = newBoard(), []byte("a secret of the replicas")
		s.open()
	case "restart":
		s.config.Data = t.TempDir()
	}
	s.open()
	defer func() { s.close() }()
	questions := []string{"How is the weather?", "And now?"}
	var talk []any
	for turn, question := range questions {
		talk = append(talk, r.api.user(question))
		for range 3 {
			reply, fault := s.ask(talk)
			if fault != "" {
				return fault
			}
			if r.client == "renames" {
				r.api.rename(reply)
			}
			calls := slices.DeleteFunc(r.api.parts(reply), func(p ledgerPart) bool { return p.kind != "call" })
			r.api.treat(reply, r.client)
			if len(r.api.parts(reply)) > 0 {
				talk = append(talk, r.api.sent(reply)...)
			}
			for _, call := range calls {
				talk = append(talk, r.api.result(call))
			}
			if len(calls) == 0 || turn == len(questions)-1 {
				break
			}
		}
	}
	return ""
}

func (s *ledgerStage) open() {
	g, err := gateway.New(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.gateways = append(s.gateways, g)
}

func (s *ledgerStage) close() {
	for _, g := range s.gateways {
		if err := g.Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.gateways = nil
}

// answer is the upstream's.
func (s *ledgerStage) answer(r *http.Request) *http.Response {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.seen, s.refuse = string(body), ""
	w := httptest.NewRecorder()
	again := httptest.NewRequest(http.MethodPost, r.URL.RequestURI(), bytes.NewReader(body))
	s.upstream.ServeHTTP(w, again)
	if w.Code != http.StatusOK {
		s.refuse = w.Body.String()
		return w.Result()
	}
	s.said = append(s.said, s.api.parts(s.api.join(s.t, w.Body.Bytes(), s.stream)))
	return w.Result()
}

// ask sends the conversation. It returns the reply, or what is wrong with what the upstream got.
func (s *ledgerStage) ask(talk []any) (reply map[string]any, wrong string) {
	if s.n++; s.server == "restart" && s.n > 1 {
		s.close()
		s.open()
	}
	w := ask(s.gateways[s.n%len(s.gateways)], s.api.path(s.model, s.stream), s.api.request(s.model, s.stream, s.tools, talk))
	if s.refuse != "" || w.Code != http.StatusOK {
		return nil, fmt.Sprintf("the provider refused: %d %s\nit got %s", w.Code, w.Body, s.seen)
	}
	before := s.said[:len(s.said)-1]
	if wrong = s.judge(before); wrong != "" {
		return nil, fmt.Sprintf("%s\nthe client sent %s\nthe upstream got %s", wrong, encoded(talk), s.seen)
	}
	return s.api.join(s.t, w.Body.Bytes(), s.stream), ""
}

// judge compares what the upstream got with what it said before.
func (s *ledgerStage) judge(before [][]ledgerPart) (wrong string) {
	turns, earlier, results := s.api.turns(s.seen)
	if len(turns) != len(before) {
		return fmt.Sprintf("%d turns of the model, want %d", len(turns), len(before))
	}
	var ids []string
	for i := range turns {
		for _, p := range before[i] {
			if p.kind == "call" {
				ids = append(ids, p.id)
			}
		}
	}
	none := func(id string) bool { return id == "" }
	if ids, results = slices.DeleteFunc(ids, none), slices.DeleteFunc(results, none); !slices.Equal(ids, results) {
		return fmt.Sprintf("results of %q, want %q", results, ids)
	}
	for i := range turns {
		if wrong = s.same(turns[i], before[i], i >= earlier); wrong != "" {
			return fmt.Sprintf("turn %d: %s", i, wrong)
		}
	}
	return ""
}

// same compares a turn of the model with what it said. current says that it is of the turn under way.
func (s *ledgerStage) same(got, want []ledgerPart, current bool) (wrong string) {
	got, want = s.normal(got), s.normal(want)
	if slices.Equal(got, want) {
		if s.mayNot(current) && slices.ContainsFunc(got, isThoughtPart) {
			return fmt.Sprintf("a thought that the family does not need: %+v", got)
		}
		return ""
	}
	if s.need() == history.NeedSealed {
		if !within(got, want) {
			return fmt.Sprintf("%+v\nof %+v", got, want)
		}
		got, want = sealedParts(got), sealedParts(want)
	}
	if s.must(current) && !slices.Equal(got, want) {
		return fmt.Sprintf("%+v\nwant %+v", got, want)
	}
	if bare := withoutThoughts(want); !slices.Equal(withoutThoughts(got), bare) || s.need() != history.NeedSealed && slices.ContainsFunc(got, isThoughtPart) {
		return fmt.Sprintf("%+v\nwant %+v", got, bare)
	}
	return ""
}

// must reports whether the thoughts of a turn must go back: because its family needs them, or because the client
// sends them and nothing says that the family does not want them.
func (s *ledgerStage) must(current bool) bool {
	switch s.need() {
	case history.NeedAll:
		return true
	case history.NeedCalls:
		return s.tools
	case history.NeedSealed:
		return current
	case history.NeedUnknown:
		return s.display != routing.DisplayHide && s.client != "drop" && s.client != "empty"
	}
	return false
}

// mayNot reports whether the family wants no thoughts of a turn.
func (s *ledgerStage) mayNot(current bool) bool {
	return !current && (s.need() == history.NeedNone || s.need() == history.NeedCalls && !s.tools)
}

// sealedParts are those that a provider that signs needs back: not a summary that it has not signed.
func sealedParts(list []ledgerPart) (all []ledgerPart) {
	for _, p := range list {
		if !isThoughtPart(p) || p.proof != "" {
			all = append(all, p)
		}
	}
	return all
}

func isThoughtPart(p ledgerPart) bool { return p.kind == "thought" }

// withoutThoughts are the parts that are no thoughts, without what signs them.
func withoutThoughts(list []ledgerPart) (all []ledgerPart) {
	for _, p := range list {
		if p.proof = ""; !isThoughtPart(p) && (p.kind != "text" || p.text != "") {
			all = append(all, p)
		}
	}
	return all
}

// within reports whether each thought and each proof of a list is in another.
func within(got, want []ledgerPart) bool {
	return !slices.ContainsFunc(got, func(p ledgerPart) bool { return (isThoughtPart(p) || p.proof != "") && !slices.Contains(want, p) })
}

// normal is a list of parts in which neighbours of one kind are one. A thought in the text is a part.
func (s *ledgerStage) normal(list []ledgerPart) (all []ledgerPart) {
	for _, p := range list {
		if p.text = strings.TrimSpace(p.text); p.kind == "call" {
			p.text = string(compact(p.text))
		}
		if thought, rest, ok := inTags(p.text); ok && p.kind == "text" && s.thought == "in the text" {
			if p.text = rest; thought != "" { // an empty block is as good as none
				all = append(all, ledgerPart{kind: "thought", place: "text", text: thought})
			}
		}
		if p.kind != "thought" {
			p.addressed = ""
		}
		n := len(all)
		switch {
		case p.kind == "text" && p.text == "" && p.proof == "":
		case n > 0 && p.kind != "call" && all[n-1].kind == p.kind && all[n-1].place == p.place && all[n-1].proof == "":
			all[n-1].text, all[n-1].proof = strings.TrimSpace(all[n-1].text+" "+p.text), p.proof
		default:
			all = append(all, p)
		}
	}
	return all
}

func compact(text string) []byte {
	v := gjson.Parse(text)
	return []byte(encoded(v.Value()))
}

// TestLedgerMatrix: see docs/ledger.md. Each conversation works, or it has a limit that explains why not.
func TestLedgerMatrix(t *testing.T) {
	for _, api := range ledgerAPIs {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			chosen := effort.OneIn(ledgerSample, t.Name())
			for _, r := range ledgerRuns(api) {
				if chosen() {
					r.check(t)
				}
			}
		})
	}
}

const ledgerSample = 30

func (r *ledgerRun) check(t *testing.T) {
	wrong, limit := r.play(t), r.limit()
	switch {
	case wrong != "" && limit == 0:
		t.Errorf("%s: %s", r, wrong)
	case wrong == "" && limit > 0:
		t.Errorf("%s: works, in spite of limit %d", r, limit)
	}
}
