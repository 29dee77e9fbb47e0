package recordcmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"iter"
	"time"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

type exportCommand struct {
	source
	filter
	Signal  string `default:"spans" enum:"spans,logs" placeholder:"SIGNAL" help:"What to print: spans (calls of models and tools, cycles, runs) or logs (verdicts, advisories, errors)."`
	Content bool   `help:"Include the texts: prompts, reasoning, answers, results. Without it, only sizes, counts and names."`
}

// Help explains the lines.
func (exportCommand) Help() string {
	return `Each line is the body of one OTLP request, in JSON: a collector's otlpjsonfile receiver reads the file, and curl --data-binary sends a line to /v1/traces or /v1/logs. Names and values follow the semantic conventions for generative AI, version 1.41.0. Names that the conventions do not have begin with sotto.

spans: EXCHANGE and LLM_INVOCATION are chat or text_completion, TOOL_CALL is execute_tool, a run is invoke_agent, a cycle has no operation. A run is one trace; so is an exchange. logs: EXTRACTION with a verdict is gen_ai.evaluation.result, ADVISORY and ERROR are sotto.advisory and sotto.error.

With --content, messages are split into parts: {"type":"reasoning"} is what the model thought, wherever the reply held it.

Examples:

    sotto record export audit --from 1d > spans.jsonl
    sotto record export audit --run run-7 --content | jq -r '.resourceSpans[].scopeSpans[].spans[].name'`
}

// Run prints events in the shape of OpenTelemetry.
func (x *exportCommand) Run(sh *shell.Shell) error {
	q, err := x.query()
	if err != nil {
		return err
	}
	q.NoCheckpoints = true
	limit := q.Limit
	q.Limit = 0
	set, err := x.records()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(sh.Out, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	exporters := map[*recordset.Source]*otlp.Exporter{} // runs of two records may have the same name
	for _, from := range set.Sources() {
		exporters[from] = otlp.NewExporter(x.Content)
	}
	bad := badLines{sh: sh}
	for e, err := range placed(set, q) {
		if err = bad.skip(err); err == nil && e.Type == record.TypeSealed {
			err = readHint(e.from.Err(record.ErrSealed))
		}
		if err != nil {
			return err
		}
		var line *otlp.Line
		exp := exporters[e.from]
		if x.Signal == "logs" && e.selected {
			line = exp.Log(&e.Event)
		} else {
			line = exp.Span(&e.Event)
		}
		if line == nil || !e.selected {
			continue
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
		if limit--; limit == 0 {
			break
		}
	}
	return cmp.Or(out.Flush(), bad.err())
}

// A placedEvent is an event that is exported, or one that only says where others
// belong.
type placedEvent struct {
	record.Event
	from     *recordset.Source
	selected bool
}

// placed returns the selected events, and in their places among them the beginnings
// and ends that say to which trace and cycle an event belongs. Those may stand
// before the first selected event, and in other runs. So a part of an export has the
// same lines as the whole.
func placed(set *recordset.Set, q record.Query) iter.Seq2[placedEvent, error] {
	return recordset.Merge(set, func(from *recordset.Source) iter.Seq2[placedEvent, error] {
		return placedIn(from, q)
	}, func(e *placedEvent) time.Time { return e.Time })
}

// placedIn is placed for one record.
func placedIn(from *recordset.Source, q record.Query) iter.Seq2[placedEvent, error] {
	return func(yield func(placedEvent, error) bool) {
		places, stop := iter.Pull2(from.Store.Events(sidecar.Query{Query: record.Query{
			Types: []record.Type{record.TypeRunStart, record.TypeCycleStart, record.TypeCycleEnd}, To: q.To,
		}}))
		defer stop()
		place, err, more := places()
		for e, failed := range from.Store.Events(sidecar.Query{Query: q}) {
			for ; more && (err != nil || failed == nil && place.Seq <= e.Seq); place, err, more = places() {
				// A line that cannot be read is reported where it is selected.
				if err == nil && place.Seq < e.Seq && !yield(placedEvent{place, from, false}, nil) {
					return
				}
			}
			if !yield(placedEvent{e, from, true}, failed) {
				return
			}
		}
	}
}
