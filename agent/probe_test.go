package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A run whose server is not there, or does not have the model, does not begin: it
// costs no cycle, and nothing is recorded. The same holds when a run would be
// resumed. A server that is only busy is no reason not to begin.
func TestUnserved(t *testing.T) {
	for name, away := range map[string]func(*trial){
		"not there": func(t *trial) { t.server.Kill() },
		"no such model": func(t *trial) {
			t.server.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(404); return true }
			t.x.Model = &missing{t.x.Model}
		},
	} {
		t.Run(name, func(t *testing.T) {
			try(t, 3, Limits{}, func(t *trial) {
				served := t.x.Model
				begins := func() {
					t.Helper()
					before := len(events(t, t.dir, record.Query{}))
					away(t)
					var unserved *UnservedError
					if _, err := Run(t.Context(), t.x, in(t.dir)); !asError(err, &unserved) {
						t.Fatal(err)
					}
					if n := len(events(t, t.dir, record.Query{})); n != before {
						t.Errorf("%d events were recorded", n-before)
					}
					t.server.Start()
					t.server.fail, t.x.Model = nil, served
				}
				os.MkdirAll(in(t.dir).Record, 0o700)
				begins()
				t.server.fail = func(n int, w http.ResponseWriter, _ *http.Request) bool {
					switch {
					case n == 1: // busy
						w.WriteHeader(429)
					case n > 3:
						w.WriteHeader(401)
					default:
						return false
					}
					return true
				}
				t.want(t.run(), Suspended, BoundRefused, 1)
				begins()
				t.want(t.run(), Done, "", 3)
			})
		})
	}
}

// missing is a model that its server no longer has.
type missing struct{ model.Model }

func (*missing) Check(context.Context) (model.Info, error) {
	return model.Info{}, &model.Error{Provider: "ollama", Model: "m", Status: 404}
}

// A check of the file names the line of each model that cannot be invoked, once.
func TestProbeConfig(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			fmt.Fprint(w, `{"parameters":"num_ctx 2048"}`)
			return
		}
		w.WriteHeader(404)
	}))
	defer s.Close()
	read := func(text string) (*Config, Experiment) {
		t.Helper()
		c, err := ParseConfig(filepath.Join(t.TempDir(), "x.yaml"), []byte(strings.ReplaceAll(text, "URL", s.URL)))
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.Experiment(Dependencies{})
		if err != nil {
			t.Fatal(err)
		}
		return c, x
	}
	c, x := read("v: 1\nname: r\nmodel: {provider: ollama, name: m, url: URL}\n")
	if info, err := c.Probe(t.Context(), &x); err != nil || info.Window != 2048 {
		t.Errorf("%+v, %v", info, err)
	}
	c, x = read(`v: 1
name: r
model: {provider: ollama, name: m, url: URL}
agents:
  - name: one
    tools: [read]
  - name: two
    model: {provider: openai, name: m, url: URL}
`)
	_, err := c.Probe(t.Context(), &x)
	var faults *ConfigError
	if !asError(err, &faults) || len(faults.Faults) != 1 || faults.Faults[0].Line != 8 || faults.Faults[0].Key != "agents[1].model" || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

// odd is a model of a type that cannot be compared.
type odd struct {
	model.Model
	asked *int
	_     func()
}

func (o odd) Check(context.Context) (model.Info, error) {
	*o.asked++
	return model.Info{}, nil
}

// Each model is asked once, however often the experiment names it, and models of any
// type are.
func TestProbeOnce(t *testing.T) {
	n := 0
	o, p := odd{Model: scripted(t, "- text: Yes."), asked: &n}, &odd{asked: &n}
	x := Experiment{Name: "r", Model: o, Agents: []Subagent{{Name: "a", Model: p, Agents: []Subagent{{Name: "b", Model: p}}}, {Name: "c"}}}
	if _, err := x.Probe(t.Context()); err != nil || n != 2 {
		t.Errorf("%d checks, %v", n, err)
	}
	x.Agents[0].Model, x.Cycles = nil, 1
	if s := run1(t, x, t.TempDir()); s.Status != Done {
		t.Errorf("%+v", s)
	}
}

// What is known of the context window is in the record, and a prompt that comes near
// it, or over it, is said before it is sent, once in a cycle, and in a replay too.
// A resumed run learns it again.
func TestWindow(t *testing.T) {
	try(t, 6, Limits{}, func(t *trial) {
		t.server.show = `{"parameters":"num_ctx 70"}`
		t.x.System = "S"
		t.x.Memory = nil
		var said []string
		o := in(t.dir)
		o.Observer.OnWindow = func(w WindowReport) { said = append(said, w.Text) }
		s, err := Run(t.Context(), t.x, o)
		if err != nil || s.Status != Done || s.Window != 70 || s.Metrics.LargestPrompt != 50 {
			t.Fatalf("%+v, %v", s, err)
		}
		var got []string
		for _, e := range events(t, t.dir, record.Query{Types: []record.Type{record.TypeAdvisory}}) {
			if a := e.Payload.(record.Advisory); strings.HasPrefix(a.Code, "context_") {
				got = append(got, string(a.Text.Text))
			}
		}
		if d := cmp.Diff(said, got); d != "" || len(got) == 0 || len(got) > 10 {
			t.Error(d, got)
		}
		start := events(t, t.dir, record.Query{Types: []record.Type{record.TypeRunStart}})[0].Payload.(record.RunStart)
		if start.Window != 70 {
			t.Errorf("%+v", start)
		}
		replayed(t)
		t.server.show = `{"parameters":"num_ctx 7000"}`
		t.x.Cycles = 7
		if again, err := Run(t.Context(), t.x, o); err != nil || again.Window != 7000 || len(said) != len(got) {
			t.Errorf("%+v, %v, %q", again, err, said)
		}
		replayed(t)
	})
}

// A prompt's tokens are estimated as the server counted the last one, within what is
// possible.
func TestEstimate(t *testing.T) {
	w := window{size: 100}
	if n := w.estimate(400); n != 100 {
		t.Errorf("%d of 400 bytes, nothing counted", n)
	}
	for counted, want := range map[int64]int64{200: 400, 133: 266, 1: 100, 9999: 800} {
		if largest := w.count(400, &record.Usage{Input: counted}, 7); largest != max(counted, 7) {
			t.Errorf("the largest is %d", largest)
		}
		if n := w.estimate(800); n != want {
			t.Errorf("%d of 800 bytes, %d of 400 were counted, want %d", n, counted, want)
		}
	}
	before := w
	if w.count(400, &record.Usage{Input: 5, Estimated: true}, 0); w != before {
		t.Error("an estimate is not learned from")
	}
}
