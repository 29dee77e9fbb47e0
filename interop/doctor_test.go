package interop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/interop/engine"
)

// TestDoctorOllama: sotto doctor knows a real Ollama and its version, which model thinks
// in its text, whether its template opens the thought, and the size of its context. Sotto
// mends all of it, in both APIs, without a setting. init finds the same server.
func TestDoctorOllama(t *testing.T) {
	s := engine.Run(t)
	direct := s.URL
	for _, m := range engine.Models() {
		for _, api := range []string{"ollama", "openai"} {
			r, err := doctor.Run(t.Context(), direct, doctor.Options{Model: m.Name, API: api, Transport: http.DefaultTransport})
			if err != nil {
				t.Fatal(err)
			}
			made := map[string]checks.Check{}
			for _, c := range r.Checks {
				made[c.Name] = c
			}
			if r.Server.Name != doctor.Ollama || r.Server.Version != s.Version || r.Findings > 0 || r.Context.Tokens == 0 {
				t.Errorf("%s in %s: %+v", m.Name, api, r)
			}
			want := checks.Mended
			if m.Name == engine.Plain().Name {
				want = checks.OK
			}
			for _, way := range []string{"whole", "stream"} {
				if made[way].Status != want {
					t.Errorf("%s in %s: %+v, want %s", m.Name, api, made[way], want)
				}
			}
			if opens := m.Name == engine.Preopened().Name; (r.Template.Opens == "yes") != opens || r.Asks[0].Inside != opens {
				t.Errorf("%s in %s: %+v, %+v", m.Name, api, r.Template, r.Asks[0])
			}
			for _, a := range r.Asks {
				if a.Behind != nil && a.Behind.Leak {
					t.Errorf("%s in %s: %+v %+v", m.Name, api, a, a.Behind)
				}
			}
		}
	}
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	found := doctor.FindLocal(t.Context(), http.DefaultTransport, func(name string) string {
		if name == "OLLAMA_HOST" {
			return u.Host
		}
		return ""
	})
	if len(found) == 0 || found[0].Server.String() != "Ollama "+s.Version || len(found[0].Models) != len(engine.Models()) || !strings.HasSuffix(found[0].URL, u.Port()) {
		t.Errorf("%+v", found)
	}
}
