package a2aserver

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// A kitCase is a reply of the splitter's corpus and how it reads.
type kitCase struct {
	ID      string
	Raw     string
	Deltas  []string
	Dialect string
	Start   sotto.Beginning
	End     sotto.Ending
	grammar *sotto.Grammar
	visible string
	// undecided replies are withheld.
	undecided bool
}

func kit(t *testing.T) []kitCase {
	t.Helper()
	data, err := os.ReadFile("../testdata/conformance.dialects.json")
	if err != nil {
		t.Fatal(err)
	}
	own, err := dialectfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	grammars := map[string]*sotto.Grammar{}
	for _, d := range append(dialect.All(), own...) {
		grammars[d.Name] = sotto.MustCompile(d)
	}
	var cases []kitCase
	lines(t, "../testdata/conformance.jsonl", func(c kitCase) {
		c.Raw += strings.Join(c.Deltas, "")
		c.grammar = grammars[c.Dialect]
		if c.grammar == nil {
			t.Fatalf("%s: no dialect %q", c.ID, c.Dialect)
		}
		r, err := c.grammar.ParseWith(c.Raw, sotto.Options{Start: c.Start, Tools: noTools}, c.End)
		if err != nil {
			t.Fatal(err)
		}
		c.visible = r.Visible()
		c.undecided = c.Start == sotto.BeginAuto && undecided(c.grammar, slices.ContainsFunc(r.Segments, func(s sotto.Segment) bool { return s.Channel != sotto.ChannelText }), c.End)
		cases = append(cases, c)
	})
	if len(cases) < 300 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}

func lines[T any](t *testing.T, name string, line func(T)) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		line(v)
	}
}

// pieces is a model whose reply comes in given pieces.
type pieces struct {
	list []string
	end  sotto.Ending
}

func (pieces) Name() string { return "pieces" }

func (p pieces) Invoke(_ context.Context, _ model.Request, on func(model.Delta) error) (model.Reply, error) {
	for _, text := range p.list {
		if err := on(model.Delta{Text: text}); err != nil {
			return model.Reply{End: sotto.EndAborted}, err
		}
	}
	return model.Reply{Raw: strings.Join(p.list, ""), End: p.end}, nil
}

// TestCorpus holds the law of the delivery to every reply of the corpus, at
// every cut and byte by byte: what artifacts hold at any moment is a beginning
// of the visible text, the last one is all of it, and a reply that shows
// nothing has none.
func TestCorpus(t *testing.T) {
	s, err := New(Config{Mind: says(""), Reasoning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.gaps = gaps{}
	ctx, _ := a2asrv.NewCallContext(t.Context(), a2asrv.NewServiceParams(map[string][]string{
		"A2A-Extensions": {ReasoningExtension + ", " + ChunksExtension},
	}))
	chosen := effort.OneIn(7, "cuts")
	for _, c := range kit(t) {
		mind := &ChatMind{Grammar: c.grammar, Start: c.Start}
		s.mind = mind
		for cut := 0; cut < len(c.Raw); cut++ {
			if !chosen() {
				continue
			}
			mind.Model = pieces{[]string{c.Raw[:cut], c.Raw[cut:]}, c.End}
			deliver(t, ctx, s, c, cut)
		}
		mind.Model = pieces{strings.Split(c.Raw, ""), c.End}
		deliver(t, ctx, s, c, -1)
		bytes := make([]string, len(c.Raw))
		for i := range len(c.Raw) {
			bytes[i] = c.Raw[i : i+1]
		}
		mind.Model = pieces{bytes, c.End}
		deliver(t, ctx, s, c, -2)
	}
}

func deliver(t *testing.T, ctx context.Context, s *Server, c kitCase, cut int) {
	t.Helper()
	ec := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c", Message: message("Hi").Message}
	want := valid(c.visible)
	if c.undecided {
		want = ""
	}
	var held string
	var whole, over bool
	for e, err := range (&executor{s}).Execute(ctx, ec) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			if len(e.Artifact.Parts) != 1 || IsThought(e.Artifact.Parts[0]) {
				t.Errorf("%s cut at %d: artifact %+v", c.ID, cut, e.Artifact)
			}
			text := e.Artifact.Parts[0].Text()
			if !e.Append {
				held = ""
			}
			held += text
			if whole || text == "" || !strings.HasPrefix(want, held) {
				t.Errorf("%s cut at %d: artifact %q, after the whole: %v, want %q", c.ID, cut, held, whole, want)
			}
			whole = e.LastChunk
		case *a2a.TaskStatusUpdateEvent:
			over = e.Status.State.Terminal()
			if over && (e.Status.State == a2a.TaskStateCompleted) != (whole && e.Metadata[OutcomeKey] != string(Aborted)) {
				t.Errorf("%s cut at %d: ends as %v %v, whole: %v", c.ID, cut, e.Status.State, e.Metadata, whole)
			}
		}
	}
	s.done(ec)
	if blank(want) {
		want = ""
	}
	if !over || held != want || whole != (want != "") {
		t.Errorf("%s cut at %d: %q, want %q", c.ID, cut, held, want)
	}
}
