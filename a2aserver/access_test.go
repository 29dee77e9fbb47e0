package a2aserver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// get makes one request and returns its status and body.
func get(t *testing.T, method, url, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	res, err := plain(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

const list = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`

// TestAccess: the server is closed to other machines without a token, to foreign
// pages, to foreign names and to wrong tokens; its card is open.
func TestAccess(t *testing.T) {
	if _, err := New(Config{Mind: says(""), Public: true}); err == nil {
		t.Error("open to other machines, and without a token")
	}
	h := serve(t, Config{Mind: says("Yes."), Tokens: []Token{{Name: "ann", Secret: "t0ken"}, {Name: "bob", Secret: "other"}}, AllowOrigins: []string{"https://chat.example"}})
	for _, c := range []struct {
		path    string
		headers []string
		want    int
	}{
		{rpcPath, []string{"Authorization", "Bearer t0ken"}, 200},
		{rpcPath, []string{"X-Api-Key", "other"}, 200},
		{rpcPath, nil, 401},
		{rpcPath, []string{"Authorization", "Bearer t0ke"}, 401},
		{rpcPath, []string{"Authorization", "Bearer t0kent"}, 401},
		{rpcPath, []string{"Authorization", "Bearer "}, 401},
		{restPath + "/tasks", nil, 401},
		{legacyPath, nil, 401},
		{legacyPath + "/v1/tasks/x", nil, 401},
		{rpcPath, []string{"Authorization", "Bearer t0ken", "Origin", "https://evil.example"}, 403},
		{rpcPath, []string{"Authorization", "Bearer t0ken", "Sec-Fetch-Site", "cross-site"}, 403},
		{rpcPath, []string{"Authorization", "Bearer t0ken", "Origin", "https://chat.example"}, 200},
		{rpcPath, []string{"Authorization", "Bearer t0ken", "Host", "rebound.example"}, 403},
	} {
		if got, body, _ := get(t, "POST", h.url()+c.path, list, c.headers...); got != c.want {
			t.Errorf("%s %q: %d %s, want %d", c.path, c.headers, got, body, c.want)
		}
	}
	if got, _, _ := get(t, "GET", h.url()+cardPath, ""); got != 200 {
		t.Errorf("the card: %d", got)
	}
	if got, _, _ := get(t, "GET", h.url()+cardPath, "", "Origin", "https://evil.example"); got != 403 {
		t.Errorf("the card for a foreign page: %d", got)
	}
}

// TestCallers: a caller sees its own tasks alone, by any method.
func TestCallers(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "What?"}, nil), PushTo: loopback, Tokens: []Token{{Name: "ann", Secret: "a"}, {Name: "bob", Secret: "b"}}})
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			ann, bob := client(t, h.url(), i, "Authorization", "Bearer a"), client(t, h.url(), i, "Authorization", "Bearer b")
			task := send(t, ann, message("Hi"))
			ctx := t.Context()
			_, get := bob.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
			_, cancel := bob.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			_, more := bob.SendMessage(ctx, follow("Mine!", task))
			_, push := bob.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task.ID, URL: "http://127.0.0.1:1/"})
			_, pushes := bob.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
			var subscribe error
			for _, err := range bob.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
				subscribe = err
			}
			for name, err := range map[string]error{"get": get, "cancel": cancel, "send": more, "push": push, "list": pushes, "subscribe": subscribe} {
				if err == nil {
					t.Errorf("%s: another's task", name)
				}
			}
			if i < 2 {
				res, err := bob.ListTasks(ctx, &a2a.ListTasksRequest{})
				if err != nil || len(res.Tasks) > 0 {
					t.Errorf("listed: %v, %v", res, err)
				}
			}
			if _, err := ann.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCard: what the card declares is there, and what it does not is refused.
func TestCard(t *testing.T) {
	for _, c := range []Config{
		{Mind: says("Yes.")},
		{Mind: says("Yes."), NoPush: true},
		{Mind: says("Yes."), Reasoning: true, Tokens: []Token{{Name: "ann", Secret: "a"}}, Card: Card{Name: "Ann's", Details: []a2a.AgentSkill{{ID: "secret", Name: "s", Description: "s"}}}},
	} {
		h := serve(t, c)
		got := card(t, h.url())
		if got.Name == "" || got.Version == "" || got.Description == "" || len(got.Skills) == 0 || len(got.DefaultInputModes) == 0 || len(got.DefaultOutputModes) == 0 {
			t.Errorf("a card with holes: %+v", got)
		}
		for i := range bindings {
			cl := client(t, h.url(), i, "Authorization", "Bearer a")
			req := message("Hi")
			req.Config = &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/plain"}}
			task := send(t, cl, req)
			_, err := cl.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
			if i < 3 && got.Capabilities.PushNotifications == errors.Is(err, a2a.ErrPushNotificationNotSupported) {
				t.Errorf("%s: pushes declared: %v, list: %v", bindings[i].name, got.Capabilities.PushNotifications, err)
			}
			req.Config.AcceptedOutputModes = []string{"image/png"}
			if _, err := cl.SendMessage(t.Context(), req); err == nil {
				t.Error("an answer in pictures was promised")
			}
			file := message("Hi")
			file.Message.Parts = append(file.Message.Parts, a2a.NewRawPart([]byte("x")))
			if _, err := cl.SendMessage(t.Context(), file); err == nil {
				t.Error("a file was taken")
			}
		}
		cl := client(t, h.url(), 0, "Authorization", "Bearer a")
		extended, err := cl.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
		if got.Capabilities.ExtendedAgentCard {
			if err != nil || len(extended.Skills) != 2 {
				t.Errorf("the extended card: %+v, %v", extended, err)
			}
			if len(got.SecuritySchemes) != 1 || len(got.SecurityRequirements) != 1 {
				t.Errorf("security: %+v", got.SecuritySchemes)
			}
		} else if status, body, _ := get(t, "GET", h.url()+restPath+"/extendedAgentCard", ""); status == 200 {
			t.Errorf("an extended card that was not declared: %s", body)
		}
		declared := map[string]bool{}
		for _, e := range got.Capabilities.Extensions {
			declared[e.URI] = true
		}
		if !declared[ChunksExtension] || declared[ReasoningExtension] != c.Reasoning {
			t.Errorf("extensions %v", declared)
		}
	}
}

// TestVersion: a version that is not spoken is refused as the protocol says.
func TestVersion(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	for version, code := range map[string]int{"1.0": 0, "1.2": 0, "": 0, "2.0": -32009, "99": -32009} {
		_, body, _ := get(t, "POST", h.url()+rpcPath, list, "A2A-Version", version)
		var res struct{ Error struct{ Code int } }
		if err := json.Unmarshal([]byte(body), &res); err != nil || res.Error.Code != code {
			t.Errorf("%q: %s, %v", version, body, err)
		}
	}
	if status, body, _ := get(t, "GET", h.url()+restPath+"/tasks", "", "A2A-Version", "7.0"); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

// TestLimits: a body, and the number of tasks of a caller at once, are bounded.
func TestLimits(t *testing.T) {
	begun := make(chan string, 2)
	h := serve(t, Config{Mind: patientMind(begun), Limits: Limits{Body: 2000, Each: 2}})
	c := client(t, h.url(), 0)
	if _, err := c.SendMessage(t.Context(), message(strings.Repeat("a", 3000))); err == nil {
		t.Error("a body over the limit")
	}
	first := send(t, c, atOnce("Hi"))
	send(t, c, atOnce("Hi"))
	<-begun
	<-begun
	if _, err := c.SendMessage(t.Context(), atOnce("Hi")); !errors.Is(err, a2a.ErrServerError) {
		t.Errorf("a third: %v", err)
	}
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: first.ID}); err != nil {
		t.Fatal(err)
	}
	send(t, c, atOnce("Hi"))
	<-begun
}

// TestPublicHosts: a server that other machines reach without a token is not served
// by the name that a page made resolve to it.
func TestPublicHosts(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes."), Public: true, Insecure: true, AllowHosts: []string{"agent.example"}})
	for host, want := range map[string]int{"agent.example": 200, "192.0.2.7:8383": 200, "localhost": 200, "rebound.example": 403, "agent.example.evil.example": 403} {
		for _, path := range []string{rpcPath, cardPath} {
			method := map[string]string{rpcPath: "POST", cardPath: "GET"}[path]
			if got, body, _ := get(t, method, h.url()+path, list, "Host", host); got != want {
				t.Errorf("%s, %s: %d %s, want %d", path, host, got, body, want)
			}
		}
	}
}
