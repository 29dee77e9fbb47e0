package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/talk"
	"github.com/sotto-llm/sotto/model"
)

// Chat is what the chat talks with, and where its conversations are.
type Chat struct {
	// Gateway is the gateway's own handler: what its models are asked passes through it
	// as a client's requests do.
	Gateway http.Handler
	Kept    *conversation.Store
	// Record is the identity of the record in which the gateway's exchanges are; "" if it
	// records nothing. It is kept with each reply: the gateways that share conversations
	// have a record each.
	Record string
}

func chatScreen() Screen {
	return Screen{
		Path: "chat", Key: "c", Icon: "M3 4h14v9H9l-4 3.500V13H3z",
		Routes: map[string]Handler{
			"": chatHome, "{id}": chatPage, "{id}/export": chatExport, "{id}/thought": chatThought, "{id}/steps": chatSteps, "{id}/text": chatText,
			"POST {id}/title": chatTitle, "POST {id}/delete": chatDelete,
		},
		streams: map[string]func(*Console, http.ResponseWriter, *http.Request){"send": (*Console).chatSend, "stop": (*Console).chatStop, "consent": (*Console).chatConsent},
		shown:   func(c *Config) bool { return c.Chat != nil },
	}
}

const (
	// talkAgent is what the files of conversations call the console.
	talkAgent = "console"
	// talkRows and talkMessages bound what a page lists and shows, and talkShown the
	// bytes of texts that it shows. Of the rest, talkCut bytes of each text are shown.
	talkRows     = 30
	talkMessages = 40
	talkShown    = 512 << 10
	talkCut      = 2 << 10
	// talkSearch bounds the bytes that are read for a page of the list.
	talkSearch = 64 << 20
	// maxQuery bounds a search, and maxTitle a title, in bytes.
	maxQuery = 256
	maxTitle = 120
	// modelsWait is how long a page waits for the list of models.
	modelsWait = 3 * time.Second
	// newTalk is the place of a conversation that has not begun.
	newTalk = "new"
)

// errNoTalk is the error of a caller who may read but not write.
var errNoTalk = errors.New("this token does not have the scope models")

// keeper is whose conversations a viewer sees: each token has its own. The name cannot
// be that of a client of the gateway.
func keeper(v viewer) string { return "console/" + v.Name }

// callerOf is the name by which the gateway knows a viewer.
func callerOf(v viewer) string {
	if v.Name == "" {
		return talk.Caller
	}
	return talk.Caller + "." + v.Name
}

// A talkRow is a conversation in the list.
type talkRow struct {
	conversation.Summary
	Found   string `json:"found,omitempty"`   // where a search found its words
	Message int    `json:"message,omitempty"` // … and in which message
}

// talkList is a page of conversations.
type talkList struct {
	V        int       `json:"v"`
	Rows     []talkRow `json:"conversations"`
	Query    string    `json:"-"`
	Older    string    `json:"-"` // the query of the next page
	Next     int       `json:"older,omitempty"`
	Searched int64     `json:"searched_bytes,omitempty"`
	All      int       `json:"all"`
}

// chatHome leads to a new conversation. As JSON it is the list of conversations.
func chatHome(c *Console, r *http.Request) (Answer, error) {
	if !WantsJSON(r) {
		to := "chat/" + newTalk
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.Query().Encode()
		}
		return Answer{Redirect: to}, nil
	}
	l, err := c.talkList(r)
	return Answer{JSON: l}, err
}

// talkList reads a page of the list. A search reads the conversations themselves, the
// one that changed last first.
func (c *Console) talkList(r *http.Request) (*talkList, error) {
	q := r.URL.Query()
	l := &talkList{V: 1, Query: shorttext.Cut(strings.TrimSpace(q.Get("q")), maxQuery), Rows: []talkRow{}}
	from, _ := strconv.Atoi(q.Get("from"))
	keys, err := c.config.Chat.Kept.Keys(keeper(viewerOf(r)))
	if err != nil {
		return nil, err
	}
	l.All = len(keys)
	var read int64
	i := max(0, from)
	for ; i < len(keys) && len(l.Rows) < talkRows && read < talkSearch && r.Context().Err() == nil; i++ {
		read += keys[i].Bytes
		f, err := c.config.Chat.Kept.Get(keeper(viewerOf(r)), keys[i].Key)
		if err != nil {
			continue // it was removed, or cannot be read
		}
		row := talkRow{Summary: keys[i]}
		row.Title = f.Title()
		if l.Query != "" && !row.find(f, l.Query) {
			continue
		}
		l.Rows = append(l.Rows, row)
	}
	if l.Query != "" {
		l.Searched = read
	}
	if i < len(keys) {
		l.Next = i
		next := url.Values{"from": {strconv.Itoa(i)}}
		if l.Query != "" {
			next["q"] = []string{l.Query}
		}
		l.Older = next.Encode()
	}
	return l, nil
}

