package recordcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

type verifyCommand struct {
	Dir      string   `arg:"" name:"dir" help:"The folder of the record, a folder that holds several, of which each is checked, or s3://BUCKET/PREFIX."`
	Head     string   `placeholder:"HEAD|FILE" help:"The head that you kept, as verify printed it, or a file that holds it. The record must still contain it."`
	Key      []string `sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_KEY" help:"The public keys (PEM) that may have signed the record; repeatable."`
	ID       string   `name:"id" placeholder:"ID" help:"The identity that the record must have, as verify printed it."`
	Sidecars bool     `help:"Also make the sidecars again and compare them, which takes several times as long. Without it, they are compared with their checksums."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt sidecars with the age identities in FILE; repeatable."`
	Live     bool     `name:"live" help:"The record is being written: accept events after the last checkpoint, which the next one will sign."`
	JSON     bool     `name:"json" help:"Print JSON."`
}

// Help explains what is proved.
func (verifyCommand) Help() string {
	return `Reads every line. If an event was edited, deleted, moved or repeated, it says which and exits 1. Without --head and --key it finds accidents only: whoever can write to the folder can rewrite all of it. With --key, nobody without the private key can alter what precedes the last checkpoint; a record without a signed checkpoint exits 1, and one with events after the last checkpoint exits 6, since anybody can have added them. While a writer runs, there are such events; --live accepts them. With --id, another record signed with the same key cannot take the place of this one. With --head (a head that you kept elsewhere), nobody can cut off or rewrite anything before that head unnoticed. An encrypted record needs no age identity for this.

Sidecars (see sotto record index) are compared with their checksums: that finds damage. Whoever can write to the folder can forge one that hides events from searches; --sidecars finds that. Those of an encrypted record need --identity.

Of a folder that holds several records, each is checked, and one that was changed makes the exit status 1. A head and an identity are of one record, so --head and --id need its folder. With --json, "records" has an object for each, with its name in "record".

Records in object storage, s3://BUCKET/PREFIX, are read again, each object with its digest: one that was changed or added is named. The newest head there is the kept head, unless --head gives another.

Keep the head that is printed for the next check. docs/explanation/record.md says what all this cannot prove.`
}

// maxVerifying bounds how many segments are verified at the same time, because each needs
// memory: of a hostile record, more than 160 MiB.
const maxVerifying = 8

// Run verifies the record.
func (v *verifyCommand) Run(sh *shell.Shell) error {
	o := record.VerifyOptions{ID: v.ID, Workers: min(runtime.GOMAXPROCS(0), maxVerifying)}
	if v.Head != "" {
		head, err := readHead(v.Head)
		if err != nil {
			return err
		}
		o.Head = &head
	}
	for _, name := range v.Key {
		keys, err := recording.ReadPublicKeys(name)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		o.Keys = append(o.Keys, keys...)
	}
	open := recordset.Open
	if objects.Is(v.Dir) {
		open = recordset.OpenAgain // a copy does not show that its object was changed
	}
	set, err := open(v.Dir, record.ReadOptions{})
	if err != nil {
		return readHint(err)
	}
	if v.Head != "" || v.ID != "" {
		if _, err := set.Only("--head or --id"); err != nil {
			return err
		}
	}
	return v.verify(sh, set, o)
}

// verify verifies all records, and returns what is wrong with the first of those
// that are not as they were written.
func (v *verifyCommand) verify(sh *shell.Shell, set *recordset.Set, o record.VerifyOptions) error {
	var changed, unsigned error
	all := verifiedSet{V: 1, OK: true}
	for i, from := range set.Sources() {
		o := stored(o, from)
		report, err := record.Verify(from.Dir, o)
		if err != nil {
			return readHint(from.Err(err))
		}
		if err := v.sidecars(from, &report); err != nil {
			return readHint(from.Err(err))
		}
		if err := unproven(report, o, from); err != nil {
			all.OK = false
			changed = cmp.Or(changed, from.Err(err))
		} else if n := unsignedEvents(report, o); n > 0 && !v.Live {
			all.OK = false
			unsigned = cmp.Or(unsigned, from.Err(errUnsigned(n)))
		}
		switch {
		case !v.JSON:
			err = printReport(sh, i, set, from, report, o)
		case set.Several():
			all.Records = append(all.Records, verified{Record: from.Name, verifiedRecord: v.report(report, o, from)})
		default:
			err = shell.PrintJSON(sh.Out, verified{V: 1, verifiedRecord: v.report(report, o, from)})
		}
		if err != nil {
			return err
		}
	}
	if v.JSON && set.Several() {
		if err := shell.PrintJSON(sh.Out, all); err != nil {
			return err
		}
	}
	return cmp.Or(changed, unsigned)
}

