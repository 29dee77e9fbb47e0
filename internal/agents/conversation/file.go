// Package conversation keeps conversations with agents, in a folder or in a store that
// replicas share. Each one is a list of lines, one for each change, which counts as soon
// as it is kept. A line is kept whole or not at all: in a file, a last line without its
// end, which a crash leaves, is not part of the conversation. So after a crash a
// conversation is as it was before a change or after it.
//
// What is kept is visible text, and thoughts only where the agent's policy asks for
// them. Values that are secret are replaced before they are written.
package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// ErrBusy is the error of a conversation that somebody else has open.
var ErrBusy = errors.New("the conversation is in use")

// A Message is one message of a conversation.
type Message struct {
	Role model.Role `json:"role"` // of a user or of the assistant
	Text string     `json:"text,omitempty"`
	// Stopped says that the user stopped the reply.
	Stopped bool `json:"stopped,omitempty"`
	// Parent is the number of the message that this one follows, in a conversation
	// with branches; 0 if it is the first.
	Parent int          `json:"parent,omitempty"`
	At     time.Time    `json:"at,omitzero"`
	Files  []Attachment `json:"files,omitempty"` // of the user
	Reply  *Reply       `json:"reply,omitempty"` // of the assistant
}

// Version is that of the conversations that this package writes.
const Version = 1

// A Head says what a conversation is. It is in its first line.
type Head struct {
	Version int    `json:"v"`
	Agent   string `json:"agent"`
	// Name is what the client or the user calls the conversation; "" if it has no
	// name.
	Name string `json:"name,omitempty"`
	// Run is the name of its run in a record.
	Run   string    `json:"run"`
	Began time.Time `json:"began"`
}

// A Change is one line of a file.
type Change struct {
	Head *Head `json:"head,omitempty"`
	// Title names the conversation.
	Title string `json:"title,omitempty"`
	// Turn is the number of the turn that ends with this change; 0 if none does.
	Turn int `json:"turn,omitempty"`
	// Retry removes the last message if it is a reply. Add follows it.
	Retry bool      `json:"retry,omitempty"`
	Add   []Message `json:"add,omitempty"`
	// Memory are the changed values of the agent's memory; nil removes one.
	Memory map[string]*string `json:"memory,omitempty"`
	// Entries are texts of a program that keeps something else than messages. It alone
	// knows what they mean, and nothing is replaced in them.
	Entries []string `json:"entries,omitempty"`
	// Record is the identity of a record in which the conversation's run begins with
	// this turn. Each process that answers a turn may have a record of its own.
	Record string `json:"record,omitempty"`
}

// A File is a conversation that this process has locked, or has only read.
type File struct {
	Head     *Head  // nil if there is no conversation yet
	Named    string // the title that the user gave it
	Messages []Message
	Memory   map[string]string
	Entries  []string
	Turn     int // number of the last turn

	key     string   // its name in a store
	records []string // those in which its run begins
	lines   lines    // nil if it is only read
	size    int64
	secrets *record.Secrets
}

// lines are where a conversation is kept that this process has locked.
type lines interface {
	// add adds a line after those of size bytes. It is kept whole or not at all.
	add(line []byte, size int64) error
	// close ends the lock. Where nothing is kept, nothing stays.
	close(empty bool) error
}

// maxFile bounds what is read of a file.
const maxFile = 256 << 20

// Open opens and locks the conversation in a file. If there is no file it makes one,
// which Close removes if nothing was added.
func Open(path string, secrets *record.Secrets) (*File, error) {
	f, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	c := &File{key: strings.TrimSuffix(filepath.Base(path), ".jsonl"), lines: disk{f}, secrets: secrets}
	data, err := files.ReadAll(f, maxFile)
	if end := bytes.LastIndexByte(data, '\n') + 1; err == nil && end < len(data) {
		data, err = data[:end], files.Cause(f.Truncate(int64(end))) // a crash left an incomplete line
	}
	if err == nil {
		err = c.parse(data, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

// openLocked opens a file and locks it. The file may be removed between the two,
// since it is old. Then there is another one under its name, or none.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, files.Cause(err)
		}
		if err := lock(f); err != nil {
			f.Close()
			return nil, err
		}
		if stillAt(f, path) {
			return f, nil
		}
		f.Close()
	}
}

// lock locks a file where the system can do that.
func lock(f *os.File) error {
	err := filelock.Try(f)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return ErrBusy
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	}
	return files.Cause(err)
}

// remove removes a conversation, unless it is in use.
func remove(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return lock(f) == nil && stillAt(f, path) && os.Remove(path) == nil
}

func stillAt(f *os.File, path string) bool {
	was, err := f.Stat()
	is, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(was, is)
}

// parse takes whole lines up to the last one of a turn, where 0 stands for all.
func (c *File) parse(data []byte, until int) error {
	c.Head, c.Named, c.Messages, c.Memory, c.Entries, c.Turn, c.records, c.size = nil, "", nil, map[string]string{}, nil, 0, nil, int64(len(data))
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if err := foreignjson.Check(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		var x Change
		if err := json.Unmarshal(line, &x); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if c.Head == nil && x.Head == nil {
			return fmt.Errorf("line %d: not the beginning of a conversation", number)
		}
		if x.Head != nil {
			if err := datafolder.CheckVersion("the conversation", x.Head.Version, Version); err != nil {
				return err
			}
		}
		if until > 0 && c.Turn >= until && x.Turn != until { // a turn may have several lines
			return nil
		}
		c.apply(x)
	}
	return nil
}

