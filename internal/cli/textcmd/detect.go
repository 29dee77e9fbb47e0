package textcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
	"github.com/sotto-llm/sotto/internal/reply/detect"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// errNoMarkers is the error of a file without markers. Its status is that of a reply
// without an answer.
type errNoMarkers struct{}

func (errNoMarkers) Error() string        { return "no reply has a marker of reasoning of any dialect" }
func (errNoMarkers) Is(target error) bool { return target == shell.ErrNoVisible }

// detect prints which dialects fit the replies of a file.
func (d *Dialects) detect(sh *shell.Shell, c *dialectset.Set) error {
	lines, err := c.LineReader("", false)
	if err != nil {
		return err
	}
	found := &detection{Detector: detect.New(c.Dialects()), lines: lines}
	if err := d.search(sh, found); err != nil {
		return err
	}
	fits := []detected{}
	for _, one := range found.Fits() {
		f := detected{Fit: one}
		for _, n := range found.read.Read {
			if n.Dialect == one.Dialect {
				f.Auto += n.Replies
			}
		}
		fits = append(fits, f)
	}
	if d.JSON {
		err := shell.PrintJSON(sh.Out, struct {
			V       int        `json:"v"`
			Replies int        `json:"replies"`
			Fits    []detected `json:"fits"`
		}{1, found.Replies(), fits})
		if err != nil {
			return err
		}
	}
	if len(fits) == 0 {
		return errNoMarkers{}
	}
	if d.JSON {
		return nil
	}
	rows := [][]string{{"NAME", "REPLIES", "ALONE", "OF", "AUTO"}}
	for _, fit := range fits {
		rows = append(rows, []string{fit.Dialect, strconv.Itoa(fit.Replies), strconv.Itoa(fit.Alone), strconv.Itoa(found.Replies()), strconv.Itoa(fit.Auto)})
	}
	return texttable.Print(sh.Text, rows)
}

// A detected is how well a dialect fits, and how many replies --dialect auto reads in it.
type detected struct {
	detect.Fit
	Auto int `json:"auto"`
}

// A detection counts the replies by the dialects that know their markers, and as
// --dialect auto reads them.
type detection struct {
	*detect.Detector
	lines *dialectset.LineReader
	read  dialectset.Tally
}

// add counts a reply, read as its record says.
func (d *detection) add(reply string, m dialectset.Manner) {
	d.Add(reply)
	d.lines.Choose(&m, reply)
	d.read.Note(m)
}

// auto is the manner of a reply about which nothing is known.
func auto() dialectset.Manner {
	g := sotto.Default()
	return dialectset.Manner{Grammar: g, Name: g.Dialect().Name, By: dialectset.ByDefault, Start: sotto.BeginAuto}
}

// search shows the replies of the file to a detector.
func (d *Dialects) search(sh *shell.Shell, found *detection) error {
	path, err := jsonpath.Parse(d.Field)
	if err != nil {
		return errorhint.Usage(err, "want a path such as raw or messages.-1.content")
	}
	file, err := sh.Open(d.Detect)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	if inputfiles.FormatOf(d.Detect) == "" && !holdsRecords(in) {
		text, err := files.ReadAll(in, files.MaxReply)
		found.add(string(text), auto())
		return err
	}
	source, err := inputfiles.Open(inputfiles.Input{Reader: in, Name: file.Name, File: file.File()}, inputfiles.Settings{})
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	defer source.Close()
	var f jsonpath.Finder
	for number := 1; ; number++ {
		line, err := batch.NextLine(source.Reader, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = source.Fault(line)
		}
		if line = batch.TrimLine(line); err == nil && !batch.Blank(line) {
			err = searchRecord(&f, line, path, found)
		}
		if err != nil {
			return fmt.Errorf("%s: %s %d: %w", file.Name, source.Unit, number, err)
		}
	}
}

// searchRecord shows the strings of the field to a detector, or those of the whole
// record as one reply.
func searchRecord(f *jsonpath.Finder, line []byte, path []jsonpath.Step, found *detection) error {
	if err := f.Find(line, slices.Concat([][]jsonpath.Step{path}, found.lines.Paths)...); err != nil {
		return err
	}
	m := auto()
	if found.lines.Read(f, 1, &m) != nil {
		m = auto() // what the record says about its reply cannot be read
	}
	for _, at := range f.Found[0] {
		if line[at.Start] == '"' {
			found.add(jsontext.Unquote(line[at.Start:at.End]), m)
		}
	}
	if len(f.Found[0]) > 0 {
		return nil
	}
	var all []byte
	for rest := line; ; {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			break
		}
		end := i + 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end = min(end+1, len(rest)); rest[end-1] != '"' {
			break
		}
		all = append(jsontext.AppendUnquoted(all, rest[i:end]), '\n')
		rest = rest[end:]
	}
	found.add(string(all), m)
	return nil
}

// holdsRecords reports whether a file begins with a JSON object, or a list of them.
func holdsRecords(in *bufio.Reader) bool {
	head, _ := in.Peek(1 << 10)
	start := bytes.TrimLeft(head, " \t\r\n\ufeff")
	if rest, array := bytes.CutPrefix(start, []byte("[")); array {
		start = bytes.TrimLeft(rest, " \t\r\n")
	}
	return bytes.HasPrefix(start, []byte("{"))
}
