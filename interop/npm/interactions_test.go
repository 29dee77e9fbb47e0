package npm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// An interactionsUpstream answers as Google's Interactions API does. Each reply has a thought in a step of its own, which is
// signed, another one in its text, and a call of a tool unless the request brings its result.
type interactionsUpstream struct {
	mu    sync.Mutex
	n     int
	kept  []string // ids of the interactions that it stores
	input []string // of all requests
}

type interactionRequest struct {
	Stream   bool            `json:"stream"`
	Store    *bool           `json:"store"`
	Input    json.RawMessage `json:"input"`
	Previous string          `json:"previous_interaction_id"`
}

func (s *interactionsUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q interactionRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/interactions") {
		http.NotFound(w, r)
		return
	}
	if q.Previous != "" && !slices.Contains(s.kept, q.Previous) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":404,"message":"there is no such interaction","status":"NOT_FOUND"}}`)
		return
	}
	s.n++
	s.input = append(s.input, string(q.Input))
	id := fmt.Sprintf("v1_%08d", s.n)
	if q.Store == nil || *q.Store {
		s.kept = append(s.kept, id)
	}
	head := fmt.Sprintf(`"id":%q,"object":"interaction","model":"gemini-3-pro","created":"2026-11-28T00:00:00Z","updated":"2026-11-28T00:00:00Z"`, id)
	calls := !strings.Contains(string(q.Input), "function_result")
	if q.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		streamInteraction(w, head, calls)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal(interactionText)
	steps := `{"type":"thought","signature":"c2ln","summary":[{"type":"text","text":"secret one"}]},{"type":"model_output","content":[{"type":"text","text":` + string(text) + `}]}`
	if calls {
		steps += `,{"type":"function_call","id":"c1","name":"add","arguments":{"a":2}}`
	}
	fmt.Fprintf(w, `{%s,"status":%q,"steps":[%s],%s}`, head, statusOf(calls), steps, interactionUsage)
}

const (
	interactionText  = "<think>secret two</think>It is 4."
	interactionUsage = `"usage":{"total_input_tokens":5,"total_output_tokens":9,"total_thought_tokens":3,"total_tokens":17}`
)

func statusOf(calls bool) string {
	if calls {
		return "requires_action"
	}
	return "completed"
}

// streamInteraction writes a reply as events, with its text character by character.
func streamInteraction(w http.ResponseWriter, head string, calls bool) {
	send := func(kind, more string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"event_type\":%q,%s}\n\n", kind, kind, more)
		w.(http.Flusher).Flush()
	}
	send("interaction.created", `"interaction":{`+head+`,"status":"in_progress"}`)
	send("step.start", `"index":0,"step":{"type":"thought"}`)
	send("step.delta", `"index":0,"delta":{"type":"thought_summary","content":{"type":"text","text":"secret one"}}`)
	send("step.delta", `"index":0,"delta":{"type":"thought_signature","signature":"c2ln"}`)
	send("step.stop", `"index":0`)
	send("step.start", `"index":1,"step":{"type":"model_output"}`)
	for _, c := range interactionText {
		send("step.delta", fmt.Sprintf(`"index":1,"delta":{"type":"text","text":%q}`, string(c)))
	}
	send("step.stop", `"index":1`)
	if calls {
		send("step.start", `"index":2,"step":{"type":"function_call","id":"c1","name":"add","arguments":{}}`)
		send("step.delta", `"index":2,"delta":{"type":"arguments_delta","arguments":"{\"a\":2}"}`)
		send("step.stop", `"index":2`)
	}
	send("interaction.completed", fmt.Sprintf(`"interaction":{%s,"status":%q,%s}`, head, statusOf(calls), interactionUsage))
	io.WriteString(w, "event: done\ndata: [DONE]\n\n")
}

// interactionSteps are the steps that the client gets under each display.
var interactionSteps = map[routing.Display]string{
	routing.DisplayField: `"thought:secret one:c2ln","thought:\n\nsecret two:","output:It is 4."`,
	routing.DisplayHide:  `"thought::c2ln","output:It is 4."`,
	routing.DisplayTags:  `"output:<think>\nsecret one\n\nsecret two\n</think>\n\nIt is 4."`,
	routing.DisplayKeep:  `"thought:secret one:c2ln","output:<think>secret two</think>It is 4."`,
}

// Google's client uses the Interactions API through a gateway: whole and streamed, with a tool whose result it sends with the
// steps that it got, or after an interaction that the provider stores. Where reasoning is hidden, nothing that it returns has a
// thought.
func TestInteractions(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	up := &interactionsUpstream{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	u, _ := url.Parse(server.URL)
	displays := []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep}
	args, want := []string{filepath.Join(dir, "interactions.js")}, ""
	for _, display := range displays {
		g, err := gateway.New(gateway.Config{Upstream: u, Default: routing.Route{Display: display}})
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(g)
		t.Cleanup(front.Close)
		args = append(args, fmt.Sprintf("%s=%s", display, front.URL))
		for _, form := range []string{"whole", "streamed"} {
			want += fmt.Sprintf(`[%q,%q,"steps","requires_action",%s,"call:c1:add:{\"a\":2}"]`+"\n", display, form, interactionSteps[display]) +
				fmt.Sprintf(`[%q,%[2]q,"echoed","completed"]`+"\n"+`[%[1]q,%[2]q,"continued","completed",true]`+"\n"+`[%[1]q,%[2]q,"unknown",404]`+"\n", display, form)
		}
		want += fmt.Sprintf(`[%q,"secret",%v]`+"\n", display, display != routing.DisplayHide)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), said.String())
	}
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	checkEchoes(t, up.input, displays)
}

// checkEchoes checks what the provider got back: the signed thought, once, and none that the gateway made. Under tags the client
// has no signed step to send.
func checkEchoes(t *testing.T, inputs []string, displays []routing.Display) {
	t.Helper()
	const each = 8 // requests that one client makes: 4 whole and 4 streamed
	if len(inputs) != each*len(displays) {
		t.Fatalf("the provider answered %d requests, want %d", len(inputs), each*len(displays))
	}
	for i, display := range displays {
		for _, at := range []int{1, 5} {
			input := inputs[i*each+at]
			thoughts := 1
			if display == routing.DisplayTags {
				thoughts = 0
			}
			if strings.Count(input, `"thought"`) != thoughts || strings.Count(input, `"c2ln"`) != thoughts || !strings.Contains(input, `"function_call"`) || !strings.Contains(input, "It is 4.") {
				t.Errorf("%s: the provider got %s", display, input)
			}
		}
	}
}
