package interop_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// newBedrock returns a client with an API key. The SDK sends one over TLS alone, so a
// proxy with a certificate stands before the gateway.
func newBedrock(base string) (c *bedrockruntime.Client, end func()) {
	u, _ := url.Parse(base)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
	srv := httptest.NewTLSServer(proxy)
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(srv.URL), HTTPClient: srv.Client(), Retryer: aws.NopRetryer{},
		BearerAuthTokenProvider: bearer.StaticTokenProvider{Token: bearer.Token{Value: "client-key"}},
		AuthSchemePreference:    []string{"httpBearerAuth"},
	}), srv.Close
}

var bedrockQuestion = []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "What is it?"}}}}

// hearBlocks adds what a client reads in a message.
func (h *heard) hearBlocks(m types.Message) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			h.text += b.Value
		case *types.ContentBlockMemberReasoningContent:
			if r, ok := b.Value.(*types.ReasoningContentBlockMemberReasoningText); ok {
				h.thought += aws.ToString(r.Value.Text)
			}
		}
	}
}

func askBedrock(t *testing.T, base, model string, stream bool) (h heard) {
	t.Helper()
	c, end := newBedrock(base)
	defer end()
	m, err := converse(t.Context(), c, model, stream, bedrockQuestion, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.hearBlocks(m)
	return h
}

func failBedrock(base, model string) error {
	c, end := newBedrock(base)
	defer end()
	_, err := converse(context.Background(), c, model, true, bedrockQuestion, nil)
	return err
}

var errNoEnd = errors.New("no end of the message, or no counts of its tokens")

// converse asks for a message. About one stream in 300 ends early inside the SDK
// (v1.63.11), with the gateway and without it: it closes its own connection before it has
// read the end. So a stream that ends in that way is asked for again. A stream that the
// gateway had cut would end in the same way each time.
func converse(ctx context.Context, c *bedrockruntime.Client, model string, stream bool, messages []types.Message, tools *types.ToolConfiguration) (m types.Message, err error) {
	for range 3 {
		m, err = converseOnce(ctx, c, model, stream, messages, tools)
		if !errors.Is(err, net.ErrClosed) && !errors.Is(err, errNoEnd) {
			return m, err
		}
	}
	return m, err
}

// converseOnce asks for a message, and joins the blocks of a stream as clients do.
func converseOnce(ctx context.Context, c *bedrockruntime.Client, model string, stream bool, messages []types.Message, tools *types.ToolConfiguration) (types.Message, error) {
	if !stream {
		r, err := c.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &model, Messages: messages, ToolConfig: tools})
		if err != nil {
			return types.Message{}, err
		}
		return r.Output.(*types.ConverseOutputMemberMessage).Value, nil
	}
	r, err := c.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: &model, Messages: messages, ToolConfig: tools})
	if err != nil {
		return types.Message{}, err
	}
	s := r.GetStream()
	defer s.Close()
	j := joiner{message: types.Message{Role: types.ConversationRoleAssistant}}
	for e := range s.Events() {
		if err := j.take(e); err != nil {
			return j.message, err
		}
	}
	if err := s.Err(); err != nil {
		return j.message, err
	}
	if !j.stopped || !j.counted {
		return j.message, errNoEnd
	}
	return j.message, nil
}

// A joiner makes a message of a stream's events.
type joiner struct {
	message          types.Message
	input            string // of the call under way
	stopped, counted bool
}

func (j *joiner) take(e types.ConverseStreamOutput) error {
	switch e := e.(type) {
	case *types.ConverseStreamOutputMemberContentBlockStart:
		start, ok := e.Value.Start.(*types.ContentBlockStartMemberToolUse)
		if !ok || int(*e.Value.ContentBlockIndex) != len(j.message.Content) {
			return errors.New("a start of another kind, or of another block")
		}
		j.input = ""
		j.message.Content = append(j.message.Content, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{Name: start.Value.Name, ToolUseId: start.Value.ToolUseId}})
	case *types.ConverseStreamOutputMemberContentBlockDelta:
		return j.delta(int(*e.Value.ContentBlockIndex), e.Value.Delta)
	case *types.ConverseStreamOutputMemberContentBlockStop:
		if call, ok := j.message.Content[*e.Value.ContentBlockIndex].(*types.ContentBlockMemberToolUse); ok {
			var input map[string]any
			if err := json.Unmarshal([]byte(j.input), &input); err != nil {
				return err
			}
			call.Value.Input = document.NewLazyDocument(input)
		}
	case *types.ConverseStreamOutputMemberMessageStop:
		j.stopped = true
		// The gateway ends a reply without counts: at a limit, or for a guard.
		j.counted = e.Value.StopReason == types.StopReasonMaxTokens || e.Value.StopReason == types.StopReasonGuardrailIntervened
	case *types.ConverseStreamOutputMemberMetadata:
		j.counted = e.Value.Usage != nil && e.Value.Usage.OutputTokens != nil
	}
	return nil
}

