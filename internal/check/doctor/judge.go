package doctor

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/reply/detect"
)

// judge says what a reply shows. It returns why nothing more should be asked, or "".
func (d *diagnosis) judge(a *asked) (stop string) {
	ask := Ask{Way: a.way.name, Status: a.response.Status}
	defer func() { d.report.Asks = append(d.report.Asks, ask) }()
	r := a.reply
	if r == nil {
		return d.refused(a)
	}
	ask.Answer, ask.Reasoning, ask.Fields = len(r.Text), len(r.Reasoning), r.Fields
	ask.Calls, ask.Finish = len(r.Calls), r.Finish
	ask.Markers, ask.Inside = d.markers(r)
	if r.Fault != "" {
		name, do := faultHelp(r.Fault, a)
		d.found(a.way.name, found{checks.Finding, name, r.Fault, do})
		return ""
	}
	back, err := d.behind(a, nil)
	if err != nil {
		d.found(a.way.name, found{checks.Unknown, checks.ReplyNotJudged, where(r, &ask) + "; what Sotto does with it is not known: " + err.Error(), ""})
		return ""
	}
	ask.Behind = &Behind{len(back.Text), len(back.Reasoning), back.Fields, !d.clean(back)}
	d.found(a.way.name, d.verdict(a, back, &ask))
	return ""
}

// faultHelp says what to do about a reply whose form is wrong, and what that is called.
func faultHelp(fault string, a *asked) (name checks.Name, do string) {
	switch {
	case strings.Contains(fault, "broke off"):
		_, last, _ := a.response.Times()
		return checks.ReplyBrokenOff, fmt.Sprintf("the last bytes came after %.1f s: %s", last.Seconds(), cutHelp)
	case strings.Contains(fault, "a web page"):
		return checks.ProxyPage, "a page of a proxy or of a login answers instead of the API: correct the URL"
	case strings.Contains(fault, "a stream was asked for"):
		return checks.StreamNotGiven, "a proxy between may turn streams into whole replies; ask the server directly"
	}
	return checks.ReplyNotReadable, "read the server's log"
}

// verdict judges a reply whose form is right, by what Sotto makes of it.
func (d *diagnosis) verdict(a *asked, back *modelserver.Reply, ask *Ask) found {
	r, at := a.reply, where(a.reply, ask)
	switch {
	case !d.clean(r) && d.clean(back):
		return found{checks.Mended, checks.ReasoningInText, at, ""}
	case !d.clean(r):
		if d.fix(a, d.clean) {
			return found{checks.Finding, checks.ReasoningInText, at + "; Sotto needs a setting to read it", "use the configuration below"}
		}
		return found{checks.Finding, checks.ReasoningInText, at + "; Sotto does not separate it", "write a dialect for this model: docs/reference/dialect-file.md"}
	case r.Text == "" && r.Reasoning == "" && len(r.Calls) == 0 && r.End == sotto.EndCut:
		return found{checks.Unknown, checks.ReplyEmpty, "the reply is empty: the limit on tokens was reached", "allow more with --tokens"}
	case r.Text == "" && r.Reasoning == "" && len(r.Calls) == 0:
		return found{checks.Finding, checks.ReplyEmpty, "the reply is empty, and the server says that it is complete", "read the server's log"}
	case strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.End == sotto.EndCut:
		return found{checks.OK, "", at + "; the limit on tokens cut it before the answer", ""}
	case strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.Reasoning != "":
		d.fix(a, func(again *modelserver.Reply) bool { return strings.TrimSpace(again.Text) != "" })
		return found{checks.Finding, checks.AnswerTakenForReasoning, at + ", and there is no answer beside it: the server takes the answer for reasoning", "use the configuration below, or switch off the server's reasoning parser for requests without thinking"}
	case strings.TrimSpace(back.Text) == "" && len(r.Calls) == 0 && r.End == sotto.EndCut:
		return found{checks.Mended, checks.ReasoningInText, "the text is a thought that the limit on tokens cut: Sotto does not show it as the answer", ""}
	case len(back.Text) < len(strings.TrimSpace(r.Text)):
		return found{checks.Unknown, checks.TextShortened, fmt.Sprintf("%s; Sotto delivers %d of %d bytes of the text as the answer, although no marker in it shows a leak", at, len(back.Text), len(r.Text)), "compare them with sotto split"}
	}
	if a.way.tools && len(r.Calls) == 0 {
		at += "; the model called no tool"
	}
	if a.way.json {
		at += jsonRemark(r.Text)
	}
	return found{checks.OK, "", at, ""}
}

func jsonRemark(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return ""
	case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}"):
		return "; the answer is JSON"
	}
	return "; the answer is not JSON, although JSON was asked for"
}