// find finds the words of a search in a conversation.
func (row *talkRow) find(f *conversation.File, words string) bool {
	lower := strings.ToLower(words)
	for i, m := range slices.Backward(f.Messages) {
		for _, text := range append([]string{m.Text}, attachedTexts(m)...) {
			if at := strings.Index(strings.ToLower(text), lower); at >= 0 {
				row.Message, row.Found = i+1, nearby(text, min(at, len(text)), len(words))
				return true
			}
		}
	}
	return strings.Contains(strings.ToLower(row.Title), lower)
}

func attachedTexts(m conversation.Message) (list []string) {
	for _, f := range m.Files {
		list = append(list, f.Name, f.Text)
	}
	return list
}

// nearby returns some words around a place in a text.
func nearby(text string, at, length int) string {
	from := max(0, at-30)
	for from > 0 && text[from]&0xC0 == 0x80 {
		from--
	}
	return shorttext.OneLine(shorttext.Cut(text[from:], 30+length+60))
}

// A talkMessage is a message on the page.
type talkMessage struct {
	N      int                       `json:"n"`
	Parent int                       `json:"parent"`
	Role   model.Role                `json:"role"`
	At     time.Time                 `json:"at"`
	Text   string                    `json:"text"`
	Cut    bool                      `json:"cut,omitempty"`
	Files  []conversation.Attachment `json:"files,omitempty"`
	// Stopped says that the user stopped the reply.
	Stopped bool                `json:"stopped,omitempty"`
	Reply   *conversation.Reply `json:"reply,omitempty"`
	// Ask is the question that the reply asks a person.
	Ask *askCard `json:"ask,omitempty"`
	// Beside are the messages that stand in its place on other branches, with it.
	Beside []int `json:"beside,omitempty"`

	Last bool `json:"-"` // no message follows it
	// Apart says that the exchange is in the record of another gateway.
	Apart bool `json:"apart,omitempty"`
	// Where is the way from the page to the pages of the record that has it.
	Where string `json:"-"`
}

// Place says which of the branches this is, beginning with 1.
func (m talkMessage) Place() int { return slices.Index(m.Beside, m.N) + 1 }

// Step returns the message that is so many places after this one among those of other
// branches; 0 if there is none.
func (m talkMessage) Step(by int) int {
	if i := slices.Index(m.Beside, m.N) + by; i >= 0 && i < len(m.Beside) {
		return m.Beside[i]
	}
	return 0
}

// leastRated is how long a reply must take, in milliseconds, for a rate to say anything.
const leastRated = 200

// Rate returns the tokens a second of a reply, or 0 if that is not known.
func (m talkMessage) Rate() float64 { return rate(m.Reply) }

func rate(r *conversation.Reply) float64 {
	if r == nil || r.Output == 0 {
		return 0
	}
	begun := r.FirstAnswer
	if r.FirstThought >= 0 && (begun < 0 || r.FirstThought < begun) {
		begun = r.FirstThought
	}
	if took := r.Millis - max(0, begun); took >= leastRated {
		return float64(r.Output) * 1000 / float64(took)
	}
	return 0
}

// A thread is a part of a conversation along one of its branches.
type thread struct {
	V        int           `json:"v"`
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Messages []talkMessage `json:"messages"`
	// Leaf is the last message of the branch, and Earlier and Later are messages on the
	// parts before and after this one.
	Leaf    int `json:"leaf"`
	Earlier int `json:"earlier,omitempty"`
	Later   int `json:"later,omitempty"`
	All     int `json:"all"` // messages of all branches
	// UnderWay says that a reply to the last message is being written.
	UnderWay bool `json:"under_way,omitempty"`
}

