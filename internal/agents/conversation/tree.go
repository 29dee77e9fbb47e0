package conversation

import (
	"encoding/json"
	"slices"
	"time"
)

// A conversation can have branches: a message that was edited, or asked again, stands
// beside the first one. Then each message names the one that it follows. Messages are
// numbered from 1 in the order in which they were added, and a number never changes.

// An Attachment is a text file that the user gave with a message.
type Attachment struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Call is a call of a tool, as a reply shows it.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// A Reply is what is kept of a reply in addition to its text. It holds no thought.
type Reply struct {
	Model string `json:"model,omitempty"`
	// Response is the id that the server gave the reply, by which a record has it.
	Response string `json:"response,omitempty"`
	// Record is the identity of that record. Each gateway that shares conversations with
	// others has its own.
	Record string `json:"record,omitempty"`
	// Thought is how many bytes of thought came before and beside the text, and
	// ThoughtMillis how long they took.
	Thought       int   `json:"thought,omitempty"`
	ThoughtMillis int64 `json:"thought_millis,omitempty"`
	// FirstThought and FirstAnswer are the times to the first byte of each, and Millis
	// the time of the whole reply. They are in milliseconds, and -1 if there is none.
	FirstThought int64 `json:"first_thought"`
	FirstAnswer  int64 `json:"first_answer"`
	Millis       int64 `json:"millis"`
	// Input and Output are the tokens that the server counted.
	Input  int `json:"input,omitempty"`
	Output int `json:"output,omitempty"`

	Narration string `json:"narration,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	Finish    string `json:"finish,omitempty"`
	Error     string `json:"error,omitempty"`

	// Asks is the question with which an agent's turn waits for a person's consent. Answers
	// is the answer with which such a turn went on, to the question of the message before.
	Asks    *Asks    `json:"asks,omitempty"`
	Answers *Answers `json:"answers,omitempty"`
}

// Asks is a question about a call, and the id under which the turn is kept that waits. The
// fields of the question are those of a consent.Question.
type Asks struct {
	Question
	Turn string `json:"turn"`
}

// A Question is a question about a call.
type Question struct {
	ID        string    `json:"id"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	Digest    string    `json:"digest"`
	For       string    `json:"for,omitempty"`
	Through   string    `json:"through,omitempty"`
	Until     time.Time `json:"until"`

	Schema json.RawMessage `json:"schema,omitempty"`
}

// Answers is who answered a question.
type Answers struct {
	By    string    `json:"by"`
	Agree bool      `json:"agree"`
	At    time.Time `json:"at"`
}

// parentOf returns the number of the message that a message follows; 0 if it begins
// the conversation. A file that says otherwise cannot make a circle.
func parentOf(all []Message, n int) int {
	if p := all[n-1].Parent; p > 0 && p < n {
		return p
	}
	return 0
}

// Branch returns the numbers of the messages from the beginning to one.
func Branch(all []Message, to int) []int {
	var list []int
	for n := min(to, len(all)); n > 0; n = parentOf(all, n) {
		list = append(list, n)
	}
	slices.Reverse(list)
	return list
}

// Newest returns the message that was added last among those that follow a message,
// or that message.
func Newest(all []Message, from int) int {
	if from <= 0 || from > len(all) {
		return len(all)
	}
	follows := make([]bool, len(all)+1)
	follows[from] = true
	last := from
	for n := from + 1; n <= len(all); n++ {
		if follows[parentOf(all, n)] {
			follows[n], last = true, n
		}
	}
	return last
}

// Beside returns the numbers of the messages that follow the same message as each of
// some messages, by the numbers of these.
func Beside(all []Message, of []int) map[int][]int {
	by := map[int][]int{}
	for _, n := range of {
		by[parentOf(all, n)] = nil
	}
	for n := range all {
		p := parentOf(all, n+1)
		if list, ok := by[p]; ok {
			by[p] = append(list, n+1)
		}
	}
	out := make(map[int][]int, len(of))
	for _, n := range of {
		out[n] = by[parentOf(all, n)]
	}
	return out
}

// A Summary is a kept conversation in a list.
type Summary struct {
	Key   string    `json:"id"`
	Title string    `json:"title"`
	Last  time.Time `json:"last"`
	Bytes int64     `json:"bytes"`
}
