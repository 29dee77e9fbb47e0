package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestSignedForClients: with thinking-signature sotto, every thinking block has a signature, whoever
// made the block, and a gateway that remembers nothing gives the server its block as it was. What a
// provider has signed stays, and under keep so does everything else.
func TestSignedForClients(t *testing.T) {
	exact := routing.Route{Display: routing.DisplayField, ThinkingSignature: routing.SignatureSotto}
	written := exact
	written.ThinkingLimit, written.OnThinkingLimit = 1<<20, routing.ThinkingStop
	l := &loopers[0]
	for path, route := range map[string]routing.Route{"exact": exact, "written": written} {
		for _, thought := range []string{
			`{"type":"thinking","thinking":"Hm \"1\"."}`,
			`{"type":"thinking","thinking":"Hm \"1\".","signature":""}`,
			`{"type":"thinking","thinking":"Hm \"1\".","signature":"c2ln"}`,
		} {
			for _, stream := range []bool{false, true} {
				what := fmt.Sprintf("%s, stream=%v, %s", path, stream, thought)
				up, seen := watched(t, unsignedServer(t, thought))
				request := func(more string) string {
					return fmt.Sprintf(`{"model":"some-model","max_tokens":99,"stream":%v,"messages":[{"role":"user","content":"Is it?"}%s]}`, stream, more)
				}
				_, body := post(t, before(t, up, gateway.Config{Default: route})+l.path, request(""), nil)
				blocks := l.said(t, body, stream)
				signature, _ := blocks[0]["signature"].(string)
				if own := gjson.Get(thought, "signature").Str; len(blocks) != 2 || signature == "" || own != "" && signature != own || blocks[0]["thinking"] != `Hm "1".` {
					t.Errorf("%s: the client got %v\n%s", what, blocks, body)
				}
				sent, err := json.Marshal(blocks)
				if err != nil {
					t.Fatal(err)
				}
				post(t, before(t, up, gateway.Config{Default: route})+l.path, request(`,{"role":"assistant","content":`+string(sent)+`},{"role":"user","content":"Sure?"}`), nil)
				got, want := map[string]any{}, map[string]any{}
				if json.Unmarshal([]byte(gjson.Get(*seen, "messages.1.content.0").Raw), &got) != nil || json.Unmarshal([]byte(thought), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: the server got %s", what, *seen)
				}
				route := route
				route.Display = routing.DisplayKeep
				_, kept := post(t, before(t, up, gateway.Config{Default: route})+l.path, request(""), nil)
				if _, own := post(t, up+l.path, request(""), nil); path == "exact" && string(kept) != string(own) || strings.Contains(string(kept), "sotto-") {
					t.Errorf("%s: kept as %s", what, kept)
				}
			}
		}
	}
}

// TestUnsignedOfSealed: a thought that a limit has cut has no signature. The client's block gets one of
// ours, and the provider, which would refuse it, does not get the block back.
func TestUnsignedOfSealed(t *testing.T) {
	up, seen := watched(t, scripted.New(scripted.Options{}))
	base := before(t, up, gateway.Config{Default: routing.Route{ThinkingSignature: routing.SignatureSotto}})
	cut, _ := watched(t, unsignedServer(t, `{"type":"thinking","thinking":"Hm","signature":""}`))
	l := &loopers[0]
	form := withoutTools(l.first)
	_, body := post(t, before(t, cut, gateway.Config{Default: routing.Route{ThinkingSignature: routing.SignatureSotto}})+l.path, fmt.Sprintf(form, false, l.user("Oslo?")), nil)
	sent := gjson.GetBytes(body, "content").Raw
	if !strings.Contains(sent, `"signature":"sotto-`) {
		t.Fatalf("the client got %s", body)
	}
	resp, body := post(t, base+l.path, fmt.Sprintf(form, false, l.user("Oslo?")+`,{"role":"assistant","content":`+sent+`},`+l.user("And?")), nil)
	if resp.StatusCode != 200 || strings.Contains(*seen, "sotto-") || strings.Contains(*seen, `"Hm"`) {
		t.Errorf("%d %s\nthe provider got %s", resp.StatusCode, body, *seen)
	}
}
