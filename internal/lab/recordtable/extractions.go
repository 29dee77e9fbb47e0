package recordtable

import (
	"slices"

	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// An extractionRow is a row of the tables of extractions and verdicts.
type extractionRow struct {
	e *recordset.Event
	x record.Extraction
}

// extractionColumns returns the columns that say which candidate it is.
func extractionColumns() []column[extractionRow] {
	return []column[extractionRow]{
		intColumn("reply_seq", "", "The number of the event with the reply.", func(r *extractionRow, c *cells) { c.count(int64(r.x.Of.Seq)) }),
		intColumn("reply_choice", "", "Which of the replies of that event.", func(r *extractionRow, c *cells) { c.int(r.x.Of.Choice) }),
		textColumn("reply_digest", "The digest of that reply, as the table of replies has it.", func(r *extractionRow, c *cells) { c.digest(r.x.Of.Digest) }),
		textColumn("task", "The task.", func(r *extractionRow, c *cells) { c.word(r.x.Task) }),
		textColumn("method", "How the candidate was found, or empty.", func(r *extractionRow, c *cells) { c.word(r.x.Method) }),
		textColumn("status", "ok, no_answer, truncated or ambiguous.", func(r *extractionRow, c *cells) { c.word(r.x.Status) }),
		truthColumn("from_reasoning", "Whether the candidate was found in reasoning.", func(r *extractionRow, c *cells) { c.Truth(r.x.FromReasoning) }),
		textColumn("candidate", "The candidate, as the validator got it.", func(r *extractionRow, c *cells) { c.content(r.x.Candidate) }),
	}
}

// verdictColumns returns the columns of a verdict, which are null without one.
func verdictColumns() []column[extractionRow] {
	of := func(put func(*record.Verdict, *cells)) func(*extractionRow, *cells) {
		return func(r *extractionRow, c *cells) {
			if r.x.Verdict == nil {
				c.Null()
				return
			}
			put(r.x.Verdict, c)
		}
	}
	return []column[extractionRow]{
		truthColumn("ok", "Whether the validator accepts the candidate; null if it was not asked.", of(func(v *record.Verdict, c *cells) { c.Truth(v.OK) })),
		textColumn("reason", "The verdict in a word: ok, or why not, such as wrong_numbers.", of(func(v *record.Verdict, c *cells) { c.word(v.Reason) })),
		textColumn("by", "How the candidate was found to be right, such as rational.", of(func(v *record.Verdict, c *cells) { c.word(v.By) })),
		textColumn("detail", "What the validator says in addition.", of(func(v *record.Verdict, c *cells) { c.object(v.Detail) })),
	}
}

var extractions = define(Table{
	Name:  "extractions",
	Doc:   "One row for each extraction of a candidate from a reply.",
	Types: []record.Type{record.TypeExtraction},
}, slices.Concat(
	where(func(r *extractionRow) *recordset.Event { return r.e }),
	extractionColumns(),
	[]column[extractionRow]{
		textColumn("written", "The candidate as it stands in the reply.", func(r *extractionRow, c *cells) { c.content(r.x.Written) }),
		spanColumn("start", "Where it begins in the reply's text as it came.", func(s *record.Span) int { return s.Start }),
		spanColumn("end", "Where it ends, exclusive.", func(s *record.Span) int { return s.End }),
		textColumn("rules", "The version of the rules of extraction.", func(r *extractionRow, c *cells) { c.word(r.x.Rules) }),
	},
	verdictColumns(),
	[]column[extractionRow]{
		truthColumn("cut", "Whether some of these texts was not recorded; that text is null then.", func(r *extractionRow, c *cells) { c.Truth(r.cut() || !r.x.Written.Whole()) }),
	}), stateless(func(e *recordset.Event, row func(*extractionRow) error) error {
	if x, ok := e.Payload.(record.Extraction); ok {
		return row(&extractionRow{e, x})
	}
	return nil
}))

var verdicts = define(Table{
	Name:  "verdicts",
	Doc:   "One row for each candidate that a validator judged: the extractions with a verdict.",
	Types: []record.Type{record.TypeExtraction},
}, slices.Concat(
	where(func(r *extractionRow) *recordset.Event { return r.e }),
	extractionColumns(),
	verdictColumns(),
	[]column[extractionRow]{
		truthColumn("cut", "Whether some of these texts was not recorded; that text is null then.", func(r *extractionRow, c *cells) { c.Truth(r.cut()) }),
	}), stateless(func(e *recordset.Event, row func(*extractionRow) error) error {
	if x, ok := e.Payload.(record.Extraction); ok && x.Verdict != nil {
		return row(&extractionRow{e, x})
	}
	return nil
}))

func (r *extractionRow) cut() bool {
	return !r.x.Candidate.Whole() || r.x.Verdict != nil && !r.x.Verdict.Detail.Whole()
}

// spanColumn makes a column of the place of a candidate.
func spanColumn(name, doc string, of func(*record.Span) int) column[extractionRow] {
	return intColumn(name, "bytes", doc, func(r *extractionRow, c *cells) {
		if r.x.Span == nil {
			c.Null()
			return
		}
		c.int(of(r.x.Span))
	})
}
