package record

import (
	"crypto/ed25519"
	"fmt"
)

// VerifyOptions say what a record is compared with.
type VerifyOptions struct {
	// Head is a head that was kept from before: the record must still hold it.
	Head *Head
	// Keys are the public keys whose checkpoints and tombstones count. Without keys
	// no signature is checked.
	Keys []ed25519.PublicKey
	// ID is the identity that the record must have. If empty, any.
	ID string
	// Workers is how many segments are read at the same time. Each takes a processor
	// and memory for its index. If zero, one. The report is the same for any number.
	Workers int
}

// A Fault names what is wrong with a record.
type Fault string

const (
	Edited     Fault = "edited"     // the next event was written after a different line than this
	Missing    Fault = "missing"    // events First to Last are not there
	Reordered  Fault = "reordered"  // an event stands in another place
	Repeated   Fault = "repeated"   // an event has a number that was used already
	Unreadable Fault = "unreadable" // a line that is not an event, after event First; or a file
	Forged     Fault = "forged"     // a checkpoint or tombstone that no key of ours signed
	Foreign    Fault = "foreign"    // it is of another record
	Misindexed Fault = "misindexed" // the segment's index shows other events than the segment has
	Truncated  Fault = "truncated"  // the record ends before the head that was kept
	Rewritten  Fault = "rewritten"  // the event of the kept head is a different one
)

// A Finding is one thing that is wrong, and where.
type Finding struct {
	Fault Fault
	// First and Last are the events that it concerns. In an encrypted record they
	// are the batch that holds them.
	First, Last uint64
	Segment     string
}

func (f Finding) String() string {
	where := fmt.Sprintf("event %d", f.First)
	if f.Last > f.First {
		where = fmt.Sprintf("events %d to %d", f.First, f.Last)
	}
	if f.Fault == Unreadable {
		where = "after " + where
	}
	if f.Segment != "" {
		where += " (" + f.Segment + ")"
	}
	return where + ": " + string(f.Fault)
}

// A Report is what Verify found.
type Report struct {
	ID          string // the record's identity, "" if all of it is of version 1
	Segments    int
	Pruned      int    // segments that were replaced by tombstones
	Events      uint64 // in the segments
	Bytes       int64
	Indexes     int // indexes that were compared with their segments
	Head        Head
	Checkpoints int    // signed by one of the keys
	Weak        int    // how many of those are of version 1, which does not sign what record it is in
	Signed      uint64 // the last event under a checkpoint or tombstone that one of the keys signed; 0 without
	Torn        int64  // bytes of an incomplete last line, which was never acknowledged
	// HeadPruned says that the event of the kept head was pruned, so that it cannot
	// be compared. HeadSigned says that one of the keys signed the tombstone.
	HeadPruned, HeadSigned bool
	// Warnings report conditions that make tampering easy, but are not signs of it.
	Warnings []string
	Findings []Finding
	More     int // findings in addition to those listed
}

// Err returns the findings as an error, which is a [*TamperError], or nil.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return &TamperError{r.Findings}
}

// A TamperError is the error of a record that is not as it was written.
type TamperError struct{ Findings []Finding }

func (e *TamperError) Error() string {
	s := "record: " + e.Findings[0].String()
	if n := len(e.Findings) - 1; n > 0 {
		s += fmt.Sprintf(", and %d more", n)
	}
	return s
}
