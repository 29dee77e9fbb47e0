// Package recording opens records: it reads the settings that commands take from
// flags and files, and the keys, recipients and patterns that these name.
package recording

import (
	"errors"
	"log/slog"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/record"
)

// Settings say where and how a command records. They are text, so that a command
// can also take them from its configuration file. Only this package interprets
// them.
type Settings struct {
	Record           string   `placeholder:"DIR" xor:"record" setting:"SOTTO_RECORD" help:"Record everything in the folder DIR; see sotto record."`
	RecordPolicy     string   `placeholder:"POLICY" setting:"SOTTO_RECORD_POLICY" help:"When events are synced to disk: always (before an event counts as recorded), batch (every second), none (at the end)."`
	RecordReasoning  string   `placeholder:"LEVEL" setting:"SOTTO_RECORD_REASONING" help:"How much of what models think is recorded: full, redacted, digest, off."`
	RecordAnswer     string   `placeholder:"LEVEL" setting:"SOTTO_RECORD_ANSWER" help:"How much of all other text is recorded: full, redacted, digest, off."`
	RecordID         string   `name:"record-id" placeholder:"LEVEL" setting:"SOTTO_RECORD_ID" help:"How much of the identifiers that clients send, such as users and sessions, is recorded: full, digest, off."`
	RecordPatterns   string   `placeholder:"FILE" setting:"SOTTO_RECORD_PATTERNS" help:"What the level redacted removes: FILE has one regular expression per line."`
	RecordDigestKey  string   `placeholder:"FILE" setting:"SOTTO_RECORD_DIGEST_KEY" help:"The key for the level digest: the bytes of FILE, at least 16."`
	RecordSigningKey string   `placeholder:"FILE" setting:"SOTTO_RECORD_SIGNING_KEY" help:"Sign the record with an Ed25519 key (PEM); see sotto record keygen."`
	RecordRecipient  []string `sep:"none" placeholder:"KEY|FILE" setting:"SOTTO_RECORD_RECIPIENT" help:"Encrypt the record for an age recipient, or for those in FILE; repeatable."`
	RecordKeep       string   `placeholder:"TIME" setting:"SOTTO_RECORD_KEEP" help:"Remove segments that are older than this, such as 90d or 12h."`
	RecordKeepSize   string   `placeholder:"SIZE" setting:"SOTTO_RECORD_KEEP_SIZE" help:"Remove the oldest segments while the record is larger than this, such as 50GiB."`
}

// A Fault is a wrong flag. flag is its name without hyphens.
type Fault struct {
	Flag string
	error
}

func (f *Fault) Error() string { return "--" + f.Flag + ": " + f.error.Error() }
func (f *Fault) Unwrap() error { return f.error }

// Options reads the flags and the files that they name. faults are all mistakes in
// them.
func (f *Settings) Options() (o record.Options, faults []*Fault) {
	set := func(flag, text string, use func(text string) error) {
		if text == "" {
			return
		}
		err := use(text)
		if f.Record == "" {
			err = errors.New("needs --record")
		}
		if err != nil {
			faults = append(faults, &Fault{flag, err})
		}
	}
	word := func(v interface{ UnmarshalText([]byte) error }) func(string) error {
		return func(text string) error { return v.UnmarshalText([]byte(text)) }
	}
	set("record-policy", f.RecordPolicy, word(&o.Policy))
	set("record-reasoning", f.RecordReasoning, word(&o.Reasoning))
	set("record-answer", f.RecordAnswer, word(&o.Answer))
	set("record-id", f.RecordID, func(text string) error {
		err := o.IDs.UnmarshalText([]byte(text))
		if err == nil && o.IDs == record.Redacted {
			err = errors.New("want full, digest or off")
		}
		return err
	})
	set("record-patterns", f.RecordPatterns, func(text string) (err error) {
		o.Patterns, err = readPatterns(text)
		return err
	})
	set("record-digest-key", f.RecordDigestKey, func(text string) (err error) {
		o.DigestKey, err = ReadDigestKey(text)
		return err
	})
	set("record-signing-key", f.RecordSigningKey, func(text string) (err error) {
		o.SigningKey, err = ReadSigningKey(text)
		return err
	})
	for _, text := range f.RecordRecipient {
		set("record-recipient", text, func(text string) error {
			to, err := ReadRecipients(text)
			o.Recipients = append(o.Recipients, to...)
			return err
		})
	}
	set("record-keep", f.RecordKeep, func(text string) (err error) {
		o.KeepFor, err = ParseAge(text)
		return err
	})
	set("record-keep-size", f.RecordKeepSize, func(text string) (err error) {
		o.KeepSize, err = bytesize.Parse[int64](text)
		return err
	})
	if redacts := o.Reasoning == record.Redacted || o.Answer == record.Redacted; redacts && f.RecordPatterns == "" {
		faults = append(faults, &Fault{"record-patterns", errors.New("is missing: the level redacted needs patterns of what to remove")})
	}
	return o, faults
}

// Open opens the record that the flags name. It returns nil if they name none. The
// secrets are those of the configuration. The log gets repairs, and failures that
// no caller waits for; it may be nil.
func (f *Settings) Open(secrets *record.Secrets, log *slog.Logger) (*record.Writer, error) {
	return f.OpenNeeded(secrets, log, nil)
}

// OpenNeeded is Open for a record of which pruning keeps what is still needed: see
// [record.Options].
func (f *Settings) OpenNeeded(secrets *record.Secrets, log *slog.Logger, needed func() uint64) (*record.Writer, error) {
	o, faults := f.Options()
	if len(faults) > 0 {
		return nil, errorhint.Usage(faults[0], "")
	}
	if f.Record == "" {
		return nil, nil
	}
	o.Secrets, o.Log, o.Needed = secrets, log, needed
	w, err := record.Open(f.Record, o)
	if errors.Is(err, record.ErrLocked) {
		return nil, errorhint.Add(err, "a record has one writer at a time; use another folder for this one")
	}
	return w, err
}
