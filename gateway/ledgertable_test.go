package gateway_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// ledgerLimits are why a conversation of the matrix does not work, by number. Each is that of some conversation, and
// of no conversation that works. All of them are limits after a restart: the gateway remembers nothing then, and
// no store is shared.
var ledgerLimits = []struct {
	why string
	of  func(r *ledgerRun) bool
}{
	{"The client does not send the thought, and nothing else remembers it.", (*ledgerRun).isGone},
	{"Without tags, nothing tells the thought from the answer.", (*ledgerRun).isSpeech},
	{"A block without words stays: it is signed, or its id may stand for what the provider keeps.", (*ledgerRun).isEmptied},
	{"The tags stay in the text: the thought is all that the text says, or it has no other place without a signature.", (*ledgerRun).keepsTags},
	{"Nothing else knows which ids the provider has made. It gets the client's, in calls and results alike.", (*ledgerRun).isRenamed},
}

// limit is the number of the limit that a conversation has, or 0.
func (r *ledgerRun) limit() int {
	if r.server != "restart" {
		return 0
	}
	if r.isRenamed() {
		return len(ledgerLimits) // the last one, which no other client has
	}
	for i, l := range ledgerLimits {
		if l.of(r) {
			return i + 1
		}
	}
	return 0
}

func (r *ledgerRun) is(clients ...string) bool { return slices.Contains(clients, r.client) }

func (r *ledgerRun) shown(displays ...routing.Display) bool {
	return slices.Contains(displays, r.display)
}

// signsCalls reports whether the provider signs the calls, and not the thought.
func (r *ledgerRun) signsCalls() bool { return strings.HasPrefix(r.model, "gemini") }

// signsList reports whether the provider signs thoughts in a list beside the text.
func (r *ledgerRun) signsList() bool {
	return r.of("openai.chat") && r.thought == "signed" && !r.signsCalls()
}

// needed reports whether the model needs what the upstream is to get back.
func (r *ledgerRun) needed() bool { return r.need() == history.NeedAll || r.needsCalls() }

func (r *ledgerRun) needsCalls() bool {
	return r.tools && (r.need() == history.NeedCalls || r.need() == history.NeedSealed)
}

// isRenamed: the ids of calls are the client's.
func (r *ledgerRun) isRenamed() bool { return r.is("renames") }

// isGone: the thought, or what signs a call, is not in the request.
func (r *ledgerRun) isGone() bool {
	hidden := r.display == routing.DisplayHide
	if r.signsCalls() {
		return r.tools && (r.is("drop") || r.is("text", "tags") && (hidden || r.api.blocks == ""))
	}
	if r.signsList() && r.is("tags") {
		return r.tools
	}
	if r.thought == "signed" && (r.is("empty") || r.is("echo")) {
		return false // its block is
	}
	return r.needed() && (hidden && !r.carried() || r.is("drop") || r.is("empty") && !hidden && !r.emptiesItem())
}

// carried: the client sends the sealed copy of a hidden thought back.
func (r *ledgerRun) carried() bool {
	switch {
	case r.display != routing.DisplayHide || r.thought == "in the text":
		return false
	case r.api.name == "openai.responses": // whose client empties the slot too
		return r.is("echo")
	}
	return (r.of("anthropic.messages", "bedrock.converse") || r.signsList()) && r.is("echo", "empty")
}

func (r *ledgerRun) of(apis ...string) bool { return slices.Contains(apis, r.api.name) }

// isSpeech: the thought is in the text.
func (r *ledgerRun) isSpeech() bool {
	return r.is("text") && r.display != routing.DisplayHide && !(r.signsCalls() && r.api.blocks == "")
}

// isEmptied: the block of the thought is there, without the thought.
func (r *ledgerRun) isEmptied() bool {
	if r.carried() {
		return false
	}
	signed := r.thought == "signed" && !r.signsCalls()
	if r.signsList() { // a reply that a guard judges is written, with a copy of the list in place of what stands in tags
		return r.is("empty") && !(r.guard.Guard != nil && r.display == routing.DisplayTags)
	}
	return signed && r.tools && r.is("empty") || r.emptiesItem() // without tools, a provider that refuses it is asked again
}

func (r *ledgerRun) emptiesItem() bool {
	copied := r.display != routing.DisplayHide || r.tools || r.need() != history.NeedNone
	return r.api.name == "openai.responses" && r.thought == "apart" && r.is("empty") && copied
}

