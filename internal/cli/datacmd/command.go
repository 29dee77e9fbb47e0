// Package datacmd has the commands that back up, check and restore the folder for data
// that is kept.
package datacmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/serve/databackup"
)

// Command holds the commands about the data folder.
type Command struct {
	Backup  backupCommand  `cmd:"" help:"Copy everything in the data folder into one archive."`
	Verify  verifyCommand  `cmd:"" help:"Check an archive, or a data folder."`
	Restore restoreCommand `cmd:"" help:"Restore an archive into a new folder."`
}

// New returns the commands, which copy and check these databases.
func New(known databackup.Databases) Command {
	return Command{Backup: backupCommand{known: known}, Verify: verifyCommand{known: known}, Restore: restoreCommand{known: known}}
}

// Help explains what the folder is.
func (Command) Help() string {
	return `The data folder is the one of --data: what the gateway has learned, kept conversations, tasks of A2A, memories, and the records of runs. docs/data.md lists its parts. A record that sotto serve --record writes elsewhere is not in it.

Examples:

    sotto data backup /var/lib/sotto --to sotto.tar.zst
    sotto data verify sotto.tar.zst
    sotto data restore sotto.tar.zst --to /var/lib/sotto`
}

// The bytes that the files of an archive may have together.
type sizeLimit struct {
	MaxSize string `placeholder:"SIZE" default:"64GiB" help:"Refuse an archive whose files have more bytes than this together (${default})."`
}

func (l *sizeLimit) bytes() (int64, error) {
	n, err := bytesize.Parse[int64](l.MaxSize)
	if err != nil {
		return 0, errorhint.Usage(fmt.Errorf("--max-size: %w", err), "")
	}
	return n, nil
}

type backupCommand struct {
	Dir  string `arg:"" name:"dir" help:"The data folder."`
	To   string `required:"" placeholder:"FILE" help:"The archive to write, a tar file that is compressed by zstd; - is standard output."`
	JSON bool   `name:"json" help:"Print what was copied as JSON."`

	known databackup.Databases
}

// Help explains what is consistent.
func (backupCommand) Help() string {
	return `Programs may write to the folder meanwhile: each database is copied as it is at one moment, and each file that grows up to its last whole line. The archive gets its name when it is whole. Only you can read it (mode 0600). Keep it that way: it holds thoughts, conversations, and the credentials of push receivers.

Examples:

    sotto data backup ~/.local/state/sotto --to sotto.tar.zst
    sotto data backup /var/lib/sotto --to - | age -r age1… > sotto.tar.zst.age`
}

// Validate refuses results that would mix with the archive.
func (x *backupCommand) Validate() error {
	if x.To == "-" && x.JSON {
		return errors.New("--json with --to -: both would be on standard output")
	}
	return nil
}

// Run makes a backup.
func (x *backupCommand) Run(sh *shell.Shell) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if x.To == "-" {
		if sh.Out.TTY { // where bytes are shown, and not kept
			return errorhint.Usage(fmt.Errorf("the archive of %s is binary, and standard output is a terminal", x.Dir), "name a file with --to, or pipe the archive into a program")
		}
		done, err := databackup.Backup(ctx, x.Dir, sh.Out, databackup.Options{Databases: x.known})
		if err != nil {
			return interrupted(ctx, err)
		}
		return x.print(sh, sh.Err, done)
	}
	if databackup.Within(x.Dir, x.To) {
		return errorhint.Usage(fmt.Errorf("--to %s is in the folder that is backed up", x.To), "write the archive to another folder, or better to another disk")
	}
	to, err := sh.ReplaceArchive(x.To)
	if err != nil {
		return err
	}
	done, err := databackup.Backup(ctx, x.Dir, to, databackup.Options{Temp: tempFor(to.File()), Databases: x.known})
	if err == nil {
		err = durable(to.File())
	}
	if err != nil {
		to.Discard()
		return interrupted(ctx, err)
	}
	if err := to.Commit(); err != nil {
		return err
	}
	return x.print(sh, sh.Text, done)
}

