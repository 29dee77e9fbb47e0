package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestExactEnds: with exact: always, a guard cannot cut a part of a reply whose frames are
// edited, because members that nobody read may repeat it. It ends the reply. Where
// reasoning is hidden a reply is written all the same, and is cut.
func TestExactEnds(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			judges := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
				if p.Channel == guard.Reasoning {
					return guard.Verdict{Action: guard.Cut}, nil
				}
				return guard.Verdict{Action: guard.Pass}, nil
			}}
			c := gateway.Config{Exact: gateway.ExactAlways, Default: routing.Route{Display: display, Guard: guard.Rule{Guard: judges}}}
			status, got, _ := guarded(t, s, c, false, s.whole("<think>canary</think>It is 4.", sotto.EndStopped))
			want := http.StatusForbidden
			if display == routing.DisplayHide {
				want = http.StatusOK
			}
			if status != want || strings.Contains(got, "canary") || strings.Contains(got, "It is 4.") != (want == http.StatusOK) {
				t.Errorf("%s: %d %s", display, status, got)
			}
		}
	})
}
