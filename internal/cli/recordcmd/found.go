package recordcmd

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// found holds the flags that select events by an identifier: the events that have
// it, and those of a run that has it or is named by it.
type found struct {
	ID        string `name:"id" placeholder:"ID" help:"Only events that an application knows by this identifier: a response's id, a user, a session, an A2A task or context; and those of its runs."`
	DigestKey string `placeholder:"FILE" help:"With --id: the key of the record's digests (--record-digest-key), to find identifiers that were recorded as digests."`

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
	if f.ID == "" {
		if f.DigestKey != "" {
			return errorhint.Usage(fmt.Errorf("--digest-key needs --id"), "")
		}
		return nil
	}
	f.values, f.runs = map[string]bool{f.ID: true}, map[foundRun]bool{}
	if f.DigestKey == "" {
		return nil
	}
	key, err := recording.ReadDigestKey(f.DigestKey)
	if err != nil {
		return fmt.Errorf("--digest-key: %w", err)
	}
	f.values[record.DigestID(key, f.ID)] = true
	return nil
}

// has reports whether an event belongs to the identifier. Events come in the order
// of the record.
func (f *found) has(e *recordset.Event) bool {
	if f.ID == "" {
		return true
	}
	run, _, _ := strings.Cut(e.Run, "+") // agents below a run belong to it
	switch p := e.Payload.(type) {
	case record.Exchange:
		return f.values[p.ResponseID] && p.ResponseID != "" || f.values[p.ID] && p.ID != "" || f.among(p.IDs)
	case record.RunStart:
		if f.values[p.ID] && p.ID != "" || f.among(p.IDs) {
			f.runs[foundRun{e.Source, e.Run}] = true
		}
	}
	return run != "" && (run == f.ID || f.runs[foundRun{e.Source, run}] || e.Run == f.ID || f.runs[foundRun{e.Source, e.Run}])
}

func (f *found) among(ids map[string]string) bool {
	for _, value := range ids {
		if f.values[value] {
			return true
		}
	}
	return false
}