// tempFor returns a folder for copies of databases: the one of the archive, which has
// room for all of them, unless the archive is not a regular file.
func tempFor(to *os.File) string {
	if info, err := to.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.Dir(to.Name())
}

// durable makes sure that an archive is on the disk before it takes its name.
func durable(to *os.File) error {
	if info, err := to.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return to.Sync()
}

func (x *backupCommand) print(sh *shell.Shell, out io.Writer, done *databackup.Summary) error {
	if x.JSON {
		return shell.PrintJSON(sh.Out, struct {
			V       int                  `json:"v"`
			Format  int                  `json:"format"`
			Files   int                  `json:"files"`
			Bytes   int64                `json:"bytes"`
			LeftOut []databackup.LeftOut `json:"left_out"`
		}{1, done.About.Format, len(done.Entries), done.Bytes(), append([]databackup.LeftOut{}, done.LeftOut...)})
	}
	leftOut(sh, done.LeftOut)
	_, err := fmt.Fprintf(out, "%s, %d bytes, of format %d\n", shorttext.Count(len(done.Entries), "file"), done.Bytes(), done.About.Format)
	return err
}

// leftOut names what a backup does not have.
func leftOut(sh *shell.Shell, list []databackup.LeftOut) {
	const most = 20
	for i, l := range list {
		if i == most {
			sh.Hintf("%d more are left out", len(list)-most)
			return
		}
		sh.Hintf("%s is left out: %s", l.Name, l.Why)
	}
}

// interrupted says that a signal ended the work, if one did.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing was written")
	}
	return err
}

type verifyCommand struct {
	From string `arg:"" name:"archive" help:"The archive, or a data folder; - is an archive on standard input."`
	sizeLimit
	JSON bool `name:"json" help:"Print JSON."`

	known databackup.Databases
}

// Help explains what is compared.
func (verifyCommand) Help() string {
	return `Reads an archive to its end, compares each file with the manifest, and checks each part: the chains of records, the pages of databases, the lines of conversations, and that this sotto knows their formats. Of a folder it checks the parts, while programs may write to it. It needs room for the files of the archive in the temporary folder ($TMPDIR).

The manifest finds damage. It does not show who made an archive: sign the archive, or the records in it (sotto record verify --key).

Examples:

    sotto data verify sotto.tar.zst
    sotto data verify ~/.local/state/sotto
    age -d -i key.txt sotto.tar.zst.age | sotto data verify -`
}

// Run checks an archive or a folder.
func (x *verifyCommand) Run(sh *shell.Shell) error {
	most, err := x.bytes()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := x.check(ctx, sh, most)
	if err != nil {
		return interrupted(ctx, err)
	}
	return printReport(sh, report, x.JSON, false)
}

func (x *verifyCommand) check(ctx context.Context, sh *shell.Shell, most int64) (*databackup.Report, error) {
	if info, err := os.Stat(x.From); err == nil && info.IsDir() {
		return databackup.CheckFolder(ctx, x.From, x.known)
	}
	in, err := sh.Open(x.From)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	report, err := databackup.CheckArchive(ctx, in, most, x.known)
	return report, named(in.Name, err)
}

// named says which archive has a fault.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

type restoreCommand struct {
	From string `arg:"" name:"archive" help:"The archive; - is standard input."`
	To   string `required:"" placeholder:"DIR" help:"The folder, which must be empty or not exist."`
	sizeLimit
	JSON bool `name:"json" help:"Print JSON."`

	known databackup.Databases
}

// Help explains what an interrupted restore leaves.
func (restoreCommand) Help() string {
	return `Checks the archive as sotto data verify does before anything takes its place. Nothing is restored over data: the folder must be new or empty. While a restore is under way, every other command refuses the folder. A restore that was interrupted is run again with the same arguments.

Examples:

    sotto data restore sotto.tar.zst --to ~/.local/state/sotto
    age -d -i key.txt sotto.tar.zst.age | sotto data restore - --to restored`
}

