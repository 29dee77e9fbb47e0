package chatcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// openConversation opens the conversation of a name, which no other process can have
// open meanwhile.
func openConversation(dir, name string, secrets *record.Secrets) (*conversation.File, error) {
	if len(name) > 48 || strings.Contains(name, "+") || record.CheckRun(name) != nil || name == "" {
		return nil, errorhint.Usage(fmt.Errorf("--name %q: want 1 to 48 letters, digits, or . _ - : @", name), "")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of conversations: %w", files.Cause(err))
	}
	// A colon is not allowed in names of files everywhere.
	f, err := conversation.Open(filepath.Join(dir, strings.ReplaceAll(name, ":", "%3A")+".jsonl"), secrets)
	if errors.Is(err, conversation.ErrBusy) {
		return nil, errorhint.Add(fmt.Errorf("conversation %s is open in another sotto chat", name), "end that one, or choose another --name")
	}
	if err != nil {
		return nil, fmt.Errorf("conversation %s: %w", name, err)
	}
	return f, nil
}

// ask keeps a message of the user, before it is answered.
func (x *chat) ask(text string) error {
	c := conversation.Change{Add: []conversation.Message{{Role: model.User, Text: text}}}
	if x.kept.Head == nil {
		c.Head = &conversation.Head{Version: conversation.Version, Agent: x.agent.Name, Name: x.Name, Run: x.Name, Began: time.Now().UTC()}
	}
	return x.kept.Append(c)
}

// answered keeps a reply, and what the agent changed in its memory.
func (x *chat) answered(said string, stopped bool) error {
	return x.kept.Append(conversation.Change{
		Turn: x.kept.Turn + 1, Add: []conversation.Message{{Role: model.Assistant, Text: said, Stopped: stopped}},
		Memory: conversation.Changed(x.kept.Memory, x.memory.Values()),
	})
}

// again removes the last reply; it reports whether there is a message to answer.
func (x *chat) again() (bool, error) {
	if len(x.kept.Messages) == 0 {
		return false, nil
	}
	return true, x.kept.Append(conversation.Change{Retry: true})
}

// transcript is the conversation for people.
func transcript(messages []conversation.Message) string {
	var b strings.Builder
	for _, m := range messages {
		who := "You"
		if m.Role == model.Assistant {
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
