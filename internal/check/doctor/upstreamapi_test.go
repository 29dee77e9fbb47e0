package doctor

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamAPI: the API of a server is told by its list of models, and a setting that names another
// one is a finding. A list that only few APIs have tells more than OpenAI's.
func TestUpstreamAPI(t *testing.T) {
	for _, tt := range []struct{ list, set, want, found string }{
		{`{"object":"list","data":[{"id":"m","object":"model"}]}`, "", "chat", ""},
		{`{"object":"list","data":[{"id":"m","object":"model"}]}`, "chat", "chat", ""},
		{`{"object":"list","data":[{"id":"m","object":"model"}]}`, "ollama", "chat", "set upstream-api: chat"},
		{`{"data":[{"type":"model","id":"m","display_name":"M"}],"has_more":false}`, "chat", "messages", "set upstream-api: messages"},
		{`{"models":[{"name":"models/m"}]}`, "chat", "gemini", "set upstream-api: gemini"},
		{`{"models":[{"name":"m","endpoints":["chat"]}]}`, "", "cohere", ""},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(tt.list))
		}))
		r, err := Run(t.Context(), s.URL, Options{Silent: true, Model: "m", UpstreamAPI: tt.set})
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, c := range r.Checks {
			if c.Name == "upstream-api" {
				found = c.Do
			}
		}
		if r.UpstreamAPI != tt.want || found != tt.found || !slices.Equal(r.Speaks, []string{tt.want}) || !strings.Contains(r.Configuration, "upstream-api: "+tt.want+"\n") {
			t.Errorf("%s, set to %q: %q of %q, %q\n%s", tt.list, tt.set, r.UpstreamAPI, r.Speaks, found, r.Configuration)
		}
	}
	if err := (Options{UpstreamAPI: "grpc"}).Check(); err == nil {
		t.Error("grpc is an API")
	}
	for _, name := range []string{"chat", "messages", "openai", "anthropic", "ollama"} {
		if err := (Options{API: name}).Check(); err != nil {
			t.Error(err)
		}
	}
}
