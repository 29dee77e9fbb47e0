package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The law of history. Over a conversation, for every API, policy, family, display and
// client, and wherever the upstream puts reasoning:
//
//   - a request to the upstream has each earlier thought at most once,
//   - exactly once if the policy, or the provider's family, requires it,
//   - and not at all if the policy removes it.
//
// Under strip-all this holds within the turn that is under way, too.

// A lawCase is one conversation.
type lawCase struct {
	api      assistant
	style    string
	model    string
	policy   history.Policy
	display  routing.Display
	client   string // what it sends back: "all", "text", "text and calls"
	tools    bool
	textless bool // a reply that calls a tool says nothing else
	clock    bool // the system message changes with each request
	replicas bool // two gateways serve the requests in turn
}

func (c lawCase) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s, client: %s, tools %v, textless %v, clock %v, replicas %v", c.api.name, c.style, c.model, c.policy, c.display, c.client, c.tools, c.textless, c.clock, c.replicas)
}

// A lawThought is one earlier thought of the conversation.
type lawThought struct {
	text  string
	turn  int  // which of the user's messages it answers
	calls bool // its turn calls tools
}

// run has the conversation, and checks every request.
func (c lawCase) run(t *testing.T) {
	t.Helper()
	var seen string
	var next any
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = readAll(t, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(next)
	}))
	defer up.Close()
	config := gateway.Config{Default: routing.Route{History: c.policy, Display: c.display}}
	gateways := 1
	if c.replicas {
		gateways, config.Shared, config.SharedSecret = 2, newBoard(), []byte("a secret of the replicas")
	}
	var bases []string
	for range gateways {
		srv := httptest.NewServer(inFront(t, up.URL, config))
		defer srv.Close()
		bases = append(bases, srv.URL)
	}

	var talk []any
	var thoughts []lawThought
	n, failed := 0, false
	ask := func(turn int, call string) {
		n++
		thought, text := fmt.Sprintf("thought-%d-ends", n), fmt.Sprintf("Answer %d.", n)
		if call != "" && c.textless {
			text = ""
		}
		next = c.api.reply(c.style, thought, text, call)
		all := talk
		if c.clock {
			all = append([]any{c.api.clock(n)}, talk...)
		}
		body, _ := json.Marshal(map[string]any{"model": c.model, "stream": false, "max_tokens": 99, c.api.body: all})
		resp, got := post(t, bases[n%gateways]+c.api.path, string(body), nil)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%v: %d %s", c, resp.StatusCode, got)
		}
		for _, th := range thoughts {
			least, most := c.bounds(th, turn)
			if have := strings.Count(seen, th.text); have < least || have > most {
				failed = true
				t.Errorf("%v\nrequest %d has %s %d times, want %d to %d:\n%s\n%s", c, n, th.text, have, least, most, body, seen)
			}
		}
		thoughts = append(thoughts, lawThought{thought, turn, c.tools})
		for _, item := range c.api.said(decode(t, got)) {
			if kept := c.api.keep(item.(map[string]any), c.client == "all", c.client != "text"); kept != nil {
				talk = append(talk, kept)
			}
		}
		if call != "" && c.client != "text" {
			talk = append(talk, c.api.result(call))
		}
	}
	for turn := range 3 {
		talk = append(talk, c.api.user(fmt.Sprintf("Question %d?", turn)))
		if c.tools {
			ask(turn, fmt.Sprintf("call_%08xA%d", 0xabcdef00+turn, turn))
		}
		ask(turn, "")
		if failed {
			return
		}
	}
}

