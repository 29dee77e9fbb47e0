package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// Tasks are those of the agents that answer beside the console. Where replicas share them, it
// does not matter which one works on a task. A task is named by its caller and its id.
type Tasks interface {
	// Task returns a task. The error is [ErrNoTask] if there is none.
	Task(owner, id string) (*Task, error)
	// Answer answers its question about a call.
	Answer(ctx context.Context, owner, id string, a consent.Answer) error
	Cancel(ctx context.Context, owner, id string) error
	// Erase removes the conversation of a task, or all tasks of its caller.
	Erase(ctx context.Context, owner, id string, all bool) error
	// Extend raises its limits.
	Extend(owner, id string, by TaskLimits) error
}

// ErrNoTask is the error of a task that no agent here has.
var ErrNoTask = errors.New("no agent of this gateway has this task")

// TaskLimits are limits of a task, or what is added to them. Zero means that there is none.
type TaskLimits struct {
	Replies int           `json:"replies,omitempty"`
	Calls   int           `json:"calls,omitempty"`
	Tokens  int64         `json:"tokens,omitempty"`
	Time    time.Duration `json:"time,omitempty"`
	Cost    float64       `json:"cost,omitempty"`
}

// A Task is one as its card shows it.
type Task struct {
	ID    string `json:"id"`
	Owner string `json:"caller"`
	Agent string `json:"agent"`
	State string `json:"state"`
	Ended bool   `json:"ended,omitempty"`
	// Question is what it asks a person about a call; nil if it does not.
	Question *consent.Question `json:"question,omitempty"`
	// Limits are those in force, with what was added to them. Fixed says why they cannot be
	// raised; "" if they can.
	Limits   TaskLimits    `json:"limits,omitzero"`
	Added    TaskLimits    `json:"added,omitzero"`
	Fixed    string        `json:"fixed,omitempty"`
	Currency string        `json:"currency,omitempty"`
	Spent    *record.Spent `json:"spent,omitempty"`
}

// tasksScreen has the pages of tasks. The pages of their runs lead there.
func tasksScreen() Screen {
	return Screen{
		Path: "tasks", Under: "runs",
		Routes: map[string]Handler{"{id}": taskPage, "POST {id}/answer": answerTask, "POST {id}/cancel": cancelTask, "POST {id}/extend": extendTask, "POST {id}/erase": eraseTask},
		shown:  func(c *Config) bool { return c.Tasks != nil },
	}
}

// A TaskCard is what a page shows of a task, and what its reader may do.
type TaskCard struct {
	*Task
	// Path is the relative way to the page of the task, and to what can be done there.
	Path string
	// Run is the way to the page of its run; "" if it is that page.
	Run string
	// Operates, Consents and Own say what the reader may do: cancel and extend; agree to calls;
	// and answer for the caller.
	Operates, Consents, Own bool
	Now                     time.Time
	Rows                    []limitRow
	Tool, For, Arguments    string // of the question
	Through                 []string
	Fields                  []askField
}

// A limitRow is a limit as the card shows it.
type limitRow struct {
	Name, Limit, Added string
	Field              string // of the form; "" if the limit cannot be raised
}