// sidecars compares the sidecars of a record with the record, or with their checksums, and adds
// to the report what is wrong.
func (v *verifyCommand) sidecars(from *recordset.Source, r *record.Report) error {
	ids, err := recording.ReadIdentities(v.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	check := sidecar.CheckSums
	if v.Sidecars {
		check = sidecar.Check
	}
	checked, err := check(from.Dir, ids)
	if err != nil {
		return err
	}
	if v.Sidecars && from.Copy != nil {
		merged, err := from.Copy.CheckMerged(context.Background(), sidecar.Options{Identities: ids})
		if err != nil {
			return err
		}
		checked.Compared += merged.Compared
		checked.Unread += merged.Unread
		checked.Wrong = append(checked.Wrong, merged.Wrong...)
	}
	if v.Sidecars {
		r.Indexes += checked.Compared
	}
	for _, w := range checked.Wrong {
		r.Findings = append(r.Findings, record.Finding{Fault: record.Misindexed, First: w.First, Last: w.Last, Segment: w.Name})
	}
	if checked.Unread > 0 && v.Sidecars {
		r.Warnings = append(r.Warnings, shorttext.Plural(checked.Unread, "a sidecar could not be compared", "%d sidecars could not be compared")+": give an identity with --identity")
	}
	if checked.Unfit > 0 {
		r.Warnings = append(r.Warnings, shorttext.Plural(checked.Unfit, "a sidecar is not of its segment", "%d sidecars are not of their segments")+" and not used: sotto record index makes it again")
	}
	return nil
}

// unsignedEvents returns how many events come after the last one that a key signed.
func unsignedEvents(r record.Report, o record.VerifyOptions) uint64 {
	if len(o.Keys) == 0 || r.Signed == 0 {
		return 0
	}
	return r.Head.Seq - r.Signed
}

func errUnsigned(n uint64) error {
	err := errors.New(shorttext.Plural(int(n), "no checkpoint signs the last event", "no checkpoint signs the last %d events"))
	return shell.Unproven(errorhint.Add(err, "a writer signs within a minute after an event, and when it closes: while it runs, give --live; else anybody can have added them"))
}

// stored adds what a record in object storage is compared with: its identity, which is
// in the names of its objects, and the newest head that was kept beside it.
func stored(o record.VerifyOptions, from *recordset.Source) record.VerifyOptions {
	if from.Copy == nil {
		return o
	}
	if o.Head == nil {
		o.Head = from.Copy.Head
	}
	o.ID = cmp.Or(o.ID, from.Copy.ID)
	return o
}

// faults returns what is wrong with the objects of a record.
func faults(from *recordset.Source) []recordship.Fault {
	if from.Copy == nil {
		return nil
	}
	return from.Copy.Faults
}

// unproven returns the findings as an error. Keys that signed nothing are an error,
// because a user who gives keys wants more than the chain, which anybody can write.
func unproven(r record.Report, o record.VerifyOptions, from *recordset.Source) error {
	if list := faults(from); len(list) > 0 {
		return errorhint.Add(fmt.Errorf("object %s", visible.Line(list[0].String())), "keep the objects as they are: they are evidence")
	}
	if err := r.Err(); err != nil {
		return errorhint.Add(err, "keep the folder as it is: it is evidence")
	}
	if len(o.Keys) > 0 && r.Signed == 0 {
		return errorhint.Add(errors.New("no checkpoint in the record is signed, so the keys prove nothing"), "a writer with a signing key signs within a minute after an event, and when it closes")
	}
	if r.HeadPruned && !r.HeadSigned {
		return errorhint.Add(errors.New("the event of the kept head was pruned, and no key shows who pruned it, so the head proves nothing"), "prune with --signing-key, and verify with --key")
	}
	return nil
}

// readHead reads a head, or a file that holds one.
func readHead(text string) (head record.Head, err error) {
	if head.UnmarshalText([]byte(text)) == nil {
		return head, nil
	}
	data, err := files.ReadKey(text)
	if err != nil {
		return head, errorhint.Usage(fmt.Errorf("--head: want a head (SEQ:DIGEST) or a file that holds one: %w", err), "")
	}
	if err := head.UnmarshalText(data); err != nil {
		return head, fmt.Errorf("%s: %w", text, err)
	}
	return head, nil
}

// printReport prints what was found out about a record.
func printReport(sh *shell.Shell, i int, set *recordset.Set, from *recordset.Source, r record.Report, o record.VerifyOptions) error {
	var b strings.Builder
	if set.Several() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s:\n", visible.Line(from.Name))
	}
	if r.ID != "" {
		fmt.Fprintf(&b, "record %s\n", r.ID)
	}
	fmt.Fprintf(&b, "%d events in %d segments, %d bytes", r.Events, r.Segments, r.Bytes)
	if r.Pruned > 0 {
		fmt.Fprintf(&b, "; %d segments were pruned", r.Pruned)
	}
	b.WriteString("\n")
	switch {
	case len(o.Keys) == 0:
		b.WriteString("signatures: not checked; give --key to check them\n")
	case r.Signed == 0:
		b.WriteString("signatures: none\n")
	default:
		fmt.Fprintf(&b, "signatures: %d checkpoints, up to event %d of %d\n", r.Checkpoints, r.Signed, r.Head.Seq)
		if n := unsignedEvents(r, o); n > 0 {
			fmt.Fprintf(&b, "signatures: none for the last %d events\n", n)
		}
	}
	if r.Weak > 0 {
		fmt.Fprintf(&b, "signatures: %d of them are of version 1, which does not sign the identity of the record\n", r.Weak)
	}
	switch {
	case o.Head == nil:
		b.WriteString("kept head: none given; without one, verify cannot see that the end was cut off\n")
	case r.HeadPruned:
		fmt.Fprintf(&b, "kept head: event %d was pruned and cannot be compared\n", o.Head.Seq)
	case r.Err() == nil:
		fmt.Fprintf(&b, "kept head: event %d is unchanged\n", o.Head.Seq)
	}
	if r.Torn > 0 {
		fmt.Fprintf(&b, "the last line is incomplete (%d bytes); its event was never confirmed as recorded\n", r.Torn)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, f := range faults(from) {
		fmt.Fprintf(&b, "found: object %s\n", visible.Line(f.String()))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "found: %s\n", f)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "found: %d more\n", r.More)
	}
	fmt.Fprintf(&b, "head: %s\n", r.Head)
	_, err := fmt.Fprint(sh.Text, b.String())
	return err
}

