package studyreport

import (
	"fmt"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// shorten bounds a text that may come from others.
func shorten(text string) string { return shorttext.Ellipsis(text, maxText) }

// methods says how the figures of the report were computed.
func (r *Report) methods() []string {
	list := []string{
		"Repetitions are the cells with the same values. n counts those that ended, of themselves or at a bound; cells that wait, run, failed or changed have no part in any figure, and are listed.",
		fmt.Sprintf("Intervals of means are 95 %% intervals: Student's with fewer than %d values, otherwise by the bootstrap, corrected for bias and skewness (BCa), of %d resamples with a seed that comes from the values. Those of shares are cut to what a share can be. With one repetition, and where all are the same, there is none.", stats.FewestResampled, stats.Resamples),
		"sd is the standard deviation of the repetitions, with n - 1 below.",
	}
	if r.Kind == study.Streams {
		list = append(list,
			"The share of all problems that are solved has Wilson's 95 % interval, for as many independent problems as give the same variance, because repetitions have the same problems.")
	}
	if r.Compare != nil {
		list = append(list,
			"Differences are paired: cells that agree in all other values and in the repetition. p is two-sided, of a sign-flip permutation test: exact for up to 16 differences that are not 0, otherwise of 10000 random flips with a seed that comes from the values.",
			"p (Holm) is corrected by Holm's method for the tests of the same measure and the same kind of pairs. It bounds the chance that any of them is wrongly small; other measures are other questions, and are not corrected for.")
		if r.Kind == study.Streams {
			list = append(list,
				"Pairs of problems are the same problem in the streams of a pair of cells. A problem counts once, with the mean of its differences over the repetitions, and the interval is over problems. If memory carries over from problem to problem, problems are not independent, and the pairs of cells are the safer test.")
		}
	}
	if len(r.Curves) > 0 {
		band := "Curves are means over the repetitions. The band around a curve reaches from the least to the largest repetition; each point has the repetitions that reach it, and the CSV says how many those are."
		if window := r.Curves[0].Window; window > 0 {
			band += fmt.Sprintf(" A point is over the last %d problems, unless its note says otherwise.", window)
		}
		list = append(list, band)
	}
	return list
}
