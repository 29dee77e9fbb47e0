package settings

import (
	"github.com/sotto-llm/sotto/internal/bytesize"
)

// recordKeys are the keys of the record and of its page. [recording.Settings.Options] checks
// the former together.
func (s *Settings) recordKeys() []key {
	f, g := &s.Recording, &s.Gateway
	return []key{
		{name: "record", value: pathValue(&f.Record, "the name of a folder"), restart: true,
			arg: "DIR", help: "Record everything in the folder DIR; see sotto record.",
			doc: "the folder of the record; see [The record](#the-record)"},
		{name: "record-policy", shown: "`always`", value: wordValue(&f.RecordPolicy, []string{"always", "batch", "none"}), restart: true,
			arg: "POLICY", help: "When events are synced to disk: always (before an event counts as recorded), batch (every second), none (at the end).",
			doc: "how soon an event is on the disk: `always`, `batch`, `none`; no client waits for it"},
		{name: "record-reasoning", shown: "`full`", value: wordValue(&f.RecordReasoning, []string{"full", "redacted", "digest", "off"}), restart: true, arg: "LEVEL",
			doc: "how much of the reasoning is recorded: `full`, `redacted`, `digest`, `off`"},
		{name: "record-answer", shown: "`full`", value: wordValue(&f.RecordAnswer, []string{"full", "redacted", "digest", "off"}), restart: true, arg: "LEVEL",
			doc: "how much of all other texts is recorded: `full`, `redacted`, `digest`, `off`"},
		{name: "record-id", shown: "`full`", value: wordValue(&f.RecordID, []string{"full", "digest", "off"}), restart: true, arg: "LEVEL",
			doc: "how much of the identifiers that clients send, such as users and sessions, is recorded: `full`, `digest`, `off`"},
		{name: "record-patterns", value: fileValue(&f.RecordPatterns), restart: true,
			arg: "FILE", help: "What the level redacted removes: FILE has one regular expression per line.",
			doc: "a file with what level `redacted` cuts out, one regular expression per line"},
		{name: "record-digest-key", shown: "a random one", value: fileValue(&f.RecordDigestKey), restart: true,
			arg: "FILE", help: "The key for the level digest: the bytes of FILE, at least 16.",
			doc: "a file with the key of level `digest`, 16 bytes or more"},
		{name: "record-signing-key", value: fileValue(&f.RecordSigningKey), restart: true,
			arg: "FILE", help: "Sign the record with an Ed25519 key (PEM); see sotto record keygen.",
			doc: "a file with the Ed25519 key that signs the record"},
		{name: "record-recipients", value: recipientsValue(&f.RecordRecipient), restart: true,
			arg: "KEY|FILE", help: "Encrypt the record for an age recipient, or for those in FILE.",
			doc: "age recipients that the record is encrypted to, or files with them"},
		{name: "record-keep", shown: "everything", value: textValue(&f.RecordKeep, "a span such as 90d or 12h", nil), restart: true, arg: "TIME",
			doc: "prune events older than this, such as `90d` or `12h`"},
		{name: "record-keep-size", shown: "everything", value: textValue(&f.RecordKeepSize, bytesize.Want, nil), restart: true, arg: "SIZE",
			doc: "prune the oldest events while the record is larger than this, such as `50GiB`"},
		{name: "record-headers", value: listValue(&g.RecordHeaders, "a list of headers such as X-Session-Id", checkText),
			arg: "NAME", help: "Record this request header as an identifier, such as X-Session-Id.",
			doc: "headers of requests whose values are recorded as identifiers, such as `X-Session-Id`"},
		{name: "record-ship", value: textValue(&s.RecordShip, "an address such as s3://records/production", checkObjects), restart: true,
			arg: "URL", help: "Copy the record to object storage at URL, such as s3://records/production; see sotto record ship.",
			doc: "copy the record to object storage, such as `s3://records/production`; see [record.md](record.md#object-storage)"},
		{name: "console", def: "false", value: yesNo(&s.Console), restart: true,
			help: "Serve the console too, on an address of its own: a web page with a chat, and with what models thought if there is a record. The guide is docs/console.md.",
			doc:  "serve the [console](console.md), which shows the record and has a chat; tokens need the scopes `console` and `record`, and `models` to write"},
		{name: "console-listen", def: "127.0.0.1:8385", value: textValue(&s.ConsoleListen, "an address such as 127.0.0.1:8385", checkAddress), restart: true, arg: "ADDRESS",
			doc: "the address of the console; on an address that other machines reach it needs a token"},
	}
}