// verifiedSet is the report about several records as JSON.
type verifiedSet struct {
	V       int        `json:"v"`
	OK      bool       `json:"ok"`
	Records []verified `json:"records"`
}

// verified is the report about one record: alone, or among several.
type verified struct {
	V      int    `json:"v,omitempty"`
	Record string `json:"record,omitempty"`
	verifiedRecord
}

type verifiedRecord struct {
	OK          bool              `json:"ok"`
	ID          string            `json:"id"`
	Head        record.Head       `json:"head"`
	Events      uint64            `json:"events"`
	Segments    int               `json:"segments"`
	Pruned      int               `json:"pruned"`
	Bytes       int64             `json:"bytes"`
	Torn        int64             `json:"torn"`
	Checked     bool              `json:"signatures_checked"`
	Checkpoints int               `json:"checkpoints"`
	Weak        int               `json:"weak"`
	Signed      uint64            `json:"signed"`
	Unsigned    uint64            `json:"unsigned"` // events after it
	Indexes     int               `json:"indexes"`
	HeadPruned  bool              `json:"head_pruned"`
	Warnings    []string          `json:"warnings"`
	Findings    []verifiedFinding `json:"findings"`
	More        int               `json:"more"`
	Objects     []verifiedObject  `json:"objects,omitempty"`
}

// A verifiedObject is an object that is not as it was shipped.
type verifiedObject struct {
	URL  string `json:"url"`
	What string `json:"what"`
}

type verifiedFinding struct {
	Fault   record.Fault `json:"fault"`
	First   uint64       `json:"first"`
	Last    uint64       `json:"last"`
	Segment string       `json:"segment,omitempty"`
}

func (v *verifyCommand) report(r record.Report, o record.VerifyOptions, from *recordset.Source) verifiedRecord {
	var changed []verifiedObject
	for _, f := range faults(from) {
		changed = append(changed, verifiedObject(f))
	}
	findings, warnings := []verifiedFinding{}, append([]string{}, r.Warnings...)
	for _, f := range r.Findings {
		findings = append(findings, verifiedFinding(f))
	}
	return verifiedRecord{
		unproven(r, o, from) == nil && (v.Live || unsignedEvents(r, o) == 0), r.ID, r.Head, r.Events, r.Segments, r.Pruned, r.Bytes, r.Torn, len(o.Keys) > 0,
		r.Checkpoints, r.Weak, r.Signed, unsignedEvents(r, o), r.Indexes, r.HeadPruned, warnings, findings, r.More, changed,
	}
}
