package chatcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A message is one line of the file of a conversation. A line of the role "retry"
// removes the reply before it.
type message struct {
	Role    string `json:"role"`
	Text    string `json:"text,omitempty"` // visible text only
	Stopped bool   `json:"stopped,omitempty"`
}

// A conversation is kept in a file, to which each message is appended.
type conversation struct {
	file     *os.File
	messages []message
	replies  int // also those that were asked for again
}

// maxConversation bounds the file of a conversation.
const maxConversation = 64 << 20

func openConversation(dir, name string) (*conversation, error) {
	if len(name) > 48 || strings.Contains(name, "+") || record.CheckRun(name) != nil || name == "" {
		return nil, hint.Usage(fmt.Errorf("--name %q: want 1 to 48 letters, digits, or . _ - : @", name), "")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of conversations: %w", err)
	}
	// A colon is not allowed in names of files everywhere.
	file, err := shell.OpenAppend(filepath.Join(dir, strings.ReplaceAll(name, ":", "%3A")+".jsonl"))
	if err != nil {
		return nil, fmt.Errorf("conversation %s: %w", name, files.Cause(err))
	}
	c := &conversation{file: file}
	if err := c.load(); err != nil {
		file.Close()
		return nil, fmt.Errorf("conversation %s: %w", name, err)
	}
	return c, nil
}

// load reads the file. A last line that a crash cut off is removed.
func (c *conversation) load() error {
	data, err := files.ReadAll(c.file, maxConversation)
	if err != nil {
		return err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end < len(data) {
		if err := c.file.Truncate(int64(end)); err != nil {
			return err
		}
	}
	number := 0
	for line := range bytes.Lines(data[:end]) {
		number++
		root, err := foreignjson.Parse(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		c.take(message{Role: root.Get("role").Str, Text: root.Get("text").Str, Stopped: root.Get("stopped").Bool()})
	}
	return nil
}

func (c *conversation) take(m message) {
	switch m.Role {
	case "retry":
		if n := len(c.messages); n > 0 && c.messages[n-1].Role == "assistant" {
			c.messages = c.messages[:n-1]
		}
		return
	case "assistant":
		c.replies++
	}
	c.messages = append(c.messages, m)
}

// add appends a message. It is on disk when add returns.
func (c *conversation) add(m message) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return err
	}
	if _, err := c.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("the conversation cannot be kept: %w", files.Cause(err))
	}
	if err := c.file.Sync(); err != nil {
		return fmt.Errorf("the conversation cannot be kept: %w", files.Cause(err))
	}
	c.take(m)
	return nil
}

// retry removes the last reply; again is false if there is no message to answer.
func (c *conversation) retry() (again bool, err error) {
	if len(c.messages) == 0 {
		return false, nil
	}
	return true, c.add(message{Role: "retry"})
}

// conversation returns the messages for the agent. Messages that got no answer are
// one message with the next.
func (c *conversation) conversation() []model.Message {
	var list []model.Message
	for _, m := range c.messages {
		role := model.User
		if m.Role == "assistant" {
			role = model.Assistant
		}
		if strings.TrimSpace(m.Text) == "" {
			continue
		}
		if n := len(list) - 1; n >= 0 && list[n].Role == role {
			list[n].Text += "\n\n" + m.Text
			continue
		}
		list = append(list, model.Message{Role: role, Text: m.Text})
	}
	return list
}

// text is the conversation for people.
func (c *conversation) text() string {
	var b strings.Builder
	for _, m := range c.messages {
		who := "You"
		if m.Role == "assistant" {
			who = "Agent"
		}
		stopped := ""
		if m.Stopped {
			stopped = " (stopped)"
		}
		fmt.Fprintf(&b, "**%s**%s\n\n%s\n\n", who, stopped, m.Text)
	}
	return b.String()
}

func (c *conversation) close() error { return c.file.Close() }
