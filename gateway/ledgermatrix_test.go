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
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// A ledgerRun is one conversation of the matrix.
type ledgerRun struct {
	api     *ledgerAPI // that the upstream speaks
	as      *ledgerAPI // that the client speaks; nil if it is the same
	thought string     // in the text, apart, signed, missing
	model   string
	client  string // one of ledgerClients
	display routing.Display
	server  string // same, restart, replica
	stream  bool
	tools   bool

	guard  guard.Rule // that judges the replies
	part   bool       // it passes the first words of a thought
	socket bool       // the client asks over a WebSocket, by a connection for each turn
}

func (r *ledgerRun) String() string {
	pair := r.api.name
	if r.as != nil {
		pair = r.as.name + " to " + pair
	}
	return fmt.Sprintf("%s, %s (%s), client %s, %s, %s, stream %v, tools %v", pair, r.thought, r.model, r.client, r.display, r.server, r.stream, r.tools)
}

// asks is the API that the client speaks.
func (r *ledgerRun) asks() *ledgerAPI {
	if r.as != nil {
		return r.as
	}
	return r.api
}

// start is how the model's texts begin. Where nothing shows it, a text without a marker is withheld from a client
// that is to see no thought.
func (r *ledgerRun) start() sotto.Beginning {
	if r.thought != "in the text" {
		return sotto.BeginOutside
	}
	return ""
}

func (r *ledgerRun) need() history.Need { return history.RuleFor(r.model, r.api.name).Need }

// The values of the matrix. The models of a thought have the needs of their families.
var (
	ledgerThoughts = []string{"in the text", "apart", "signed", "missing"}
	ledgerDisplays = []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep}
	ledgerServers  = []string{"same", "restart", "replica"}
)

// ledgerModels are models of an API that think so: those of each need. There are none if the API has no place for
// such a thought.
func ledgerModels(api, thought string) []string {
	switch thought {
	case "in the text":
		return []string{"minimax-m2-loop", "qwen3-loop"}
	case "missing":
		return []string{"plain-loop"}
	case "apart":
		return []string{"kimi-k2-loop", "deepseek-v3.2-loop", "qwen3-apart-loop", "apart-loop"}
	}
	return map[string][]string{
		"openai.chat": {"gemini-3-loop", "claude-routed-loop"}, "gemini.generate": {"gemini-3-loop"}, "openai.responses": {"gpt-5-loop"},
		"anthropic.messages": {"claude-loop"}, "bedrock.converse": {"claude-loop"},
	}[api]
}

// ledgerRuns are the conversations with an API, of clients of another one if as is not nil.
func ledgerRuns(api, as *ledgerAPI) (all []ledgerRun) {
	for _, thought := range ledgerThoughts {
		for _, model := range ledgerModels(api.name, thought) {
			for _, client := range ledgerClients {
				if !meets(thought, client.name) {
					continue
				}
				for _, display := range ledgerDisplays {
					for _, server := range ledgerServers {
						for i := range 4 {
							if client.name == "renames" && i/2 == 0 {
								continue // without tools there are no calls
							}
							all = append(all, ledgerRun{
								api: api, as: as, thought: thought, model: model, client: client.name, display: display, server: server, stream: i%2 > 0, tools: i/2 > 0,
							})
						}
					}
				}
			}
		}
	}
	return all
}

// meets reports whether a client does something of its own with such a thought: with one that is missing, there is
// nothing to do.
func meets(thought, client string) bool {
	return thought != "missing" || client == "echo" || client == "renames"
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
	s := r.stage(t)
	defer func() { s.close() }()
	r.converse(s, func(talk []any) (reply map[string]any, ok bool) {
		reply, wrong = s.ask(talk)
		return reply, wrong == ""
	})
	return wrong
}

// converse has the conversation as long as ask returns replies.
func (r *ledgerRun) converse(s *ledgerStage, ask func(talk []any) (reply map[string]any, ok bool)) {
	questions := []string{"How is the weather?", "And now?"}
	var talk []any
	for turn, question := range questions {
		talk = append(talk, r.asks().user(question))
		for range 3 {
			reply, ok := ask(talk)
			if !ok {
				return
			}
			if r.client == "renames" {
				r.asks().rename(reply)
			}
			calls := slices.DeleteFunc(r.asks().parts(reply), func(p ledgerPart) bool { return p.kind != "call" })
			r.asks().treat(reply, r.client)
			if len(r.asks().parts(reply)) > 0 {
				talk = append(talk, r.asks().sent(reply)...)
			}
			for _, call := range calls {
				talk = append(talk, r.asks().result(call))
			}
			if len(calls) == 0 || turn == len(questions)-1 {
				break
			}
		}
	}
}