func (j *joiner) delta(at int, delta types.ContentBlockDelta) error {
	begins := at == len(j.message.Content)
	if at > len(j.message.Content) {
		return errors.New("an index is left out")
	}
	switch d := delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		if begins {
			j.message.Content = append(j.message.Content, &types.ContentBlockMemberText{})
		}
		j.message.Content[at].(*types.ContentBlockMemberText).Value += d.Value
	case *types.ContentBlockDeltaMemberToolUse:
		j.input += aws.ToString(d.Value.Input)
	case *types.ContentBlockDeltaMemberReasoningContent:
		if r, ok := d.Value.(*types.ReasoningContentBlockDeltaMemberRedactedContent); ok {
			j.message.Content = append(j.message.Content, &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberRedactedContent{Value: r.Value}})
			return nil
		}
		if begins {
			j.message.Content = append(j.message.Content, &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: types.ReasoningTextBlock{Text: new(string)}}})
		}
		block := &j.message.Content[at].(*types.ContentBlockMemberReasoningContent).Value.(*types.ReasoningContentBlockMemberReasoningText).Value
		switch r := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			*block.Text += r.Value
		case *types.ReasoningContentBlockDeltaMemberSignature:
			block.Signature = aws.String(aws.ToString(block.Signature) + r.Value)
		}
	}
	return nil
}

// TestToolLoopBedrock has the SDK call a tool and answer. Claude's thoughts are signed,
// and required back.
func TestToolLoopBedrock(t *testing.T) {
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
		for _, model := range []string{"claude", "qwen3:8b", "plain"} {
			if model == "claude" && display != routing.DisplayField {
				continue // it refuses a thought whose text the client did not get
			}
			for _, stream := range []bool{false, true} {
				name := model + "/" + string(display) + "/" + map[bool]string{false: "whole", true: "streamed"}[stream]
				t.Run(name, func(t *testing.T) { toolLoopBedrock(t, display, model, stream) })
			}
		}
	}
}

func toolLoopBedrock(t *testing.T, display routing.Display, model string, stream bool) {
	t.Helper()
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: unmarked(display, model)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	srv := httptest.NewServer(g)
	defer srv.Close()
	c, end := newBedrock(srv.URL)
	defer end()
	tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String("get_weather"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
	}}}}
	talk := append([]types.Message(nil), bedrockQuestion...)
	m, err := converse(t.Context(), c, model, stream, talk, tools)
	if err != nil {
		t.Fatal(err)
	}
	results := types.Message{Role: types.ConversationRoleUser}
	for _, b := range m.Content {
		if call, ok := b.(*types.ContentBlockMemberToolUse); ok {
			results.Content = append(results.Content, &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
				ToolUseId: call.Value.ToolUseId, Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: "4 °C, rain"}},
			}})
		}
	}
	if len(results.Content) == 0 {
		t.Fatalf("no call in %+v", m)
	}
	if m, err = converse(t.Context(), c, model, stream, append(talk, m, results), tools); err != nil {
		t.Fatal(err)
	}
	var h heard
	if h.hearBlocks(m); h.text == "" || display == routing.DisplayHide && h.thought != "" {
		t.Errorf("%s", h)
	}
}

// TestBedrockRefusals holds that the SDK reads errors as those of the API: a model that
// is not there, and a request with a signature, which the gateway refuses.
func TestBedrockRefusals(t *testing.T) {
	base := serveScripted(t)
	c, end := newBedrock(base)
	defer end()
	for _, stream := range []bool{false, true} {
		_, err := converse(t.Context(), c, "nowhere", stream, bedrockQuestion, nil)
		if invalid := (*types.ValidationException)(nil); !errors.As(err, &invalid) {
			t.Errorf("%v", err)
		}
	}
	signed := bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(base), HTTPClient: http.DefaultClient, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAEXAMPLE", SecretAccessKey: "secret"}, nil
		}),
	})
	for _, stream := range []bool{false, true} {
		_, err := converse(t.Context(), signed, "plain", stream, bedrockQuestion, nil)
		var denied *types.AccessDeniedException
		var api smithy.APIError
		if !errors.As(err, &denied) || !errors.As(err, &api) || !strings.Contains(api.ErrorMessage(), "API key") {
			t.Errorf("%v", err)
		}
	}
}

// TestBedrockKeepAlives holds that the SDK takes a keep-alive for an event that it does
// not know, and reads the reply after it. The upstream goes on once the client had one.
func TestBedrockKeepAlives(t *testing.T) {
	var err error
	for range 3 { // see converse
		if err = bedrockKeptAlive(t); err == nil {
			return
		}
	}
	t.Error(err)
}

func bedrockKeptAlive(t *testing.T) error {
	had := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		scripted.New(scripted.Options{}).ServeHTTP(whole, r)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		b := whole.Body.Bytes()
		_, _ = w.Write(b[:len(b)/2])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-had:
		case <-r.Context().Done():
		}
		_, _ = w.Write(b[len(b)/2:])
	}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, KeepAlive: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	srv := httptest.NewServer(g)
	defer srv.Close()
	c, end := newBedrock(srv.URL)
	defer end()
	r, err := c.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: aws.String("qwen3:8b"), Messages: bedrockQuestion})
	if err != nil {
		t.Fatal(err)
	}
	s := r.GetStream()
	defer s.Close()
	var j joiner
	for e := range s.Events() {
		if unknown, ok := e.(*types.UnknownUnionMember); ok && unknown.Tag == "keepAlive" {
			select {
			case <-had:
			default:
				close(had)
			}
			continue
		}
		if err := j.take(e); err != nil {
			return err
		}
	}
	var h heard
	if h.hearBlocks(j.message); s.Err() != nil || !j.stopped || h.text == "" || h.thought == "" {
		return fmt.Errorf("%w, %s", cmp.Or(s.Err(), errNoEnd), h)
	}
	return nil
}
