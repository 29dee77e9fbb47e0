package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
)

const (
	callMarkup = `<tool_call>{"name":"f","arguments":{"n": 1}}</tool_call>`
	callThere  = `f {"n": 1}`
)

// TestTextCallsDisplays sends calls in every display and API: with reasoning before them,
// between them, and after them.
func TestTextCallsDisplays(t *testing.T) {
	const raw = "<think>one</think>See.\n" + callMarkup + "\n<think>two</think>" + callMarkup
	for _, s := range callSpeakers(t) {
		for display, want := range map[gateway.Display][2]string{
			gateway.DisplayField: {"See.", "one\n\ntwo"}, gateway.DisplayHide: {"See.", ""}, gateway.DisplayTags: {"<think>\none\n</think>\n\nSee.<think>\ntwo\n</think>", ""},
		} {
			for _, whole := range []bool{false, true} {
				got := callers(t, s, "qwen3", gateway.Route{Calls: gateway.CallsField, Display: display}, byteByByte(raw), whole, sotto.EndStopped, declared)
				text := strings.ReplaceAll(got.text, "|", "")
				if strings.ReplaceAll(text, "\n", "") != strings.ReplaceAll(want[0], "\n", "") || strings.TrimSpace(strings.ReplaceAll(got.thought, "\n", "")) != strings.ReplaceAll(want[1], "\n", "") ||
					got.calls != callThere+"; "+callThere || got.reason != callReasons[s.name()][1] {
					t.Errorf("%s %s, whole %v: text %q, thought %q, calls %s, %s", s.name(), display, whole, got.text, got.thought, got.calls, got.reason)
				}
			}
		}
	}
}

// TestTextCallsBeforeACut: a call that was whole when a reply is ended at a limit is sent,
// the reason stays the limit, and what follows is not sent.
func TestTextCallsBeforeACut(t *testing.T) {
	raw := "See." + callMarkup + "<think>" + strings.Repeat("Wait, let me check that again. ", 400) + "</think>" + callMarkup
	for _, s := range callSpeakers(t) {
		route := gateway.Route{Calls: gateway.CallsField, ThinkingLimit: 3000, OnThinkingLimit: gateway.ThinkingStop}
		got := callers(t, s, "qwen3", route, inPieces(raw, 40), false, sotto.EndStopped, declared)
		if got.calls != callThere || got.reason == "" || got.reason == callReasons[s.name()][0] || strings.Contains(strings.ToLower(got.reason), "tool") {
			t.Errorf("%s: calls %s, the reason is %q", s.name(), got.calls, got.reason)
		}
		for _, whole := range []bool{false, true} {
			got = callers(t, s, "qwen3", gateway.Route{Calls: gateway.CallsField}, byteByByte("See."+callMarkup+callMarkup[:30]), whole, sotto.EndCut, declared)
			if got.calls != callThere || !strings.HasSuffix(got.text, callMarkup[:30]) || strings.Contains(strings.ToLower(got.reason), "tool") {
				t.Errorf("%s, whole %v: text %q, calls %s, the reason is %q", s.name(), whole, got.text, got.calls, got.reason)
			}
		}
	}
}

// TestTextCallsGuarded: a guard judges the text beside a call, and not the call. Where it
// passes, the client gets what it gets without one; where it cuts the answer, the calls
// come; where it ends the reply, no call follows what it refused. Markup that stays text
// is judged.
func TestTextCallsGuarded(t *testing.T) {
	raw := "First we look. " + callMarkup + "BAD text. " + callMarkup + strings.Replace(callMarkup, `"f"`, `"other"`, 1)
	for _, s := range callSpeakers(t) {
		for _, whole := range []bool{false, true} {
			for _, n := range []int{1, 7, len(raw)} {
				where := fmt.Sprintf("%s, whole %v, pieces of %d", s.name(), whole, n)
				ask := func(action gateway.GuardAction) (caller, *judgeFunc) {
					g := &judgeFunc{judge: func(p gateway.GuardPiece) (gateway.GuardVerdict, error) {
						if p.Channel == gateway.GuardAnswer && strings.Contains(p.Before+p.Text, "BAD") {
							return gateway.GuardVerdict{Action: action}, nil
						}
						return gateway.GuardVerdict{Action: gateway.GuardPass}, nil
					}}
					route := gateway.Route{Calls: gateway.CallsField, Guard: gateway.GuardRule{Guard: g, Every: 4}}
					return heldCallers(t, s, route, inPieces(raw, n), whole), g
				}
				plain := heldCallers(t, s, gateway.Route{Calls: gateway.CallsField}, inPieces(raw, n), whole)
				passed, g := ask(gateway.GuardPass)
				if passed.text != plain.text || passed.calls != plain.calls || passed.calls != callThere+"; "+callThere || passed.reason != plain.reason {
					t.Errorf("%s: passed: %+v\nwant %+v", where, passed, plain)
				}
				if seen := g.seen[gateway.GuardAnswer]; !strings.Contains(seen, `"other"`) || strings.Contains(seen, `"f"`) {
					t.Errorf("%s: the guard saw %q", where, seen)
				}
				if cut, _ := ask(gateway.GuardCut); cut.calls != plain.calls || strings.Contains(cut.text, "BAD") || cut.reason != plain.reason {
					t.Errorf("%s: cut: %+v", where, cut)
				}
				ended, _ := ask(gateway.GuardEnd)
				if strings.Contains(ended.text, "BAD") || strings.Count(ended.calls, "f ") > 1 || strings.Contains(strings.ToLower(ended.reason), "tool") {
					t.Errorf("%s: ended: %+v", where, ended)
				}
			}
		}
	}
}

// heldCallers asks for a reply that may be refused.
func heldCallers(t *testing.T, s speaker, route gateway.Route, pieces []string, whole bool) caller {
	t.Helper()
	v := converse(t, s, gateway.Config{Default: route})
	v.raw, v.cut, v.end = strings.Join(pieces, ""), pieces, sotto.EndStopped
	return callerOf(ask(v, s.path, v.request("qwen3", !whole, s.declares(declared))))
}