// stage begins the conversation.
func (r *ledgerRun) stage(t *testing.T) *ledgerStage {
	s := &ledgerStage{ledgerRun: r, t: t, upstream: scripted.New(scripted.Options{})}
	s.config = gateway.Config{Default: routing.Route{Display: r.display, Start: r.start(), Guard: r.guard}, Transport: answering(s.answer), Upstream: &url.URL{Scheme: "http", Host: "upstream"}}
	if r.as != nil {
		s.config.UpstreamAPI = r.api.name
	}
	switch r.server {
	case "replica":
		s.config.Shared, s.config.SharedSecret = newBoard(), []byte("a secret of the replicas")
		s.open()
	case "restart":
		s.config.Data = t.TempDir()
	}
	s.open()
	return s
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

// next is the gateway for the next request.
func (s *ledgerStage) next() *gateway.Handler {
	if s.n++; s.server == "restart" && s.n > 1 {
		s.close()
		s.open()
	}
	return s.gateways[s.n%len(s.gateways)]
}

// ask sends the conversation. It returns the reply, or what is wrong with what the upstream got.
func (s *ledgerStage) ask(talk []any) (reply map[string]any, wrong string) {
	w := s.send(s.next(), s.request(talk))
	if s.refuse != "" || w.Code != http.StatusOK {
		return nil, fmt.Sprintf("the provider refused: %d %s\nit got %s", w.Code, w.Body, s.seen)
	}
	before := s.said[:len(s.said)-1]
	if wrong = s.judge(before); wrong != "" {
		return nil, fmt.Sprintf("%s\nthe client sent %s\nthe upstream got %s", wrong, encoded(talk), s.seen)
	}
	return s.asks().join(s.t, w.Body.Bytes(), s.stream), ""
}

// request is what the client asks. Where thinking is switched in words of the model's own, it says nothing of it.
func (s *ledgerStage) request(talk []any) string {
	a := *s.asks()
	if s.as != nil && s.api.name == "bedrock.converse" {
		a.more = strings.Split(a.more, `,"thinking"`)[0]
	}
	return a.request(s.model, s.stream, s.tools, talk)
}

// send sends a request.
func (s *ledgerStage) send(g *gateway.Handler, body string) *httptest.ResponseRecorder {
	if !s.socket {
		return ask(g, s.asks().path(s.model, s.stream), body)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	c, _, err := connect(s.t, server.URL, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.conn.CloseNow()
	members := obj(decodedJSON(body))
	delete(members, "stream")
	members["type"] = "response.create"
	c.send(encoded(members))
	w := httptest.NewRecorder()
	for {
		e := c.hear()
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Get("type").Str, e.Raw)
		switch e.Get("type").Str {
		case "error", "response.failed":
			w.Code = http.StatusBadRequest
			return w
		case "response.completed", "response.incomplete":
			return w
		}
	}
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
		if s.part && s.server == "restart" { // what the client shows of a thought that is signed elsewhere
			unsigned := func(p ledgerPart) bool { return p.kind == "thought" && p.proof == "" }
			turns[i], before[i] = slices.DeleteFunc(turns[i], unsigned), slices.DeleteFunc(slices.Clone(before[i]), unsigned)
		}
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
			chosen := effort.OneOf(ledgerSample, 3, t.Name())
			for _, r := range ledgerRuns(api, nil) {
				if chosen() {
					r.check(t)
				}
			}
		})
	}
}

const ledgerSample = 30

// TestLedgerSockets: what a client of the Responses API carries and what the gateway remembers is the same over
// WebSockets, also if each turn comes over a connection of its own, to another process.
func TestLedgerSockets(t *testing.T) {
	i := slices.IndexFunc(ledgerAPIs, func(a *ledgerAPI) bool { return a.name == "openai.responses" })
	chosen := effort.OneOf(ledgerSample, 3, t.Name())
	for _, r := range ledgerRuns(ledgerAPIs[i], nil) {
		if r.socket = true; r.stream && chosen() {
			r.check(t)
		}
	}
}

// TestLedgerGuard: a guard that passes everything changes nothing of what the upstream gets back, whether it judges
// pieces or whole texts.
func TestLedgerGuard(t *testing.T) {
	chosen := effort.OneOf(ledgerSample, 8, t.Name())
	for _, api := range ledgerAPIs {
		for i, r := range ledgerRuns(api, nil) {
			if r.display == routing.DisplayKeep || !chosen() {
				continue
			}
			r.guard = guard.Rule{Guard: &judgeFunc{}, Every: []int{0, -1, 1}[i%3]}
			r.check(t)
		}
	}
}

// TestLedgerCut: the upstream gets its own thoughts back although a guard has kept them from the client, and never a part of
// one, which it would refuse.
func TestLedgerCut(t *testing.T) {
	chosen := effort.OneIn(ledgerSample, t.Name())
	for _, api := range ledgerAPIs {
		for _, r := range ledgerRuns(api, nil) {
			if r.api.blocks == "" && r.api.name != "openai.chat" || r.thought != "signed" || r.client != "echo" || !r.shown(routing.DisplayField, routing.DisplayHide) || !chosen() {
				continue
			}
			for i, passes := range []int{0, 9, 0, 9} { // bytes of a thought
				r.part = passes > 0
				r.guard = guard.Rule{Every: []int{3, -1}[i/2], Guard: &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
					if p.Channel == guard.Reasoning && p.Offset >= passes {
						return guard.Verdict{Action: guard.Cut}, nil
					}
					return guard.Verdict{Action: guard.Pass}, nil
				}}}
				r.check(t)
			}
		}
	}
}

func (r *ledgerRun) check(t *testing.T) {
	wrong, limit := r.play(t), r.limit()
	switch {
	case wrong != "" && limit == 0:
		t.Errorf("%s: %s", r, wrong)
	case wrong == "" && limit > 0:
		t.Errorf("%s: works, in spite of limit %d", r, limit)
	}
}
