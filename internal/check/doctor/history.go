package doctor

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/check/checks"
)

// A History says what a request must hold of earlier reasoning.
type History struct {
	Rule string       `json:"rule"` // of package history
	Need history.Need `json:"need"`
	// Required says that the provider refuses a conversation without it, by the rule.
	Required bool `json:"required"`
	// Observed is what the server did with a call that came back without its reasoning:
	// "accepted", "refused", or "" if that was not tried.
	Observed string `json:"observed,omitempty"`
}

// needs says what Sotto does for each need.
var needs = map[history.Need]string{
	history.NeedNone:   "the model wants no reasoning of earlier turns: Sotto removes what clients send back",
	history.NeedCalls:  "turns that call tools must keep their reasoning: Sotto puts it back where a client leaves it out, and removes the rest",
	history.NeedAll:    "the model does better with all of its earlier reasoning: Sotto keeps what clients send back",
	history.NeedSealed: "the provider signs reasoning: Sotto keeps it as it came, and removes what the provider did not make",
}

// doing is what Sotto does for each need.
var doing = map[history.Need]string{
	history.NeedNone:   "removes the reasoning of earlier turns from requests",
	history.NeedCalls:  "keeps the reasoning of turns that call tools in requests, and puts it back where a client leaves it out",
	history.NeedAll:    "keeps the reasoning of earlier turns in requests",
	history.NeedSealed: "keeps signed reasoning in requests as it came",
}

// judgeHistory says whether earlier reasoning must be sent back: by the table, and by
// what the server does with a call without it.
func (d *diagnosis) judgeHistory() {
	rule := history.RuleFor(d.report.Model, d.api.codec.Name())
	h := History{Rule: rule.Name, Need: rule.Need, Required: rule.Demands}
	observed, said := d.echo()
	h.Observed = observed
	d.report.History = h
	detail := needs[rule.Need] + " (" + rule.Name + ": " + rule.Why + ")"
	switch {
	case rule.Need == history.NeedUnknown && observed == "":
		d.found("history", found{checks.Unknown, checks.HistoryUnknown, "no rule is known for this family: Sotto leaves what clients send back, except what it made itself", ""})
	case rule.Need == history.NeedUnknown && observed == accepted:
		d.note("history", checks.OK, "no rule is known for this family, and the server takes a call back without its reasoning: Sotto leaves what clients send back", "")
	case observed == refused && rule.Need == history.NeedSealed:
		d.report.History.Required = true
		d.note("history", checks.OK, "the provider refuses a call that comes back without its reasoning: clients must send it back as it came; "+detail, "")
	case observed == refused && !rule.Demands:
		d.merge(gatewayRestore(modelname.Normal(d.report.Model)))
		d.found("history", found{checks.Finding, checks.HistoryNeeded, "the server refuses a call that comes back without its reasoning: " + said, "use the configuration below: Sotto then puts it back"})
	case observed == refused:
		d.found("history", found{checks.Mended, checks.HistoryNeeded, "the server refuses a call that comes back without its reasoning, and " + detail, ""})
	default:
		d.note("history", checks.OK, detail, "")
	}
}

const (
	accepted = "accepted"
	refused  = "refused"
)

// echo sends the call of a tool back, with its result and without its reasoning, as many
// clients do. It asks only if the server had put reasoning beside the call.
func (d *diagnosis) echo() (observed, said string) {
	i := slices.IndexFunc(d.asked, func(a *asked) bool {
		return a.way.tools && a.reply != nil && len(a.reply.Calls) > 0 && len(a.reply.Fields) > 0 && a.reply.Fault == ""
	})
	if i < 0 || d.ctx.Err() != nil {
		return "", ""
	}
	a := &asked{way: way{name: "tool result"}, request: result(d.asked[i].request, d.asked[i].reply)}
	switch err := d.send(a); {
	case err != nil:
		return "", ""
	case a.reply != nil:
		return accepted, ""
	case a.response.Status == http.StatusBadRequest || a.response.Status == http.StatusUnprocessableEntity:
		return refused, fmt.Sprintf("status %d: %s", a.response.Status, a.response.Said())
	}
	return "", ""
}
