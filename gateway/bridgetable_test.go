package gateway_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// outcomeWhy explains the outcomes, by their order.
var outcomeWhy = []string{
	"The upstream gets its thought back, or its family of models does not need it.",
	"The thought comes back by its words. It lacks the id that the provider gave it, or its signature, for which Gemini's own API takes a placeholder, or it is in another member: `content` for Cohere's plan of a call.",
	"The model answers without its earlier thought, which its family would have used. The client does not send it, or not as what it was.",
	"The tags of a thought, or empty ones, stay in the text for the model: the upstream's messages are blocks, and nothing says that these tags are not the model's text.",
	"The client has made the thought a text of the answer, without tags. Nothing tells it from one.",
	"The provider refuses calls of tools without the reasoning that it has made. The client gets a 400 in its own API, which names the first call that lacks it (`messages[1].tool_calls[0]`) and says what the upstream said.",
}

// TestBridgeTable: the table of docs/evidence/bridge.md is that of the outcomes, and each outcome is that of a conversation.
func TestBridgeTable(t *testing.T) {
	const name, begin, end = "../docs/evidence/bridge.md", "<!-- generated: go test ./gateway -run TestBridgeTable -update -->\n", "<!-- end -->\n"
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(document, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", name)
	}
	table := bridgeTable()
	for o := range outcomeWhy {
		if want := outcome(o).String(); !strings.Contains(table, want) {
			t.Errorf("no conversation has the outcome %s", want)
		}
	}
	var got bytes.Buffer
	fmt.Fprintf(&got, "%s%s\n%s", before, begin, table)
	for o, why := range outcomeWhy {
		fmt.Fprintf(&got, "- **%s**: %s\n", outcome(o), why)
	}
	fmt.Fprintf(&got, "%s%s", end, after)
	switch {
	case bytes.Equal(got.Bytes(), document):
	case *update:
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the outcomes say: go test ./gateway -run TestBridgeTable -update, and read the diff", name)
	}
}

// bridgeClients are the APIs of clients by what they carry of a thought, which is what their outcomes depend on.
var bridgeClients = []struct {
	title string
	names []string
}{
	{"`messages`, `bedrock`, `gemini`", []string{"anthropic.messages", "bedrock.converse", "gemini.generate"}},
	{"`responses`", []string{"openai.responses"}},
	{"`chat`, `ollama`, `cohere`", []string{"openai.chat", "ollama.chat", "cohere.chat"}},
}

// bridgeTable has a row for each place of a thought and what the client does with it, and a column for each kind of clients.
// Treatments that have the same row share it.
func bridgeTable() string {
	var b strings.Builder
	for _, hidden := range []bool{false, true} {
		title := "With the displays `field`, `tags` and `keep`"
		if hidden {
			title = "With the display `hide`"
		}
		fmt.Fprintf(&b, "%s:\n\n| the thought is | the client |", title)
		for _, c := range bridgeClients {
			fmt.Fprintf(&b, " %s |", c.title)
		}
		b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(bridgeClients)) + "\n")
		for _, thought := range ledgerThoughts {
			var rows, clients []string
			for _, client := range ledgerClients {
				if !meets(thought, client.name) || thought == "missing" || client.name == "renames" { // as those that send it back
					continue
				}
				row := ""
				for _, c := range bridgeClients {
					row += fmt.Sprintf(" %s |", bridgeCell(c.names, thought, client.name, hidden))
				}
				if i := slices.Index(rows, row); i >= 0 {
					clients[i] += ", or " + client.title
					continue
				}
				rows, clients = append(rows, row), append(clients, client.title)
			}
			for i := range rows {
				fmt.Fprintf(&b, "| %s | %s |%s\n", thought, clients[i], rows[i])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// bridgeCell has the outcomes of the conversations of a row and a kind of clients.
func bridgeCell(names []string, thought, client string, hidden bool) string {
	var has [2][]outcome // by whether tools are offered
	for _, as := range ledgerAPIs {
		for _, api := range ledgerAPIs {
			if api == as || !slices.Contains(names, as.name) {
				continue
			}
			for _, r := range ledgerRuns(api, as) {
				if r.server == "restart" && r.thought == thought && r.client == client && (r.display == routing.DisplayHide) == hidden {
					list := &has[number(r.tools)]
					if o := r.outcome(); !slices.Contains(*list, o) {
						*list = append(*list, o)
					}
				}
			}
		}
	}
	alone, with := outcomeNames(has[0]), outcomeNames(has[1])
	if alone == with {
		return with
	}
	return alone + "; with tools: " + with
}

func number(is bool) int { return map[bool]int{true: 1}[is] }

func outcomeNames(list []outcome) string {
	var names []string
	for _, o := range slices.Sorted(slices.Values(list)) {
		names = append(names, o.String())
	}
	return strings.Join(names, ", ")
}