// where says on which field reasoning arrives, and with which markers.
func where(r *modelserver.Reply, ask *Ask) string {
	var list []string
	if len(r.Fields) > 0 {
		list = append(list, "reasoning arrives in "+quoted(r.Fields))
	}
	switch markers := quoted(ask.Markers); {
	case markers != "" && ask.Inside:
		list = append(list, "reasoning arrives in the text, which begins inside a block: only "+markers+" is there")
	case markers != "":
		list = append(list, "reasoning arrives in the text, marked "+markers)
	}
	if len(r.Calls) > 0 {
		list = append(list, "a call of "+shorttext.Ellipsis(r.Calls[0].Name, 60))
	}
	if len(list) == 0 {
		return "no reasoning"
	}
	return strings.Join(list, "; ")
}

func quoted(list []string) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(strings.TrimSpace(s))
	}
	return b.String()
}

// markers are the markers of reasoning in a text, each once, as the gateway's dialect for
// the model reads it; or as another dialect does, if that one knows its markers.
func (d *diagnosis) markers(r *modelserver.Reply) (markers []string, inside bool) {
	if r.Text == "" {
		return nil, false
	}
	start := sotto.BeginOutside
	if len(r.Fields) == 0 {
		start = sotto.BeginAuto
	}
	reading, err := d.grammar.Parse(r.Text, start, r.End)
	if err != nil {
		return nil, false
	}
	if len(reading.Reasoning()) == 0 && len(allMarkers().Readers(r.Text)) > 0 {
		if other, err := d.options.Named(d.reader(r.Text)); err == nil {
			if reading, err = other.Parse(r.Text, start, r.End); err != nil {
				return nil, false
			}
		}
	}
	thinks := map[int]bool{}
	for _, s := range reading.Segments {
		if s.Channel == sotto.ChannelReasoning {
			thinks[s.Block] = true
		}
	}
	opened := false
	for _, s := range reading.Segments {
		if s.Channel != sotto.ChannelMarkup || !thinks[s.Block] {
			continue
		}
		text := shorttext.Ellipsis(strings.TrimSpace(r.Text[s.Start:s.End]), 40)
		if len(markers) < 4 && text != "" && !slices.Contains(markers, text) {
			markers = append(markers, text)
		}
	}
	if len(reading.Segments) > 0 {
		opened = reading.Segments[0].Channel != sotto.ChannelReasoning
	}
	return markers, !opened && len(markers) > 0
}

// allMarkers knows the markers of every dialect.
var allMarkers = sync.OnceValue(func() *detect.Detector { return detect.New(dialect.All()) })

// clean reports whether the answer and the calls of a reply hold no reasoning: no
// marker of it that is not quoted, and no leak of another kind.
func (d *diagnosis) clean(r *modelserver.Reply) bool {
	if found := d.leaks.In(r.Message(), r.End); found.Answer != nil || found.Arguments != nil {
		return false
	}
	markers, _ := d.markers(r)
	return len(markers) == 0
}

// reader is the dialect that fits the markers of a text best, or "".
func (d *diagnosis) reader(text string) string {
	one := detect.New(dialect.All())
	one.Add(text)
	if fits := one.Fits(); len(fits) > 0 {
		return fits[0].Dialect
	}
	return ""
}

// fix looks for a route that mends a reply, and keeps the first one that does. Each is
// tried with the reply itself.
func (d *diagnosis) fix(a *asked, mends func(*modelserver.Reply) bool) bool {
	model := []string{modelname.Normal(d.report.Model)}
	var tries []routing.Route
	if name := d.reader(a.reply.Text); name != "" {
		tries = append(tries, routing.Route{Models: model, Dialect: name}, routing.Route{Models: model, Dialect: name, Start: sotto.BeginAuto})
	}
	tries = append(tries, routing.Route{Models: model, Start: sotto.BeginAuto}, routing.Route{Models: model, OnNoAnswer: routing.NoAnswerPromote})
	for _, route := range tries {
		back, err := d.behind(a, &route)
		if err != nil || back.Fault != "" || !mends(back) {
			continue
		}
		d.merge(route)
		return true
	}
	return false
}

// merge adds the settings of a route to those that the model needs.
func (d *diagnosis) merge(route routing.Route) {
	d.fixed = true
	d.route.Models = route.Models
	if route.Dialect != "" {
		d.route.Dialect = route.Dialect
	}
	if route.Start != "" {
		d.route.Start = route.Start
	}
	if route.History != "" {
		d.route.History = route.History
	}
	if route.OnNoAnswer != "" {
		d.route.OnNoAnswer = route.OnNoAnswer
	}
}
