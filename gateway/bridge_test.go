package gateway_test

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestBridge: a client of each API has the conversations of the ledger's matrix with an upstream of each
// other API. While the gateway runs, and at a replica, all of them work. After a restart, each has the outcome that
// docs/evidence/bridge.md says.
func TestBridge(t *testing.T) {
	for _, as := range ledgerAPIs {
		for _, api := range ledgerAPIs {
			if as == api {
				continue
			}
			t.Run(as.name+" to "+api.name, func(t *testing.T) {
				t.Parallel()
				chosen := effort.OneOf(bridgeSample, bridgeSample/2, t.Name())
				for _, r := range ledgerRuns(api, as) {
					if chosen() {
						r.checkOutcome(t)
					}
				}
			})
		}
	}
}

func (r *ledgerRun) checkOutcome(t *testing.T) {
	if r.server != "restart" {
		if wrong := r.play(t); wrong != "" {
			t.Errorf("%s: %s", r, wrong)
		}
		return
	}
	s := r.stage(t)
	defer func() { s.close() }()
	switch o, wrong := r.become(s); {
	case wrong != "":
		t.Errorf("%s: %s", r, wrong)
	case o != r.outcome():
		t.Errorf("%s: the outcome is %q, want %q", r, o, r.outcome())
	}
}

const bridgeSample = 60

// hasSlot reports whether clients of the API must return what only the provider understands.
func (a *ledgerAPI) hasSlot() bool {
	switch a.name {
	case "anthropic.messages", "bedrock.converse", "openai.responses", "gemini.generate":
		return true
	}
	return false
}

// TestBridgeSockets: a client of the Responses API has the same conversations over WebSockets.
func TestBridgeSockets(t *testing.T) {
	as := ledgerAPIs[slices.IndexFunc(ledgerAPIs, func(a *ledgerAPI) bool { return a.name == "openai.responses" })]
	chosen := effort.OneOf(bridgeSample, bridgeSample/2, t.Name())
	for _, api := range ledgerAPIs {
		for _, r := range ledgerRuns(api, as) {
			if api == as || !r.stream || r.server == "restart" || !chosen() {
				continue
			}
			r.socket = true
			if wrong := r.play(t); wrong != "" {
				t.Errorf("%s: %s", &r, wrong)
			}
		}
	}
}

// TestBridgeGuarded: a guard that passes everything changes nothing of what the upstream gets back.
func TestBridgeGuarded(t *testing.T) {
	chosen := effort.OneOf(4*bridgeSample, 2*bridgeSample, t.Name())
	for _, as := range ledgerAPIs {
		for _, api := range ledgerAPIs {
			if as == api {
				continue
			}
			for i, r := range ledgerRuns(api, as) {
				if r.server == "restart" || r.display == routing.DisplayKeep || !chosen() {
					continue
				}
				r.guard = guard.Rule{Guard: &judgeFunc{}, Every: []int{0, -1, 1}[i%3]}
				if wrong := r.play(t); wrong != "" {
					t.Errorf("%s: %s", &r, wrong)
				}
			}
		}
	}
}
