package studycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyarchive"
)

// exportCommand packs a study.
type exportCommand struct {
	Dir    string `arg:"" name:"dir" help:"The folder of the study."`
	Output string `short:"o" required:"" placeholder:"FILE" help:"The archive: NAME.tar.zst, NAME.tar.gz or NAME.tar."`
}

// Help shows examples.
func (exportCommand) Help() string {
	return `Packs a finished study into one file: its manifest, states, outputs, records, memories and logs, and the files that it read, with a list of SHA-256 digests. The same folder gives the same bytes. The archive of a sealed study is as encrypted as its folder, and has none of the files that it read. Others check the archive with sotto study verify, and report it with sotto study report.

Examples:

    sotto study export memory-study -o memory-study.tar.zst
    sotto study verify memory-study.tar.zst
    sotto study report memory-study.tar.zst`
}

// Run writes the archive.
func (x *exportCommand) Run(sh *shell.Shell) error {
	if !isArchive(x.Output) {
		return errorhint.Usage(fmt.Errorf("--output %s: not the name of an archive", x.Output), "want NAME.tar.zst, NAME.tar.gz or NAME.tar")
	}
	m, err := studyarchive.Describe(x.Dir)
	switch {
	case errors.Is(err, study.ErrNone):
		return errorhint.Add(err, "want the folder that sotto study made")
	case errors.Is(err, studyarchive.ErrUnfinished):
		return errorhint.Add(err, "finish it with the command that ran it")
	case err != nil:
		return err
	}
	out, err := sh.Replace(x.Output)
	if err != nil {
		return err
	}
	if err := m.Write(out); err != nil {
		out.Discard()
		return fmt.Errorf("write %s: %w", x.Output, err)
	}
	if err := out.Commit(); err != nil {
		return err
	}
	for _, in := range m.Inputs {
		if in.File == "" {
			sh.Hintf("%s is not in the archive: it has changed or is gone since the study ran", visible.Text(in.Name))
		}
	}
	_, err = fmt.Fprintf(sh.Text, "%s: %s\n", x.Output, sizeOf(m))
	return err
}

// sizeOf says what an archive holds.
func sizeOf(m *studyarchive.Manifest) string {
	var sum int64
	for _, f := range m.Files {
		sum += f.Bytes
	}
	kind := "study"
	if m.Sealed {
		kind = "sealed study"
	}
	return fmt.Sprintf("%s %s, %s with %s", kind, visible.Text(shorttext.Ellipsis(m.Name, 100)), shorttext.Count(len(m.Files), "file"), bytesize.Format(sum))
}

// isArchive reports whether a file has the name of an archive.
func isArchive(name string) bool {
	for _, end := range []string{".tar", ".tar.zst", ".tar.gz"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// archiveSize is the flag that bounds what an archive may hold.
type archiveSize struct {
	MaxSize string `name:"max-size" default:"16GiB" placeholder:"SIZE" help:"Refuse an archive whose files hold more (${default})."`
}

func (s *archiveSize) bytes() (int64, error) {
	n, err := bytesize.Parse[int64](s.MaxSize)
	if err != nil || n < 1 {
		return 0, errorhint.Usage(fmt.Errorf("--max-size %s: want a size such as 16GiB", s.MaxSize), "")
	}
	return n, nil
}

// verifyCommand checks an archive.
type verifyCommand struct {
	File string `arg:"" name:"file" placeholder:"ARCHIVE" help:"The file that sotto study export wrote."`
	archiveSize
}

// Help shows examples.
func (verifyCommand) Help() string {
	return `Reads the whole archive and compares each file with the list of digests. Nothing is unpacked. An archive with a file that is missing, comes twice, is not in the list, is not a regular file, or has another digest is refused. Whoever made an archive also made its list: compare the SHA-256 that is printed with one from a place that you trust.

Examples:

    sotto study verify memory-study.tar.zst`
}

// Run checks the archive.
func (x *verifyCommand) Run(sh *shell.Shell) error {
	most, err := x.bytes()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in, err := sh.Open(x.File)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := studyarchive.Read(ctx, in, most, nil)
	if err != nil {
		return refused(x.File, err)
	}
	file, err := study.InputOf(x.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sh.Text, "%s: %s; all digests are right\nSHA-256 %s\n", x.File, sizeOf(m), file.SHA256)
	return err
}

// refused is the error of an archive that is not sound.
func refused(name string, err error) error {
	return errorhint.Add(fmt.Errorf("%s: %w", name, err), "it is damaged, or was not written by sotto study export: get it again from who made it")
}

// unpack unpacks an archive into a temporary folder. end removes it.
func unpack(ctx context.Context, sh *shell.Shell, name string, most int64) (dir string, m *studyarchive.Manifest, end func(), err error) {
	in, err := sh.Open(name)
	if err != nil {
		return "", nil, nil, err
	}
	defer in.Close()
	if dir, err = os.MkdirTemp("", "sotto-study-"); err != nil {
		return "", nil, nil, err
	}
	end = func() { _ = os.RemoveAll(dir) }
	if m, err = studyarchive.Extract(ctx, in, most, dir); err != nil {
		end()
		return "", nil, nil, refused(name, err)
	}
	return dir, m, end, nil
}

// isFile reports whether a name is of a file, and not of a folder.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() && files.CheckRegular(name) == nil
}