// bounds are how often an earlier thought may stand in a request of a turn.
func (c lawCase) bounds(th lawThought, turn int) (least, most int) {
	rule := history.RuleFor(c.model, c.api.name)
	sent := c.client == "all" && c.display != routing.DisplayHide
	demanded := rule.Demands && (rule.Need == history.NeedAll || th.calls)
	required := false // for the family, whether it was sent or not
	switch {
	case c.style == "inline" && rule.Need == history.NeedAll:
		required = true
	case c.style == "member" && rule.Demands && th.calls:
		required = true
	}
	earlier, removed := th.turn < turn || c.policy == history.StripAll, false
	switch c.policy {
	case history.Auto:
		removed = earlier && (rule.Need == history.NeedNone || rule.Need == history.NeedCalls && !th.calls)
	case history.Strip, history.StripAll:
		removed = earlier && !demanded
		required = false
	case history.Preserve:
		required = false
	case history.Restore:
		required = true
	}
	// What the gateway cannot put back.
	restorable := c.style == "inline" || c.style == "member" && c.api.adds
	if c.client == "text" && c.tools {
		restorable = false // messages are missing: it is another conversation
	}
	if c.clock && (!c.tools || c.client == "text" || c.api.name == "ollama.chat") { // no ids of calls to find it by
		restorable = false
	}
	switch {
	case c.client == "text" && c.textless && c.display == routing.DisplayTags: // the thought ends a request: it begins the next reply
		return 0, 2
	case removed && (c.style == "signed" || c.client == "text" && c.textless): // a message of reasoning alone keeps it
		return 0, 1
	case removed && c.textless && !c.api.blank && (c.display == routing.DisplayTags || c.style == "inline"): // and so does a text
		return 0, 1
	case removed:
		return 0, 0
	case sent, required && restorable:
		return 1, 1
	}
	return 0, 1
}

func TestHistoryLaw(t *testing.T) {
	displays := []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayField}
	n := 0
	for _, api := range assistants {
		for _, style := range api.styles {
			t.Run(api.name+" "+style, func(t *testing.T) {
				for _, model := range []string{"unheard-of", "qwen3:8b", "deepseek-v3.2", "kimi-k2.6", "minimax-m2", "glm-4.7", "claude-sonnet-4-5"} {
					if (style == "signed") != strings.HasPrefix(model, "claude") {
						continue
					}
					for _, policy := range routing.Policies() {
						for _, client := range []string{"all", "text", "text and calls"} {
							for i := range 4 {
								if n++; effort.Brief() && (n+n/12)%61 > 0 {
									continue
								}
								lawCase{
									api: api, style: style, model: model, policy: policy, client: client,
									display: displays[(n+n/4)%len(displays)], tools: i > 0, textless: i == 2, clock: i == 3,
									replicas: n/5%3 == 0,
								}.run(t)
							}
						}
					}
				}
			})
		}
	}
}

// TestStreamedCallsAreRemembered has a model think in its text and call a tool, in a
// stream. The client sends back the text and the calls, and nothing else. The upstream
// gets the thought, whether or not the conversation before it has changed, and whichever
// replica sends the request.
func TestStreamedCallsAreRemembered(t *testing.T) {
	for _, api := range assistants {
		for _, text := range []string{"Let me look.", ""} {
			for n := range 4 {
				system, replicas := []string{"", "Another hour."}[n/2], n%2 == 1
				if system != "" && api.name == "ollama.chat" {
					continue // it has no ids of calls
				}
				t.Run(fmt.Sprintf("%s %q %q replicas %v", api.name, text, system, replicas), func(t *testing.T) {
					var seen, kind string
					const call = "call_01ab23CD"
					up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						seen = readAll(t, r.Body)
						w.Header().Set("Content-Type", kind)
						fmt.Fprint(w, api.streamed(api.reply("inline", "thought-ends", text, call)))
					}))
					t.Cleanup(up.Close)
					shared := gateway.Config{Shared: newBoard(), SharedSecret: []byte("a secret of the replicas")}
					first := before(t, up.URL, shared)
					then := first
					if replicas {
						then = before(t, up.URL, shared)
					}
					kind = "text/event-stream"
					if api.name == "ollama.chat" {
						kind = "application/x-ndjson"
					}
					ask := func(base string, talk ...any) {
						body, _ := json.Marshal(map[string]any{"model": "minimax-m2", "stream": true, "max_tokens": 99, api.body: talk})
						if resp, got := post(t, base+api.path, string(body), nil); resp.StatusCode != http.StatusOK || strings.Contains(string(got), `"error":{`) {
							t.Fatalf("%d %s", resp.StatusCode, got)
						}
					}
					talk := []any{api.user("Question?")}
					ask(first, talk...)
					if system != "" {
						talk = append([]any{map[string]any{"role": "system", "content": system}}, talk...)
					}
					for _, item := range api.said(decodeValue(api.reply("", "", text, call))) {
						if kept := api.keep(item.(map[string]any), false, true); kept != nil {
							talk = append(talk, kept)
						}
					}
					ask(then, append(talk, api.result(call))...)
					if n := strings.Count(seen, "thought-ends"); n != 1 {
						t.Errorf("the upstream got the thought %d times: %s", n, seen)
					}
				})
			}
		}
	}
}
