package recordcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// found holds the flags that select events by an identifier: the events that have
// it, and those of a run that has it or is named by it.
type found struct {
	ID        string `name:"id" placeholder:"ID" help:"Only events that an application knows by this identifier: a response's id, a user, a session, an A2A task or context; and those of its runs."`
	Trace     string `name:"trace" placeholder:"ID" help:"Only the exchanges, runs and cycles of this trace: the trace's identifier, or a traceparent with it."`
	DigestKey string `placeholder:"FILE" help:"With --id or --trace: the key of the record's digests (--record-digest-key), to find identifiers that were recorded as digests."`

	values map[string]bool   // the forms in which the record may have the identifier
	runs   map[foundRun]bool // that have it, or that it names
}

// A foundRun is a run of a record. Runs of two records may have the same name.
type foundRun struct {
	from *recordset.Source
	name string
}

// open reads the flags.
func (f *found) open() error {
	id := f.ID
	switch {
	case f.ID != "" && f.Trace != "":
		return errorhint.Usage(errors.New("--id and --trace cannot be combined"), "")
	case f.Trace != "":
		if id = f.Trace; tracecontext.Read(id).Trace != "" {
			id = tracecontext.Read(id).Trace
		}
		if tracecontext.Within(id, "").Trace == "" {
			return errorhint.Usage(fmt.Errorf("--trace %q: want the 32 hexadecimal digits of a trace", f.Trace), "")
		}
	case f.ID == "" && f.DigestKey != "":
		return errorhint.Usage(errors.New("--digest-key needs --id or --trace"), "")
	case f.ID == "":
		return nil
	}
	f.values, f.runs = map[string]bool{id: true}, map[foundRun]bool{}
	if f.DigestKey == "" {
		return nil
	}
	key, err := recording.ReadDigestKey(f.DigestKey)
	if err != nil {
		return fmt.Errorf("--digest-key: %w", err)
	}
	f.values[record.DigestID(key, id)] = true
	return nil
}

// has reports whether an event belongs to the identifier. Events come in the order
// of the record.
func (f *found) has(e *recordset.Event) bool {
	if f.Trace != "" {
		return f.inTrace(e)
	}
	if f.ID == "" {
		return true
	}
	run, _, _ := strings.Cut(e.Run, "+") // agents below a run belong to it
	switch p := e.Payload.(type) {
	case record.Exchange:
		return f.values[p.ResponseID] && p.ResponseID != "" || f.values[p.ID] && p.ID != "" || f.among(p.IDs)
	case record.CycleStart:
		if f.among(p.IDs) {
			f.runs[foundRun{e.Source, e.Run}] = true
		}
	case record.RunStart:
		if f.values[p.ID] && p.ID != "" || f.among(p.IDs) {
			f.runs[foundRun{e.Source, e.Run}] = true
		}
	}
	return run != "" && (run == f.ID || f.runs[foundRun{e.Source, run}] || e.Run == f.ID || f.runs[foundRun{e.Source, e.Run}])
}

// any reports whether the flags select events by an identifier.
func (f *found) any() bool { return f.ID != "" || f.Trace != "" }

// inTrace reports whether an event is of the trace: an exchange that has it, or what belongs
// to a run while that works on a message that has it.
func (f *found) inTrace(e *recordset.Event) bool {
	var ids map[string]string
	switch p := e.Payload.(type) {
	case record.Exchange:
		return f.values[p.IDs[record.IDTrace]]
	case record.RunStart:
		ids = p.IDs
	case record.CycleStart:
		ids = p.IDs
	}
	run, _, _ := strings.Cut(e.Run, "+") // agents below a run belong to it
	at := foundRun{e.Source, run}
	if trace, ok := ids[record.IDTrace]; ok && e.Run == run {
		f.runs[at] = f.values[trace]
	}
	return run != "" && f.runs[at]
}

func (f *found) among(ids map[string]string) bool {
	for _, value := range ids {
		if f.values[value] {
			return true
		}
	}
	return false
}