// Check reads the lines of a conversation, and returns its version: 0 if there is no
// conversation in them. The error is the first fault.
func Check(lines []byte) (version int, err error) {
	var c File
	if err := c.parse(lines, 0); err != nil {
		return 0, err
	}
	if c.Head == nil {
		return 0, nil
	}
	return c.Head.Version, nil
}

func (c *File) apply(x Change) {
	if x.Head != nil {
		c.Head = x.Head
	}
	if x.Title != "" {
		c.Named = x.Title
	}
	if n := len(c.Messages); x.Retry && n > 0 && c.Messages[n-1].Role == model.Assistant {
		c.Messages = c.Messages[:n-1]
	}
	c.Messages = append(c.Messages, x.Add...)
	for key, v := range x.Memory {
		if v == nil {
			delete(c.Memory, key)
		} else {
			c.Memory[key] = *v
		}
	}
	c.Entries = append(c.Entries, x.Entries...)
	c.Turn = max(c.Turn, x.Turn)
	if x.Record != "" {
		c.records = append(c.records, x.Record)
	}
}

// Append adds a change. It is kept, whole, when Append returns nil. The first change
// has the head.
func (c *File) Append(x Change) error {
	line, err := c.line(&x)
	if err != nil {
		return err
	}
	Point("before write")
	if err := c.lines.add(line, c.size); err != nil {
		return fmt.Errorf("the conversation cannot be kept: %w", err)
	}
	Point("after sync")
	c.size += int64(len(line))
	c.apply(x)
	return nil
}

// line writes a change without secrets.
func (c *File) line(x *Change) ([]byte, error) {
	add := make([]Message, len(x.Add))
	for i, m := range x.Add {
		add[i] = c.redacted(m)
	}
	x.Add, x.Title = add, c.secrets.Redact(x.Title)
	for key, v := range x.Memory {
		if v != nil {
			clean := c.secrets.Redact(*v)
			x.Memory[key] = &clean
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(x)
	return b.Bytes(), err
}

// redacted returns a message without secrets.
func (c *File) redacted(m Message) Message {
	m.Text = c.secrets.Redact(m.Text)
	m.Files = slices.Clone(m.Files)
	for i, f := range m.Files {
		m.Files[i] = Attachment{c.secrets.Redact(f.Name), c.secrets.Redact(f.Text)}
	}
	if m.Reply != nil {
		r := *m.Reply
		r.Narration, r.Error, r.Calls = c.secrets.Redact(r.Narration), c.secrets.Redact(r.Error), slices.Clone(r.Calls)
		for i, call := range r.Calls {
			r.Calls[i] = Call{c.secrets.Redact(call.Name), c.secrets.Redact(call.Arguments)}
		}
		if r.Asks != nil {
			asks := *r.Asks
			asks.Arguments = c.secrets.Redact(asks.Arguments)
			r.Asks = &asks
		}
		m.Reply = &r
	}
	return m
}

// Close ends the lock.
func (c *File) Close() error { return c.lines.close(c.Head == nil && c.size == 0) }

// disk keeps a conversation in a file.
type disk struct{ file *os.File }

func (d disk) add(line []byte, size int64) error {
	err := d.write(line, size)
	if err != nil {
		_ = d.file.Truncate(size) // if this fails, the incomplete line is cut off when the file is opened
	}
	return files.Cause(err)
}

func (d disk) write(line []byte, size int64) error {
	if AtPoint != nil { // a test cuts the line in two, so that it can kill between them
		if _, err := d.file.Write(line[:len(line)/2]); err != nil {
			return err
		}
		line = line[len(line)/2:]
		Point("in write")
	}
	if _, err := d.file.Write(line); err != nil {
		return err
	}
	Point("after write")
	if err := d.file.Sync(); err != nil || size > 0 {
		return err
	}
	folder := filepath.Dir(d.file.Name()) // it has a new entry, and may be one
	return errors.Join(syncFolder(folder), syncFolder(filepath.Dir(folder)))
}

func (d disk) close(empty bool) error {
	if empty {
		_ = os.Remove(d.file.Name()) // an empty file is no conversation either
	}
	return d.file.Close()
}

// syncFolder makes sure that the names of files in a folder are on disk. Not every
// system can do that, or has to.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, os.ErrPermission) {
		return errors.Join(err, d.Close())
	}
	return d.Close()
}

// Prompt returns messages for an agent. Messages of one role in a row, of which the
// first got no answer, are one message.
func Prompt(messages []Message) []model.Message {
	var list []model.Message
	for _, m := range messages {
		if strings.TrimSpace(m.Text) == "" {
			continue
		}
		if n := len(list) - 1; n >= 0 && list[n].Role == m.Role {
			list[n].Text += "\n\n" + m.Text
			continue
		}
		list = append(list, model.Message{Role: m.Role, Text: m.Text})
	}
	return list
}
