package routing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/wire/providers"
)

// Check reports what is wrong with a route, by the keys of a configuration file. What the
// route leaves open is as in d. The dialect and the start are checked by who has dialects.
func (r Route) Check(d Route, report func(key string, err error)) {
	fault := func(key string, err error) {
		if err != nil {
			report(key, err)
		}
	}
	fault("display", faults.OneOf(r.Display, Displays()))
	fault("narration", faults.OneOf(r.Narration, Narrations()))
	fault("history", faults.OneOf(r.History, Policies()))
	fault("on-no-answer", checkNoAnswer(r, d))
	fault("on-thinking-limit", faults.OneOf(r.OnThinkingLimit, ThinkingActions()))
	fault("on-thinking-loop", faults.OneOf(r.OnThinkingLoop, ThinkingActions()))
	if r.ThinkingLimit < 0 {
		fault("thinking-limit", errors.New("is negative: want 0 (no limit) or more"))
	}
	fault("thinking-switch", faults.OneOf(r.ThinkingSwitch, ThinkingSwitches()))
	r.Guard.Check(fault)
	fault("responses-reasoning", faults.OneOf(r.ResponsesReasoning, ResponsesReasonings()))
	fault("thinking-signature", faults.OneOf(r.ThinkingSignature, ThinkingSignatures()))
	fault("calls", checkCalls(r, d))
	fault("conversations", faults.OneOf(r.Conversations, ConversationsValues()))
	fault("name", checkRouteName(r.Name))
	fault("models", checkModels(r.Models))
	fault("apis", checkAPIs(r.APIs))
	fault("reasoning-field", checkFields(r.ReasoningFields))
}

// checkNoAnswer refuses to show hidden reasoning as the answer.
func checkNoAnswer(r, d Route) error {
	if r = r.Over(d); r.OnNoAnswer == NoAnswerPromote && r.Display == DisplayHide {
		return fmt.Errorf("%s would show the reasoning that display: %s hides", r.OnNoAnswer, r.Display)
	}
	return faults.OneOf(r.OnNoAnswer, NoAnswerActions())
}

func checkModels(patterns []string) error {
	for _, p := range patterns {
		if p == "" || p != strings.ToLower(p) || strings.ContainsAny(p, "/:@ \t") {
			return fmt.Errorf("%q: write names in lower case, without the registry path, and with a hyphen for : and @", p)
		}
	}
	return nil
}

// routeName is the form of a route's name, which is a label of metrics.
var routeName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

func checkRouteName(name string) error {
	if name != "" && !routeName.MatchString(name) {
		return fmt.Errorf("%q: want up to 64 letters and digits, with . - or _ between them", name)
	}
	return nil
}

func checkAPIs(names []string) error {
	for _, name := range names {
		if !slices.Contains(apis(), codecName(name)) {
			return fmt.Errorf("%q: want one of %s", name, strings.Join(append(shortNames(), apis()...), ", "))
		}
	}
	return nil
}

func checkFields(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "\"\\ \t\n") || name == "content" || name == "role" {
			return fmt.Errorf("%q cannot be the name of a reasoning field", name)
		}
	}
	return nil
}

// TakesAPI reports whether the route matches an API, by the name of its codec.
func (r *Route) TakesAPI(codec string) bool {
	return len(r.APIs) == 0 || slices.ContainsFunc(r.APIs, func(name string) bool { return name == codec || codecName(name) == codec })
}

// codecName is the name of the codec of an API, which settings may call by a shorter one.
func codecName(name string) string {
	if api, ok := providers.Named(name); ok {
		return api.Name()
	}
	return name
}

func shortNames() []string {
	var names []string
	for _, a := range providers.APIs() {
		names = append(names, a.Name)
	}
	return names
}

func apis() []string {
	var names []string
	for _, c := range providers.Codecs() {
		names = append(names, c.Name())
	}
	return names
}

// checkCalls refuses to send calls where no client could get them.
func checkCalls(r, d Route) error {
	if err := faults.OneOf(r.Calls, CallsValues()); err != nil {
		return err
	}
	if r = r.Over(d); r.Calls != CallsField {
		return nil
	}
	if r.Display == DisplayKeep {
		return fmt.Errorf("%s would change replies that display: %s forwards byte for byte", r.Calls, r.Display)
	}
	for _, c := range providers.Codecs() {
		if len(r.APIs) > 0 && r.TakesAPI(c.Name()) && !c.Capabilities().Calls {
			return fmt.Errorf("%s gets no calls that a model wrote into its text: leave it out of apis, or write calls: %s", c.Name(), CallsText)
		}
	}
	return nil
}
