package thoughts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
)

// A Reading row says how often thoughts were cut, left open or rescued.
type Reading struct {
	Group string `json:"group"`
	// Code is a diagnostic of the reading (see go doc sotto.Code), or one of cut,
	// aborted and answer_in_reasoning.
	Code string `json:"code"`
	// Replies is how many replies have it.
	Replies Rate `json:"replies"`
	// Right is how many of those with a verdict are right. Others is the same for the
	// replies of the group that do not have it.
	Right  Rate `json:"right"`
	Others Rate `json:"right_others"`
}

const readingMethod = "The diagnostics that the reading of a reply recorded: truncated is reasoning that never closed, rescued an answer that was found inside a scratch pad, stray_close and orphan_close a close without an opener. " +
	"cut and aborted say how the reply ended; answer_in_reasoning, that its answer was found in the thought (sotto extract --from-reasoning). " +
	"Diagnostics beyond the 1,000 that a reply lists are not seen. " + rateMethod

// readings returns the diagnostics of each group.
func readings(groups []group) Figure[Reading] {
	f := Figure[Reading]{Method: readingMethod, Rows: []Reading{}}
	for _, g := range groups {
		with := map[string][]*reply{}
		for _, r := range g.replies {
			for _, code := range r.codes {
				with[string(code)] = append(with[string(code)], r)
			}
			switch r.end {
			case sotto.EndCut:
				with["cut"] = append(with["cut"], r)
			case sotto.EndAborted:
				with["aborted"] = append(with["aborted"], r)
			}
			if r.inReasoning {
				with["answer_in_reasoning"] = append(with["answer_in_reasoning"], r)
			}
		}
		var rows []Reading
		for code, list := range with {
			has := map[*reply]bool{}
			for _, r := range list {
				has[r] = true
			}
			var others []*reply
			for _, r := range g.replies {
				if !has[r] {
					others = append(others, r)
				}
			}
			rows = append(rows, Reading{
				g.name, code, rate("", g.replies, func(r *reply) bool { return has[r] }),
				rate("", judged(list), isRight), rate("", judged(others), isRight),
			})
		}
		slices.SortFunc(rows, func(a, b Reading) int {
			return cmp.Or(cmp.Compare(b.Replies.Count, a.Replies.Count), strings.Compare(a.Code, b.Code))
		})
		f.Rows = append(f.Rows, rows...)
	}
	if len(f.Rows) == 0 {
		f.Note = "no reply has a diagnostic, and none was cut"
	}
	return f
}
