package databackup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/owners"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
	"github.com/sotto-llm/sotto/record"
)

// A Row sums up the files of one part: those of one record, one database, all
// conversations of a folder.
type Row struct {
	Part   Part   `json:"part"`
	Name   string `json:"name"`             // of the file, or of the folder of the files
	Format int    `json:"format,omitempty"` // the newest that a file of it has; 0 if it has none
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Detail string `json:"detail,omitempty"`
}

// A Fault is something wrong with a part.
type Fault struct {
	Name string
	Err  error
}

func (f Fault) Error() string { return f.Name + ": " + f.Err.Error() }

func (f Fault) Unwrap() error { return f.Err }

// A Report is what was found in a data folder or an archive.
type Report struct {
	About   *About // nil of a folder
	Rows    []Row
	LeftOut []LeftOut
	Faults  []Fault
	// Unchecked are the databases that this program cannot check. Those of an archive have
	// the bytes that its manifest says.
	Unchecked []string
}

// maxFaults bounds the faults of a report, and the names of what was not checked.
const maxFaults = 100

// maxConversation bounds what is read of a conversation.
const maxConversation = 256 << 20

// CheckFolder reads all of a data folder. Programs may write to it meanwhile. Faults are
// in the report; the error means that the reading failed. known are the databases that are
// checked.
func CheckFolder(ctx context.Context, dir string, known Databases) (*Report, error) {
	temp, err := os.MkdirTemp("", ".sotto-verify-")
	if err != nil {
		return nil, fmt.Errorf("a folder for copies of databases: %w", err)
	}
	defer os.RemoveAll(temp)
	return check(ctx, dir, temp, known)
}

// CheckArchive reads all of an archive, and checks its files in a temporary folder. The
// archive has at most so many bytes in files; 0 stands for the default. known are the
// databases that are checked.
func CheckArchive(ctx context.Context, from io.Reader, bytes int64, known Databases) (*Report, error) {
	temp, err := os.MkdirTemp("", ".sotto-verify-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the files of the backup: %w", err)
	}
	defer os.RemoveAll(temp)
	r := newReader(from, bytes)
	if r.into, err = os.OpenRoot(temp); err != nil {
		return nil, err
	}
	defer r.into.Close()
	if err := r.unpack(ctx); err != nil {
		return nil, err
	}
	report, err := check(ctx, temp, "", known)
	if err != nil {
		return nil, err
	}
	report.About = &r.about
	return report, nil
}

// A checker checks the parts of a folder.
type checker struct {
	Report
	copier // temp is "" if no program can write to the folder
	rows   map[string]int
}

// check checks a folder. Databases are copied into a temporary folder first, where there
// is one, because a program may have them open.
func check(ctx context.Context, dir, temp string, known Databases) (*Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	defer root.Close()
	all, out, err := list(root)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s: %w", dir, files.Cause(err))
	}
	c := &checker{Report: Report{LeftOut: out}, copier: copier{dir, root, temp, known}, rows: map[string]int{}}
	if err := datafolder.Check(dir); err != nil {
		c.fault(datafolder.File, err)
	}
	for _, p := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.file(ctx, p)
	}
	for _, r := range c.Rows {
		if r.Part == Record {
			c.record(r.Name)
		}
	}
	return &c.Report, nil
}

func (c *checker) fault(name string, err error) {
	if len(c.Faults) < maxFaults {
		c.Faults = append(c.Faults, Fault{name, err})
	}
}

// row returns the row that a file belongs to.
func (c *checker) row(p place) *Row {
	name := p.name
	switch p.part {
	case Record, RunMemory, Certificate:
		name = path.Dir(p.name)
	case Conversation:
		name, _, _ = strings.Cut(p.name, "/")
	case Other:
		name = ""
	}
	key := string(p.part) + "\x00" + name
	i, ok := c.rows[key]
	if !ok {
		i = len(c.Rows)
		c.rows[key] = i
		c.Rows = append(c.Rows, Row{Part: p.part, Name: name})
	}
	return &c.Rows[i]
}

