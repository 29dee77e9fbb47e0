package npm_test

import (
	"bytes"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// The client of OpenAI has conversations that the gateway keeps for a server of another API.
func TestKeptConversations(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	u, _ := url.Parse(up.URL)
	g, err := gateway.New(gateway.Config{Upstream: u, UpstreamAPI: "chat", Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "conversations.js"), front.URL)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), said.String())
	}
	want := `["create",true,null]
["continue",true,true]
["stream",true,true]
["retrieve",true,true]
["inputItems",["One.","Two.","Three."],5]
["deleted",404,"not_found"]
["deleted",400,"previous_response_not_found"]
["conversation",{"topic":"b"},true]
["items",3,"Zero."]
["added",["More."]]
["removed",true]
["gone",true]
["background","in_progress"]
["done","completed",true]
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