// taskCard returns the card of a task. path is the relative way to its page.
func (c *Console) taskCard(r *http.Request, t *Task, path string) *TaskCard {
	v := viewerOf(r)
	card := &TaskCard{Task: t, Path: path, Operates: v.Operates, Consents: v.Consents, Own: v.Name == t.Owner, Now: c.config.Now()}
	add := func(field, name, limit, added string, limited bool) {
		row := limitRow{Name: name, Limit: limit, Added: added}
		if limited {
			row.Field = field
		} else {
			row.Limit = Word("task.unlimited")
		}
		card.Rows = append(card.Rows, row)
	}
	if t.Limits != (TaskLimits{}) {
		l, a := t.Limits, t.Added
		add("replies", Word("task.limit.replies"), number(l.Replies), plus(a.Replies > 0, number(a.Replies)), l.Replies > 0)
		add("calls", Word("task.limit.calls"), number(l.Calls), plus(a.Calls > 0, number(a.Calls)), l.Calls > 0)
		add("tokens", Word("task.limit.tokens"), number(l.Tokens), plus(a.Tokens > 0, number(a.Tokens)), l.Tokens > 0)
		add("time", Word("task.limit.time"), l.Time.String(), plus(a.Time > 0, a.Time.String()), l.Time > 0)
		add("cost", Word("task.limit.cost"), money(l.Cost, t.Currency), plus(a.Cost > 0, money(a.Cost, t.Currency)), l.Cost > 0)
	}
	if q := t.Question; q != nil {
		card.Tool, card.For, card.Arguments = visible.Line(q.Tool), visible.Line(q.For), shownArguments(q.Arguments)
		card.Fields = askFields(*q)
		if q.Through != "" {
			card.Through = strings.Split(visible.Line(q.Through), " > ")
		}
	}
	return card
}

func plus(some bool, text string) string {
	if !some {
		return ""
	}
	return "+" + text
}

func money(x float64, currency string) string {
	return strings.TrimSpace(strconv.FormatFloat(x, 'g', 6, 64) + " " + currency)
}

// Late reports whether the question of the task is no longer open.
func (t *TaskCard) Late() bool { return t.Question != nil && !t.Now.Before(t.Question.Until) }

// TaskOf returns the card of the task that a run is, for a page below the root of the console;
// nil if the run is not a task, or the console has no tasks.
func (c *Console) TaskOf(r *http.Request, run, caller string) (*TaskCard, error) {
	if c.config.Tasks == nil || run == "" || record.CheckRun(run) != nil {
		return nil, nil
	}
	t, err := c.config.Tasks.Task(caller, run)
	if errors.Is(err, ErrNoTask) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	root := "../"
	if alone(r) { // this page is for reading; the console that shows it has the task's page
		root += "../../"
	}
	return c.taskCard(r, t, root+"tasks/"+url.PathEscape(run)), nil
}

// HasTasks reports whether the console has the tasks of agents.
func (c *Console) HasTasks() bool { return c.config.Tasks != nil }

// taskNamed returns the task that a request names by its path and by the caller in its form or its
// query. Others than its caller see it if they operate the gateway.
func (c *Console) taskNamed(r *http.Request, owner string) (*Task, error) {
	if v := viewerOf(r); v.Name != owner && !v.Operates {
		return nil, errNoOperator
	}
	t, err := c.config.Tasks.Task(owner, r.PathValue("id"))
	if errors.Is(err, ErrNoTask) {
		return nil, fmt.Errorf("%w: %w", err, view.ErrNotFound)
	}
	return t, err
}

func taskPage(c *Console, r *http.Request) (Answer, error) {
	t, err := c.taskNamed(r, r.URL.Query().Get("caller"))
	if err != nil {
		return Answer{}, err
	}
	card := c.taskCard(r, t, url.PathEscape(t.ID))
	if c.has("runs") {
		card.Run = c.recordRoot(r, "../") + "runs/" + RunToken(t.ID)
	}
	return Answer{
		Template: "task", Title: Word("task") + " " + t.ID, Data: card, JSON: map[string]any{"v": 1, "task": t},
		Crumbs: []Crumb{{Word("task"), ""}, {Name: t.ID}},
	}, nil
}

// back leads to the page of a task, from what is done there.
func back(t *Task) Answer {
	return Answer{Redirect: "../" + url.PathEscape(t.ID) + "?" + url.Values{"caller": {t.Owner}}.Encode()}
}