// Run restores an archive.
func (x *restoreCommand) Run(sh *shell.Shell) error {
	most, err := x.bytes()
	if err != nil {
		return err
	}
	in, err := sh.Open(x.From)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done, err := databackup.Restore(ctx, in, x.To, most, x.known)
	if archive := new(databackup.ArchiveError); errors.As(err, &archive) {
		err = named(in.Name, err)
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	return printReport(sh, &done.Report, x.JSON, true)
}

// A shownReport is a report as JSON.
type shownReport struct {
	V       int                  `json:"v"`
	OK      bool                 `json:"ok"`
	About   *databackup.About    `json:"about,omitempty"`
	Parts   []databackup.Row     `json:"parts"`
	LeftOut []databackup.LeftOut `json:"left_out"`
	Faults  []shownFault         `json:"faults"`
	// Unchecked are databases that this program cannot check.
	Unchecked []string `json:"unchecked,omitempty"`
}

type shownFault struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// printReport prints what was found, the faults last.
func printReport(sh *shell.Shell, r *databackup.Report, asJSON, restored bool) error {
	if asJSON {
		faults := []shownFault{}
		for _, f := range r.Faults {
			faults = append(faults, shownFault{f.Name, f.Err.Error()})
		}
		out := shownReport{1, len(faults) == 0 && (restored || len(r.Unchecked) == 0), r.About, append([]databackup.Row{}, r.Rows...), append([]databackup.LeftOut{}, r.LeftOut...), faults, r.Unchecked}
		if err := shell.PrintJSON(sh.Out, out); err != nil {
			return err
		}
	} else if err := printRows(sh, r); err != nil {
		return err
	}
	leftOut(sh, r.LeftOut)
	for _, f := range r.Faults {
		sh.Errorf("%v", f)
	}
	if len(r.Faults) == 0 {
		return unchecked(sh, r.Unchecked, restored)
	}
	var newer *datafolder.NewerError
	switch {
	case errors.As(r.Faults[0], &newer):
		sh.Hintf("%s", newer.Hint())
	case restored:
		sh.Hintf("nothing was restored: use another backup")
	}
	return batch.ErrFailed
}

// unchecked names the databases that this program cannot check. What was restored has the bytes
// that the manifest says; what is only verified is not known to be right.
func unchecked(sh *shell.Shell, list []string, restored bool) error {
	if len(list) == 0 {
		return nil
	}
	for _, name := range list {
		if restored {
			sh.Hintf("%s is restored byte by byte: this program cannot check such a database", visible.Line(name))
		} else {
			sh.Errorf("%s: this program cannot check such a database", visible.Line(name))
		}
	}
	sh.Hintf(`the program "sotto" can check it`)
	if restored {
		return nil
	}
	return batch.ErrFailed
}

func printRows(sh *shell.Shell, r *databackup.Report) error {
	if a := r.About; a != nil {
		if _, err := fmt.Fprintf(sh.Text, "backup of %s by sotto %s, format %d\n\n", a.Created.Format(time.RFC3339), visible.Line(a.WrittenBy), a.Format); err != nil {
			return err
		}
	}
	rows := [][]string{{"PART", "NAME", "FORMAT", "FILES", "BYTES", "DETAIL"}}
	for _, p := range r.Rows {
		format := "-"
		if p.Format > 0 {
			format = strconv.Itoa(p.Format)
		}
		rows = append(rows, []string{string(p.Part), cmp.Or(visible.Line(p.Name), "-"), format, strconv.Itoa(p.Files), strconv.FormatInt(p.Bytes, 10), cmp.Or(p.Detail, "-")})
	}
	if len(r.Rows) == 0 {
		_, err := fmt.Fprintln(sh.Text, "the folder is empty")
		return err
	}
	return texttable.Print(sh.Text, rows)
}
