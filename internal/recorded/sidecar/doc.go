// Package sidecar keeps a file beside each segment of a record, so that a question about
// the record need not read all of it: facts about each event in columns, identifiers, and
// the words of the texts. A sidecar is made of the segment alone, can be made again at any
// time, and is never needed for the truth: what it selects is read from the segment and
// compared there.
//
//	s := sidecar.Open(dir, sidecar.Options{})
//	for e, err := range s.Events(sidecar.Query{Pattern: re}) { … }
//	fmt.Println(s.Report())
//
// # What holds
//
//  1. [Store.Events] gives every event that a reading of the whole record would give, in its
//     order, and its errors. A pattern leaves out only events in which it cannot match.
//  2. A sidecar of other lines than the segment has (stale, swapped, cut) is not used. Then
//     the segment is read, and the report says so.
//  3. The bytes of a sidecar are a function of the lines that it covers. [Check] makes them
//     again and compares.
//  4. A sidecar holds nothing that the segment beside it does not hold. That of an encrypted
//     segment is encrypted for the same identities.
//
// # Security
//
// Whoever can write the folder can forge a sidecar that hides events from a search, as with
// the index. [Check] finds it. Everything that is read from a sidecar is checked against
// bounds that follow from the size of the segment.
package sidecar