// answerTask takes a person's answer to the question that the card showed.
func answerTask(c *Console, r *http.Request) (Answer, error) {
	t, err := c.taskNamed(r, formValue(r, "caller"))
	switch v := viewerOf(r); {
	case !v.Consents:
		return Answer{}, errNoConsent
	case err != nil:
		return Answer{}, err
	case v.Name != t.Owner:
		return Answer{}, BadRequest{fmt.Errorf("only %s can answer, for whom the agent works", shorttext.Quote(t.Owner))}
	}
	word := formValue(r, "answer")
	q := consent.Question{ID: formValue(r, "question"), Digest: formValue(r, "digest")} // that the card showed
	if t.Question != nil {
		q.Schema = t.Question.Schema
	}
	a, err := answerOf(q, consent.Principal{Name: t.Owner, Way: consent.Page, Scoped: true}, word, func(name string) []string { return r.PostForm["v."+name] })
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	if err := c.changes(r, word, t.ID+" "+a.Question); err != nil {
		return Answer{}, err
	}
	return back(t), c.config.Tasks.Answer(r.Context(), t.Owner, t.ID, a)
}

// operated is a task that somebody who operates the gateway changes.
func (c *Console) operated(r *http.Request) (*Task, error) {
	if !viewerOf(r).Operates {
		return nil, errNoOperator
	}
	return c.taskNamed(r, formValue(r, "caller"))
}

// cancelTask cancels a task, if the word was typed that says so.
func cancelTask(c *Console, r *http.Request) (Answer, error) {
	t, err := c.operated(r)
	if err != nil {
		return Answer{}, err
	}
	if word := Word("task.cancel.word"); formValue(r, "word") != word {
		return Answer{}, BadRequest{fmt.Errorf("to cancel the task, type %s", word)}
	}
	if err := c.changes(r, "cancel", t.ID); err != nil {
		return Answer{}, err
	}
	return back(t), c.config.Tasks.Cancel(r.Context(), t.Owner, t.ID)
}

// eraseTask removes the conversation of a task, or everything of its caller, if the word was typed
// that says so.
func eraseTask(c *Console, r *http.Request) (Answer, error) {
	t, err := c.operated(r)
	if err != nil {
		return Answer{}, err
	}
	what := formValue(r, "what")
	switch word := Word("task.erase.word"); {
	case what != "conversation" && what != "caller":
		return Answer{}, BadRequest{errors.New("what: want conversation or caller")}
	case formValue(r, "word") != word:
		return Answer{}, BadRequest{fmt.Errorf("to erase it, type %s", word)}
	}
	if err := c.changes(r, "erase", what+" "+t.ID); err != nil {
		return Answer{}, err
	}
	return Answer{Redirect: "../../" + c.screens()[0].Path}, c.config.Tasks.Erase(r.Context(), t.Owner, t.ID, what == "caller")
}

// extendTask raises the limits of a task.
func extendTask(c *Console, r *http.Request) (Answer, error) {
	t, err := c.operated(r)
	if err != nil {
		return Answer{}, err
	}
	by, said, err := addedLimits(r)
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	if err := c.changes(r, "extend", t.ID+said); err != nil {
		return Answer{}, err
	}
	return back(t), c.config.Tasks.Extend(t.Owner, t.ID, by)
}

// addedLimits reads the form. said is what it says, for the audit.
func addedLimits(r *http.Request) (by TaskLimits, said string, err error) {
	read := func(name, want string, parse func(string) error) {
		text := formValue(r, name)
		if text == "" || err != nil {
			return
		}
		if parse(text) != nil {
			err = fmt.Errorf("%s: want %s", name, want)
		}
		said += fmt.Sprintf(" %s=%s", name, text)
	}
	number := func(n *int64) func(string) error {
		return func(text string) (err error) { *n, err = strconv.ParseInt(text, 10, 32); return err }
	}
	var replies, calls int64
	read("replies", Word("task.want.replies"), number(&replies))
	read("calls", Word("task.want.calls"), number(&calls))
	read("tokens", Word("task.want.tokens"), func(text string) (err error) { by.Tokens, err = strconv.ParseInt(text, 10, 64); return err })
	read("time", Word("task.want.time"), func(text string) (err error) { by.Time, err = time.ParseDuration(text); return err })
	read("cost", Word("task.want.cost"), func(text string) (err error) { by.Cost, err = strconv.ParseFloat(text, 64); return err })
	by.Replies, by.Calls = int(replies), int(calls)
	return by, said, err
}
