package textcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

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
	found := detect.New(c.Dialects())
	if err := d.search(sh, found); err != nil {
		return err
	}
	fits := found.Fits()
	if d.JSON {
		if fits == nil {
			fits = []detect.Fit{}
		}
		err := shell.PrintJSON(sh.Out, struct {
			V       int          `json:"v"`
			Replies int          `json:"replies"`
			Fits    []detect.Fit `json:"fits"`
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
	rows := [][]string{{"NAME", "REPLIES", "ALONE", "OF"}}
	for _, fit := range fits {
		rows = append(rows, []string{fit.Dialect, strconv.Itoa(fit.Replies), strconv.Itoa(fit.Alone), strconv.Itoa(found.Replies())})
	}
	return texttable.Print(sh.Text, rows)
}

// search shows the replies of the file to a detector.
func (d *Dialects) search(sh *shell.Shell, found *detect.Detector) error {
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
		found.AddBytes(text)
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
func searchRecord(f *jsonpath.Finder, line []byte, path []jsonpath.Step, found *detect.Detector) error {
	if err := f.Find(line, path); err != nil {
		return err
	}
	for _, at := range f.Found[0] {
		if line[at.Start] == '"' {
			found.Add(jsontext.Unquote(line[at.Start:at.End]))
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
	found.AddBytes(all)
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
