package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// modelServer answers as a server of chat completions does whose model writes its
// thoughts into its text.
func modelServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"model":"qwen3:8b","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"<think>Six times seven.</think>Forty-two."}}]}`)
	}))
}

const sixTimesSeven = `{"model":"qwen3:8b","messages":[{"role":"user","content":"What is six times seven?"}]}`

// printMessage prints the message of a whole chat completion.
func printMessage(resp *http.Response) error {
	defer resp.Body.Close()
	var completion struct {
		Choices []struct {
			Message struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&completion); err != nil {
		return err
	}
	for _, c := range completion.Choices {
		fmt.Printf("says %q, thinks %q\n", c.Message.Content, c.Message.Reasoning)
	}
	return nil
}

// A gateway in front of a model server. One route hides what the model thinks.
func ExampleNew() {
	server := modelServer()
	defer server.Close()
	upstream, err := url.Parse(server.URL)
	if err != nil {
		log.Fatal(err)
	}

	g, err := gateway.New(gateway.Config{
		Upstream: upstream,
		Routes:   []routing.Route{{Models: []string{"qwen3*"}, Display: routing.DisplayHide}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	front := httptest.NewServer(g) // a program calls http.ListenAndServe("127.0.0.1:8383", g)
	defer front.Close()

	resp, err := http.Post(front.URL+"/v1/chat/completions", "application/json", strings.NewReader(sixTimesSeven))
	if err != nil {
		log.Fatal(err)
	}
	if err := printMessage(resp); err != nil {
		log.Fatal(err)
	}
	// Output: says "Forty-two.", thinks ""
}

// A Go client that needs no gateway beside it: its transport separates each reply into
// text and reasoning.
func ExampleNewTransport() {
	server := modelServer()
	defer server.Close()

	transport, err := gateway.NewTransport(gateway.TransportConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}

	resp, err := client.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(sixTimesSeven))
	if err != nil {
		log.Fatal(err)
	}
	if err := printMessage(resp); err != nil {
		log.Fatal(err)
	}
	// Output: says "Forty-two.", thinks "Six times seven."
}

// An observer learns how much a model thought and said, and nothing of the text.
func ExampleListen() {
	server := modelServer()
	defer server.Close()

	transport, err := gateway.NewTransport(gateway.TransportConfig{
		Observers: []gateway.Observer{gateway.Listen(func(gateway.Exchange, http.Header) (http.Header, func(gateway.Exchange)) {
			return nil, func(e gateway.Exchange) {
				fmt.Printf("%s: %s, %d bytes of text, %d of reasoning\n", e.Model, e.Outcome, e.Text, e.Reasoning)
			}
		})},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}

	resp, err := client.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(sixTimesSeven))
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	// Output: qwen3:8b: answered, 10 bytes of text, 16 of reasoning
}
