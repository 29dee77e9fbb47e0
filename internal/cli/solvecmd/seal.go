package solvecmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// A seal encrypts what a stream leaves if its record is encrypted: the lines of its output, each
// with its figures in plain, and its memory, which is in RAM while the stream runs.
type seal struct {
	to  []age.Recipient
	ids []age.Identity

	graph   *metagraph.Graph // nil in modes without memory
	file    string           // of the memory
	saved   memoryHead       // what the file has
	results int              // of the output, so far
	every   int              // after how many results the memory is saved
}

// A memoryHead is the first line in a sealed memory. The bytes of SQLite follow.
type memoryHead struct {
	V int `json:"v"`
	// Run is the stream that saved it last, and Results how many lines of its output the
	// memory has learned from.
	Run     string `json:"run"`
	Results int    `json:"results"`
}

// maxSealedMemory bounds the file of a sealed memory, which is read as a whole.
const maxSealedMemory = 512 << 20

// newSeal returns the seal of a stream; nil if its record is not encrypted.
func (x *streamCommand) newSeal() (*seal, error) {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	if x.Record == "" || len(x.RecordRecipient) == 0 {
		return nil, nil
	}
	s := &seal{ids: ids}
	for _, text := range x.RecordRecipient {
		to, err := recording.ReadRecipients(text)
		if err != nil {
			return nil, fmt.Errorf("--record-recipient: %w", err)
		}
		s.to = append(s.to, to...)
	}
	return s, nil
}

// open opens the memory of a stream.
func (s *seal) open(sh *shell.Shell, file, data, name string) (*metagraph.Graph, error) {
	if file == "" {
		folder := cmp.Or(data, files.StateFolder(sh.Getenv))
		if folder == "" {
			return nil, errorhint.Add(errors.New("there is no folder for the memory"), "name a file with --memory")
		}
		file = filepath.Join(folder, "sealed-"+name)
	}
	var snapshot []byte
	var err error
	s.file = file
	switch s.saved, snapshot, err = readSealedMemory(file, s.ids); {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errPlainMemory):
		return nil, errorhint.Add(fmt.Errorf("memory %s: it is in plain, and the record is encrypted", file), "name a new file with --memory")
	case err != nil:
		return nil, err
	}
	s.graph, err = metagraph.OpenHeld(snapshot, metagraph.Options{})
	return s.graph, err
}

var errPlainMemory = errors.New("a memory in plain")

// readSealedMemory reads a sealed memory, as SQLite would write it to a file.
func readSealedMemory(file string, ids []age.Identity) (head memoryHead, snapshot []byte, err error) {
	data, err := files.Read("memory", file, maxSealedMemory)
	if err != nil {
		return head, nil, err
	}
	if !sealing.Is(data) {
		return head, nil, errPlainMemory
	}
	line, err := sealing.Parse(data)
	if err == nil {
		data, err = line.Open(ids)
	}
	if err != nil {
		return head, nil, sealing.Hint(fmt.Errorf("memory %s: %w", file, err))
	}
	first, snapshot, _ := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(first, &head); err != nil || head.V != 1 || head.Results < 0 {
		return head, nil, fmt.Errorf("memory %s: not a sealed memory of this version", file)
	}
	return head, snapshot, nil
}

// isSealed reports whether a file is a sealed memory.
func isSealed(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return sealing.NewReader(f, nil).Sealed()
}

// learned saves the memory after a result, unless it is large and was saved shortly before: so
// the bytes that a result costs are bounded.
func (s *seal) learned(run string, end bool) error {
	if !end {
		s.results++
	}
	if s.graph == nil || s.saved == (memoryHead{1, run, s.results}) || !end && s.results < s.saved.Results+s.every && s.saved.Run == run {
		return nil
	}
	snapshot, err := s.graph.Snapshot(context.Background())
	if err != nil {
		return err
	}
	const cheap = 256 << 10
	s.saved, s.every = memoryHead{1, run, s.results}, len(snapshot)/cheap
	head, err := json.Marshal(s.saved)
	if err != nil {
		return err
	}
	line, err := sealing.AppendLine(nil, nil, append(append(head, '\n'), snapshot...), s.to)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	if _, err := files.Replace(s.file, line); err != nil {
		return fmt.Errorf("write memory %s: %w", s.file, files.Cause(err))
	}
	return nil
}

// head seals the first line of an output.
func (s *seal) head(h *solvereport.Head, line []byte) ([]byte, error) {
	plain, err := json.Marshal(h.Figures())
	if err != nil {
		return nil, err
	}
	return sealing.AppendLine(nil, plain, line, s.to)
}

// result seals the line of a result.
func (s *seal) result(r solve.Result, line []byte) ([]byte, error) {
	plain, err := r.Figures().Line()
	if err != nil {
		return nil, err
	}
	return sealing.AppendLine(nil, plain, line, s.to)
}

// resumeSealed reads what an earlier run left of a sealed output. Without an identity it reads
// the figures, which are enough to go on if there is no memory.
func (f *output) resumeSealed(whole int64) error {
	s := f.seal
	from := io.NewSectionReader(f.file.File, 0, whole)
	lines := sealing.NewReader(from, s.ids)
	if len(s.ids) == 0 {
		lines = sealing.NewPlainReader(from)
	}
	if whole > 0 && !lines.Sealed() {
		return errorhint.Add(errors.New("it was begun in plain, and the record is encrypted"), "begin another --output")
	}
	head, results, err := solvereport.ReadResults(lines)
	if err != nil {
		return sealing.Hint(err)
	}
	f.whole = whole
	if head == nil {
		return files.Cause(f.cut())
	}
	if err := f.sameHead(head); err != nil {
		return err
	}
	if s.graph != nil {
		switch {
		case len(results) > 0 && len(s.ids) == 0:
			return sealing.Hint(fmt.Errorf("its memory must be read to go on: %w", sealing.ErrSealed))
		case s.saved.Run != head.Run:
			results = nil
		case s.saved.Results < len(results):
			results = results[:s.saved.Results] // the memory has not learned the others: they are done again
		}
		if f.whole, err = endOfLine(f.file.File, 1+len(results)); err != nil {
			return err
		}
	}
	f.old, f.done, s.results = true, results, len(results)
	f.head.Run = head.Run
	for i := range f.done {
		r := &f.done[i]
		if r.N < 1 || r.N > len(f.problems) {
			return fmt.Errorf("line %d: there is no problem %d", i+2, r.N)
		}
		r.Run, r.ID, r.Task, r.Mode, r.Model = head.Run, f.problems[r.N-1].ID, f.head.Task, f.head.Mode, f.head.Model
	}
	return files.Cause(f.cut())
}

// sameHead refuses to go on with other settings.
func (f *output) sameHead(head *solvereport.Head) error {
	if len(f.seal.ids) > 0 {
		return resumable(head, &f.head)
	}
	if head.Digest != f.head.Figures().Digest {
		return errorhint.Add(errors.New("it was begun with other settings"), "give the same flags and files, or another --output; with --identity FILE the settings are named")
	}
	return nil
}

// endOfLine returns where the n-th line of a file ends.
func endOfLine(file io.ReaderAt, n int) (end int64, err error) {
	lines := bufio.NewReader(io.NewSectionReader(file, 0, 1<<62))
	for n > 0 {
		part, err := lines.ReadSlice('\n')
		end += int64(len(part))
		switch {
		case err == nil:
			n--
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
	return end, nil
}
