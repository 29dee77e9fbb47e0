package recordcmd

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/record"
)

type pruneCommand struct {
	Dir        string `arg:"" name:"dir" help:"The folder of the record."`
	Older      string `placeholder:"TIME" help:"Remove segments whose last event is older than this: 90d, 12h, or a date such as 2026-11-21."`
	KeepSize   string `placeholder:"SIZE" help:"Remove the oldest segments while the record is larger than this, such as 50GiB."`
	SigningKey string `placeholder:"FILE" help:"Sign the tombstones with this Ed25519 key (PEM)."`
	Shipped    bool   `help:"Keep what an object store to which the record was shipped did not confirm yet; see sotto record ship."`
	DryRun     bool   `help:"Only say what would be removed."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// Help explains what remains.
func (pruneCommand) Help() string {
	return `Whole segments are removed, the oldest first, and never the last. Each leaves a tombstone of a few hundred bytes, with which verify still follows the chain. With --signing-key, nobody else can prune unnoticed. A segment that does not verify is evidence: it stays, and so do all segments after it.

With --shipped, a segment is only removed if every object store that the record was ever shipped to has confirmed it.

While a program writes the record, no other program can prune it: give that program --record-keep or --record-keep-size.`
}

// Validate requires a bound.
func (p *pruneCommand) Validate() error {
	if p.Older == "" && p.KeepSize == "" {
		return errors.New("nothing to remove was named: give --older or --keep-size")
	}
	return nil
}

// Run prunes.
func (p *pruneCommand) Run(sh *shell.Shell) error {
	o := record.PruneOptions{DryRun: p.DryRun}
	var err error
	if o.Before, err = recording.ParseTime(p.Older); err != nil {
		return errorhint.Usage(fmt.Errorf("--older: %w", err), "")
	}
	if p.KeepSize != "" {
		if o.Keep, err = bytesize.Parse[int64](p.KeepSize); err != nil {
			return errorhint.Usage(fmt.Errorf("--keep-size: %w", err), "")
		}
	}
	if p.SigningKey != "" {
		if o.SigningKey, err = recording.ReadSigningKey(p.SigningKey); err != nil {
			return fmt.Errorf("--signing-key: %w", err)
		}
	}
	if err := recording.CheckFolder(p.Dir); err != nil {
		return err
	}
	if p.Shipped {
		if o.Until, err = recordship.Shipped(p.Dir); err != nil {
			return errorhint.Add(err, "ship it with sotto record ship, or leave --shipped out")
		}
	}
	done, err := record.Prune(p.Dir, o)
	if errors.Is(err, record.ErrLocked) {
		return errorhint.Add(err, "give the program that writes it --record-keep or --record-keep-size")
	}
	return errors.Join(p.print(sh, done), err)
}

func (p *pruneCommand) print(sh *shell.Shell, done []record.Tombstone) error {
	if p.JSON {
		return shell.PrintJSON(sh.Out, struct {
			V      int                `json:"v"`
			DryRun bool               `json:"dry_run"`
			Pruned []record.Tombstone `json:"pruned"`
		}{1, p.DryRun, append([]record.Tombstone{}, done...)})
	}
	word, events, bytes := "pruned", uint64(0), int64(0)
	if p.DryRun {
		word = "would prune"
	}
	for _, t := range done {
		events += t.Last - t.First + 1
		bytes += t.Bytes
		fmt.Fprintf(sh.Text, "%s events %d to %d, of %s to %s, %d bytes\n", word, t.First, t.Last, t.From.Format(time.RFC3339), t.To.Format(time.RFC3339), t.Bytes)
	}
	_, err := fmt.Fprintf(sh.Text, "%s: %d segments, %d events, %d bytes\n", word, len(done), events, bytes)
	return err
}

type keygenCommand struct {
	File string `arg:"" name:"file" help:"The file for the private key. It must not exist yet."`
}

// Help explains what the keys are for.
func (keygenCommand) Help() string {
	return `The private key goes to FILE (PKCS #8 in PEM, mode 0600, as openssl genpkey -algorithm ed25519 writes it) and the public key to standard output (PEM). Sign with --record-signing-key FILE; keep the public key elsewhere, and verify with sotto record verify --key.

For encryption, make an identity with age-keygen, give its public half to --record-recipient, and keep the identity on another machine.`
}

// Run makes a key.
func (k *keygenCommand) Run(sh *shell.Shell) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	file, err := shell.CreateNew(k.File)
	if errors.Is(err, os.ErrExist) {
		return errorhint.Add(fmt.Errorf("create %s: %w", k.File, files.Cause(err)), "an existing key is never overwritten: it is needed to verify the records that it signed")
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", k.File, files.Cause(err))
	}
	if err := errors.Join(pem.Encode(file, &pem.Block{Type: "PRIVATE KEY", Bytes: der}), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", k.File, files.Cause(err))
	}
	if der, err = x509.MarshalPKIXPublicKey(public); err != nil {
		return err
	}
	return pem.Encode(sh.Out, &pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
