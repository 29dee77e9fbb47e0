package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// The log says that an error of the upstream had a thought in it, where the gateway looks.
func TestErrorsFoundInLog(t *testing.T) {
	for _, display := range routing.Displays() {
		for message, has := range map[string]bool{"bad: <think>SECRET</think>x": true, "bad": false} {
			log := new(lines)
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}, Logger: slog.New(slog.NewJSONHandler(log, nil))}, answering(func(*http.Request) *http.Response {
				return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"` + message + `"}}`))}
			}))
			ask(g, "/v1/chat/completions", `{"model":"m","messages":[]}`)
			list := log.with(t, "exchange")
			if want := has && display != routing.DisplayKeep; len(list) != 1 || strings.Contains(fmt.Sprint(list[0]["found"]), "reasoning_in_error") != want {
				t.Errorf("%s, %s: %v", display, message, list)
			}
		}
	}
}
