package eventtext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/record"
)

// passed is the action of a judgement that let a piece pass.
const passed = "pass"

// Verdicts sums up what a guard decided about a reply: "10 pieces: 9 pass, 1 cut". notable
// are the judgements that did not let a piece pass.
func Verdicts(g *record.Guarding) (summary string, notable []record.Judgement) {
	var actions []string
	count := map[string]int{}
	for _, j := range g.Judgements {
		if count[j.Action]++; count[j.Action] == 1 {
			actions = append(actions, j.Action)
		}
		if j.Action != passed {
			notable = append(notable, j)
		}
	}
	var parts []string
	for _, a := range actions {
		parts = append(parts, fmt.Sprintf("%d %s", count[a], a))
	}
	if g.More > 0 {
		parts = append(parts, fmt.Sprintf("%d not listed", g.More))
	}
	pieces := "pieces"
	if g.Pieces == 1 {
		pieces = "piece"
	}
	return fmt.Sprintf("%d %s: %s", g.Pieces, pieces, strings.Join(parts, ", ")), notable
}

// Verdict says what a guard decided about a piece: "cut: reasoning from byte 18 to 33, after
// 5 ms". The reason is not part of it.
func Verdict(j *record.Judgement) string {
	channel := j.Channel
	if j.Choice > 0 {
		channel += fmt.Sprintf(" of choice %d", j.Choice)
	}
	text := fmt.Sprintf("%s: %s from byte %d to %d, after %d ms", j.Action, channel, j.Start, j.End, j.Millis)
	if j.Failure != "" {
		text += ": " + j.Failure
	}
	return text
}

// readGuard reads what a guard decided; nil for anything else.
func readGuard(path string, v gjson.Result) *record.Guarding {
	var g record.Guarding
	if path != "guard" || json.Unmarshal([]byte(v.Raw), &g) != nil || g.Pieces == 0 {
		return nil
	}
	return &g
}
