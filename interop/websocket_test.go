package interop_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestWebSocketSDK: OpenAI's SDK runs a tool loop over a WebSocket, in two lanes, with a
// server that has no WebSocket, keeps no responses and gives all of them one id, and whose
// model writes its calls into its text. Each turn sends only what is new.
func TestWebSocketSDK(t *testing.T) {
	up := &textCaller{stream: true}
	srv := httptest.NewServer(up)
	defer srv.Close()
	c := newOpenAI(serveRoute(t, srv.URL, routing.Route{Calls: routing.CallsField, Display: routing.DisplayHide}))
	conn, err := c.Responses.Connect(t.Context(), responses.ResponseConnectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, name := range []string{"a", "b"} {
		lane, err := conn.Lane(name)
		if err != nil {
			t.Fatal(err)
		}
		create := func(members string) *responses.Response {
			t.Helper()
			if err := conn.SendRaw(t.Context(), json.RawMessage(`{"type":"response.create","stream_id":"`+name+`","model":"qwen3","store":false,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object"}}],`+members+`}`)); err != nil {
				t.Fatal(err)
			}
			r, err := lane.FinalResponse(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := create(`"input":"What is it?"`)
		var call responses.ResponseOutputItemUnion
		for _, item := range first.Output {
			if item.Type == "function_call" {
				call = item
			}
		}
		if call.Name != "get_weather" || strings.TrimSpace(first.OutputText()) != textCallSays {
			t.Fatalf("the SDK read %s", first.RawJSON())
		}
		result, _ := json.Marshal(weather)
		last := create(`"previous_response_id":"` + first.ID + `","input":[{"type":"function_call_output","call_id":"` + call.CallID + `","output":` + string(result) + `}]`)
		if last.OutputText() != "It rains." || last.Status != responses.ResponseStatusCompleted {
			t.Errorf("the SDK read %s", last.RawJSON())
		}
		sent := up.bodies[len(up.bodies)-1]
		if strings.Contains(sent, "previous_response_id") || strings.Count(sent, call.CallID) != 2 || !strings.Contains(sent, "What is it?") || strings.Contains(sent, "stream_id") {
			t.Errorf("the model got %s", sent)
		}
	}
	// The typed form of the SDK, in the lane without a name.
	if err := conn.Create(t.Context(), responses.ResponsesClientEventResponseCreateParam{
		Model: "qwen3", Store: param.NewOpt(false), PreviousResponseID: openai.String("resp_1"),
		Input: responses.ResponsesClientEventResponseCreateInputUnionParam{OfString: openai.String("And now?")},
	}); err != nil {
		t.Fatal(err)
	}
	r, err := conn.FinalResponse(t.Context())
	if err != nil || r.OutputText() != "It rains." {
		t.Errorf("%v, %v", r, err)
	}
}