// threadOf returns the part of a conversation with a message; 0 stands for the end of
// the branch that changed last.
func threadOf(id string, f *conversation.File, at int) *thread {
	t := &thread{V: 1, ID: id, Title: f.Title(), Messages: []talkMessage{}, All: len(f.Messages)}
	if at <= 0 || at > len(f.Messages) {
		at = len(f.Messages)
	}
	branch := conversation.Branch(f.Messages, conversation.Newest(f.Messages, at))
	if len(branch) == 0 {
		return t
	}
	t.Leaf = branch[len(branch)-1]
	from := max(0, len(branch)-talkMessages)
	to := len(branch)
	if i := slices.Index(branch, at); i < from { // more messages follow it than a page has
		from = i / talkMessages * talkMessages
		to = from + talkMessages
		t.Later = branch[to]
	}
	if from > 0 {
		t.Earlier = branch[from-1]
	}
	shown := branch[from:to]
	beside := conversation.Beside(f.Messages, shown)
	left := talkShown
	for _, n := range slices.Backward(shown) {
		m := f.Messages[n-1]
		out := talkMessage{
			N: n, Role: m.Role, At: m.At, Text: m.Text, Stopped: m.Stopped, Reply: m.Reply, Files: slices.Clone(m.Files), Last: n == t.Leaf,
		}
		if i := slices.Index(branch, n); i > 0 {
			out.Parent = branch[i-1]
		}
		if len(beside[n]) > 1 {
			out.Beside = beside[n]
		}
		left = out.bound(left)
		t.Messages = append(t.Messages, out)
	}
	slices.Reverse(t.Messages)
	return t
}

// bound cuts the texts of a message, and returns how many bytes are left for others.
func (m *talkMessage) bound(left int) int {
	cut := func(text string) string {
		if len(text) > max(left, talkCut) {
			m.Cut = true
			text = shorttext.Cut(text, max(left, talkCut))
		}
		left -= len(text)
		return text
	}
	m.Text = cut(m.Text)
	for i := range m.Files {
		m.Files[i].Text = cut(m.Files[i].Text)
	}
	return left
}

// chatData is what the page shows.
type chatData struct {
	*thread
	List     *talkList
	Agents   []string
	Models   []string
	Fault    string // why there is no list of models
	Model    string // that is chosen
	Talks    bool
	Recorded bool
	Steps    bool // the page shows what agents did
	Now      time.Time
}

// chatPage shows a conversation, or the place to begin one.
func chatPage(c *Console, r *http.Request) (Answer, error) {
	id, v := r.PathValue("id"), viewerOf(r)
	d := chatData{thread: &thread{V: 1, ID: id, Title: Word("chat.new")}, Talks: v.Talks, Recorded: c.config.Record != nil, Steps: c.hasSteps(), Now: c.config.Now()}
	if id != newTalk {
		f, err := c.config.Chat.Kept.Get(keeper(v), id)
		if err != nil {
			return Answer{}, err
		}
		at, _ := strconv.Atoi(r.URL.Query().Get("at"))
		d.thread = threadOf(id, f, at)
		d.UnderWay = c.talks.writing.has(question{keeper(v), id, d.Leaf})
		for i := range d.Messages {
			m := &d.Messages[i]
			m.Ask = c.askCard(v, id, f.Messages, m.N)
			m.Where, m.Apart = c.whereIs(r, m.Reply)
		}
		if WantsJSON(r) {
			return Answer{JSON: d.thread}, nil
		}
	}
	var err error
	if d.List, err = c.talkList(r); err != nil {
		return Answer{}, err
	}
	if WantsJSON(r) {
		return Answer{JSON: d.List}, nil
	}
	if d.Talks {
		c.talkModels(r, &d)
	}
	for _, m := range slices.Backward(d.Messages) {
		if m.Reply != nil && m.Reply.Model != "" {
			d.Model = m.Reply.Model
			break
		}
	}
	return Answer{
		Template: "chat", Script: "chat.js", Title: d.Title, Data: d,
		Crumbs: []Crumb{{Word("screen.chat"), newTalk}, {Name: d.Title}},
	}, nil
}