// keepsTags: the thought is in tags in a block of text.
func (r *ledgerRun) keepsTags() bool {
	if r.thought == "missing" || r.api.blocks == "" || r.display == routing.DisplayHide {
		return false
	}
	inTags := r.display == routing.DisplayTags
	apart := !inTags && r.is("tags") // a block of its own
	silent := r.tools && (r.need() == history.NeedNone && r.thought == "in the text" || strings.HasPrefix(r.model, "kimi"))
	switch {
	case r.thought == "signed":
		return apart || inTags && (!r.is("drop") || r.api.name == "openai.responses")
	case r.thought == "in the text":
		return r.need() == history.NeedNone && r.keepsOwnTags(apart, silent)
	case r.api.name == "openai.responses":
		return apart || inTags // each tag is in an item of its own
	case r.api.name == "cohere.chat":
		return apart || inTags && r.tools && !r.is("drop") // the plan of the calls is another member
	case r.api.name == "gemini.generate":
		return silent && r.is("echo", "tags") && (apart || inTags)
	}
	return apart || silent && inTags && r.is("echo", "tags")
}

// keepsOwnTags is keepsTags of a model that has its thoughts in tags itself, and does not need them.
func (r *ledgerRun) keepsOwnTags(apart, silent bool) bool {
	if r.api.name == "gemini.generate" { // clients join the texts; the closing tag comes after the call
		return silent && (r.is("tags") || r.is("echo") && r.shown(routing.DisplayKeep, routing.DisplayTags) || r.is("drop", "empty") && r.display == routing.DisplayTags)
	}
	return apart && r.display == routing.DisplayField || silent && (r.is("tags") || r.is("echo") && r.shown(routing.DisplayKeep, routing.DisplayTags))
}

// TestLedgerTable: the tables of docs/ledger.md are those of the limits, and each limit is that of a conversation.
func TestLedgerTable(t *testing.T) {
	const name, begin = "../docs/ledger.md", "<!-- generated: ledger -->\n"
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := bytes.Cut(document, []byte(begin))
	if !ok {
		t.Fatalf("%s has no place for the tables", name)
	}
	got := append(append(bytes.Clone(before), begin...), ledgerTables(t)...)
	switch {
	case bytes.Equal(got, document):
	case *update:
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the limits say: go test ./gateway -run TestLedger -update, and read the diff", name)
	}
}

func ledgerTables(t *testing.T) string {
	var b strings.Builder
	met := map[int]bool{}
	for _, api := range ledgerAPIs {
		fmt.Fprintf(&b, "\n## %s\n\n| the thought is | the client |", api.title)
		for _, d := range ledgerDisplays {
			fmt.Fprintf(&b, " `%s` |", d)
		}
		b.WriteString("\n|" + strings.Repeat(" --- |", 2+len(ledgerDisplays)) + "\n")
		for _, thought := range ledgerThoughts {
			if ledgerModels(api.name, thought) == nil {
				continue
			}
			for _, client := range ledgerClients {
				if !meets(thought, client.name) {
					continue
				}
				fmt.Fprintf(&b, "| %s | %s |", thought, client.title)
				for _, d := range ledgerDisplays {
					fmt.Fprintf(&b, " %s |", ledgerCell(api, thought, client.name, d, met))
				}
				b.WriteString("\n")
			}
		}
	}
	b.WriteString("\n## Why not\n\n")
	for i, l := range ledgerLimits {
		fmt.Fprintf(&b, "%d. %s\n", i+1, l.why)
		if !met[i+1] {
			t.Errorf("limit %d is that of no conversation", i+1)
		}
	}
	return b.String()
}

// ledgerCell says what works after a restart.
func ledgerCell(api *ledgerAPI, thought, client string, d routing.Display, met map[int]bool) string {
	limits := map[bool][]string{} // by whether there are tools
	for _, model := range ledgerModels(api.name, thought) {
		for _, tools := range []bool{false, true} {
			r := ledgerRun{api: api, thought: thought, model: model, client: client, display: d, server: "restart", tools: tools}
			if n := r.limit(); n > 0 && (tools || !r.isRenamed()) {
				met[n] = true
				limits[tools] = append(limits[tools], fmt.Sprint(n))
			}
		}
	}
	no := func(tools bool) string {
		list := slices.Sorted(slices.Values(limits[tools]))
		return "no (" + strings.Join(slices.Compact(list), ", ") + ")"
	}
	switch {
	case len(limits) == 0:
		return "yes"
	case limits[false] == nil:
		return "with tools: " + no(true)
	case no(false) == no(true):
		return no(true)
	}
	return no(false) + "; with tools: " + no(true)
}