// file checks a file. Those of a record are checked together.
func (c *checker) file(ctx context.Context, p place) {
	info, err := c.root.Stat(p.name)
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
		return
	}
	row := c.row(p)
	if err != nil {
		c.fault(p.name, files.Cause(err))
		return
	}
	row.Files++
	row.Bytes += info.Size()
	format := 0
	switch p.part {
	case Folder:
		format, err = datafolder.FormatOf(c.dir)
	case Starts:
		format, err = 1, c.starts()
	case Prompts:
		format, err = 1, c.prompts()
	case Owners:
		format, err = owners.Check(pathIn(c.dir, p.name))
	case Tasks, Memory:
		format, err = c.database(ctx, p)
	case Conversation:
		format, err = c.conversation(p)
	case RunMemory:
		err = c.lines(p)
	case Record:
		if path.Ext(p.name) == lineFile {
			format = c.recordVersion(p)
		}
	case Certificate:
		err = c.certificate(p)
	case Other:
		err = c.readable(p)
	}
	row.Format = max(row.Format, format)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && p.part != Folder { // which check has reported
		c.fault(p.name, err)
	}
}

func (c *checker) starts() error {
	data, err := files.ReadRegular(pathIn(c.dir, startsFile), files.MaxReply)
	if err == nil {
		err = foreignjson.Check(data)
	}
	if err != nil {
		return files.Cause(err)
	}
	_, err = gateway.OpenLearned(c.dir, 0)
	return err
}

func (c *checker) prompts() error {
	data, err := files.ReadRegular(pathIn(c.dir, promptshown.File), files.MaxReply)
	if err == nil {
		err = foreignjson.Check(data)
	}
	if err != nil {
		return files.Cause(err)
	}
	_, err = promptshown.OpenExamined(c.dir, 0)
	return err
}

// certificate checks that a certificate and its key fit, or a key that is alone. One that
// has expired is no fault: there will be another.
func (c *checker) certificate(p place) error {
	text, err := files.ReadRegular(pathIn(c.dir, p.name), files.MaxSettings)
	if err != nil {
		return files.Cause(err)
	}
	if strings.HasSuffix(p.name, "+key") {
		return certificates.KeptKey(text)
	}
	_, err = certificates.KeptPair(text)
	return err
}

// database checks a file of bbolt or SQLite, or a copy of it.
func (c *checker) database(ctx context.Context, p place) (int, error) {
	kind, ok := c.databases[p.part]
	if !ok {
		if len(c.Unchecked) < maxFaults {
			c.Unchecked = append(c.Unchecked, p.name)
		}
		return 0, c.readable(p)
	}
	name := pathIn(c.dir, p.name)
	if c.temp != "" {
		s, err := c.open(ctx, p)
		if err != nil {
			return 0, err
		}
		defer s.close()
		name = s.Reader.(*os.File).Name()
	}
	return kind.Check(ctx, name)
}

func (c *checker) conversation(p place) (int, error) {
	f, info, err := openRegular(c.root, p.name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if info.Size() > maxConversation {
		return 0, fmt.Errorf("it is larger than %d MiB", maxConversation>>20)
	}
	size, err := wholeLines(f, info.Size())
	if err != nil {
		return 0, err
	}
	data, err := files.ReadAll(io.LimitReader(f, size), maxConversation)
	if err != nil {
		return 0, err
	}
	return conversation.Check(data)
}

// lines checks that each line of a file is a JSON object.
func (c *checker) lines(p place) error {
	f, _, err := openRegular(c.root, p.name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	in.Split(wholeLine)
	n := 0
	for in.Scan() {
		n++
		if err := foreignjson.Check(in.Bytes()); err != nil {
			return fmt.Errorf("line %d %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// wholeLine is a split function that ends before a line that is not whole.
func wholeLine(data []byte, end bool) (advance int, line []byte, err error) {
	if advance, line, err = bufio.ScanLines(data, false); line == nil && end {
		advance = len(data)
	}
	return advance, line, err
}

// recordVersion returns the version of the first line of a segment, 0 if it has none.
func (c *checker) recordVersion(p place) int {
	text, ok := strings.CutPrefix(string(head(c.root, p.name, 32)), `{"v":`)
	number, _, ok2 := strings.Cut(text, ",")
	n, err := strconv.Atoi(number)
	if !ok || !ok2 || err != nil {
		return 0
	}
	return n
}

// record checks a record as a whole.
func (c *checker) record(name string) {
	report, err := record.Verify(pathIn(c.dir, name), record.VerifyOptions{})
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		c.fault(name, err)
	}
	row := c.row(place{name: path.Join(name, "x"), part: Record})
	row.Detail = fmt.Sprintf("%d events, head %s", report.Events, report.Head)
}

// readable checks that a file can be read.
func (c *checker) readable(p place) error {
	f, _, err := openRegular(c.root, p.name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return files.Cause(err)
}
