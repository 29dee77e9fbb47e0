package doctor

import (
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
	"github.com/sotto-llm/sotto/wire/openai"
)

// promptRequests is the most that the questions about prompts cost: one for each state of
// the switch.
const promptRequests = 3 * promptshown.MaxRequests

// examinePrompts asks the server how it renders prompts with each state of the thinking
// switch, and adds what the replies showed. A reply without a sign of reasoning shows
// nothing.
func (d *diagnosis) examinePrompts() {
	if _, hosted := hosts[d.base.Hostname()]; !d.options.Prompts || hosted {
		return
	}
	from := ""
	for _, think := range []string{"", "on", "off"} {
		q, ok := d.promptQuestion(think)
		if !ok {
			continue
		}
		shown, by, _ := promptshown.Ask(d.grammar, q, d.sendPrompt, from)
		from = by
		for _, a := range d.report.Asks {
			if wayThinks(a.Way) != think {
				continue
			}
			shown.Separates = shown.Separates || len(a.Fields) > 0 && d.report.API == "openai"
			shown.MayOpen = shown.MayOpen || a.Inside
		}
		if shown != (promptshown.Evidence{}) {
			d.report.Prompts = append(d.report.Prompts, promptshown.EntryOf(d.base, q, shown, time.Now()))
		}
	}
}

// wayThinks returns the state of the switch in a way to ask. Ways with a tool or for JSON
// are of none, as their prompts may be others.
func wayThinks(name string) string {
	i := slices.IndexFunc(ways, func(w way) bool { return w.name == name && !w.tools && !w.json })
	if i < 0 {
		return "other"
	}
	return ways[i].think
}

// promptQuestion returns the question for requests with a state of the switch.
func (d *diagnosis) promptQuestion(think string) (q promptshown.Question, ok bool) {
	asks := findAPI("openai").request(asking{way: way{think: think}, model: d.report.Model, server: d.report.Server.Name})
	data, err := openai.Chat.WriteTurn(nil, asks)
	if err != nil {
		return q, false
	}
	request, err := openai.Chat.Request(data)
	if err != nil {
		return q, false
	}
	r := modelserver.Response{Body: data}
	root, _ := r.JSON()
	return promptshown.QuestionOf(openai.Chat.Name(), request, root), true
}

// sendPrompt is a [promptshown.Send].
func (d *diagnosis) sendPrompt(method, path string, body []byte, read func(value)) (status int, err error) {
	if method == http.MethodGet {
		body = nil
	}
	res, err := d.client.Do(d.ctx, method, below(d.base, path), nil, body)
	if err != nil {
		return 0, err
	}
	if v, ok := res.JSON(); ok && res.Status == http.StatusOK {
		read(v)
	}
	return res.Status, nil
}