// talkModels lists the models that can be chosen, agents apart.
func (c *Console) talkModels(r *http.Request, d *chatData) {
	ctx, stop := context.WithTimeout(r.Context(), modelsWait)
	defer stop()
	names, err := c.talks.client.Models(ctx, callerOf(viewerOf(r)))
	if err != nil {
		d.Fault = shorttext.Escape(err.Error(), MaxFault)
	}
	for _, name := range names {
		if strings.HasPrefix(name, agentPrefix) {
			d.Agents = append(d.Agents, name)
		} else {
			d.Models = append(d.Models, name)
		}
	}
}

// chatTitle names a conversation.
func chatTitle(c *Console, r *http.Request) (Answer, error) {
	title := shorttext.OneLine(shorttext.Cut(formValue(r, "title"), maxTitle))
	if title == "" {
		return Answer{}, BadRequest{errors.New("title: want a name for the conversation")}
	}
	id := r.PathValue("id")
	err := c.talks.change(r.Context(), keeper(viewerOf(r)), id, func(*conversation.File) (conversation.Change, error) {
		return conversation.Change{Title: title}, nil
	})
	return Answer{Redirect: "../" + id}, err
}

// chatDelete removes a conversation, if the word was typed that says so.
func chatDelete(c *Console, r *http.Request) (Answer, error) {
	if formValue(r, "word") != Word("chat.delete.word") {
		return Answer{}, BadRequest{fmt.Errorf("to delete the conversation, type %s", Word("chat.delete.word"))}
	}
	owner, id := keeper(viewerOf(r)), r.PathValue("id")
	if err := c.forget(owner, id); err != nil {
		return Answer{}, err
	}
	return Answer{Redirect: "../" + newTalk}, c.config.Chat.Kept.Remove(owner, id)
}

// formValue reads a value of a small form.
func formValue(r *http.Request, name string) string {
	r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	if r.ParseForm() != nil {
		return ""
	}
	return strings.TrimSpace(r.PostForm.Get(name))
}

// chatExport writes a conversation to a file: a branch as Markdown, or all of it as
// JSON.
func chatExport(c *Console, r *http.Request) (Answer, error) {
	id := r.PathValue("id")
	f, err := c.config.Chat.Kept.Get(keeper(viewerOf(r)), id)
	if err != nil {
		return Answer{}, err
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("at"))
	as := cmp.Or(r.URL.Query().Get("as"), "markdown")
	file := func(kind, ending string, data []byte) Answer {
		return Answer{Raw: data, Header: map[string]string{
			"Content-Type": kind + "; charset=utf-8", "Content-Disposition": `attachment; filename="chat-` + id[:8] + `.` + ending + `"`,
		}}
	}
	switch as {
	case "markdown":
		return file("text/markdown", "md", []byte(transcript(f, at))), nil
	case "json":
		data, err := encodeJSON(map[string]any{"v": 1, "id": id, "title": f.Title(), "began": f.Head.Began, "messages": f.Messages})
		return file("application/json", "json", data), err
	}
	return Answer{}, BadRequest{fmt.Errorf("as: %s: want markdown or json", shorttext.Quote(as))}
}

// transcript is a branch of a conversation for people.
func transcript(f *conversation.File, at int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", f.Title())
	for _, n := range conversation.Branch(f.Messages, conversation.Newest(f.Messages, at)) {
		m := f.Messages[n-1]
		who := Word("chat.you")
		if m.Role == model.Assistant {
			who = Word("chat.assistant")
			if m.Reply != nil && m.Reply.Model != "" {
				who = m.Reply.Model
			}
		}
		if m.Stopped {
			who += " (" + Word("chat.stopped") + ")"
		}
		fmt.Fprintf(&b, "**%s**\n\n%s\n\n", who, m.Text)
		for _, file := range m.Files {
			b.WriteString(attached(file) + "\n\n")
		}
	}
	return b.String()
}

// attached writes a file as a part of a message.
func attached(f conversation.Attachment) string {
	fence := "```"
	for strings.Contains(f.Text, fence) {
		fence += "`"
	}
	return f.Name + "\n" + fence + "\n" + strings.TrimRight(f.Text, "\n") + "\n" + fence
}
