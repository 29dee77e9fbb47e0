package leftout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

var tree = Object("id model", Members{
	"parts": List(ByType(map[string]*Value{
		"text": Object("type text", nil), "picture": As("+.picture", Answer(func(v gjson.Result) bool { return v.Get("data").Exists() })),
	})),
	"content": TextOr(List(Object("text", nil))),
	"delta":   As("parts[]", Object("text", Members{"note": As("/notes", Lost)})),
	"usage":   Object("all", nil).WithQuiet("tier_of_it"),
	"times":   Quiet,
	"counts":  Object("all", nil).RestQuiet(),
	"filter":  QuietUnless("blocked"),
})

func find(v *Value, data string, pictures bool) (found []string) {
	v.Find([]byte(data), pictures, func(f Finding) {
		if f.Answer {
			f.Path += "!"
		}
		found = append(found, f.Path)
	})
	return found
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		data, found string
		pictures    bool
	}{
		{`{"id":"a","model":{"x":1},"parts":[{"type":"text","text":"x"}]}`, "", false},
		{`{"id":"a","none":null,"no":false,"zero":0,"empty":"","list":[],"object":{"a":[null,{"b":0}]}}`, "", false},
		{`{"tier":"flex","usage":{"all":3,"some":2},"rate":0.5,"yes":true}`, "tier usage.some rate yes", false},
		{`{"parts":[{"type":"text","text":"x","notes":["n"]},{"type":"search","q":"x"},{"type":"text","notes":["n"]},{"q":"x"},"x"]}`, "parts[].notes parts[].search parts[].notes parts[] parts[]", false},
		{`{"parts":[{"type":"picture","data":"x"},{"type":"picture","url":"x"}]}`, "parts[].picture! parts[].picture!", false},
		{`{"parts":[{"type":"picture","data":"x"},{"type":"picture","url":"x"}]}`, "parts[].picture!", true},
		{`{"content":"x","parts":"y","usage":[1]}`, "parts usage", false},
		{`{"content":[{"text":"x","more":"x"}]}`, "content[].more", false},
		{`{"delta":{"text":"x","note":"n","more":1}}`, "notes parts[].more", false},
		{`{"parts":[{"type":"a <think>b","x":1},{"type":"+/x","x":1}],"/x y":1,"+z":1,"a.b":1,"":1}`, "parts[].* parts[].* * * a.b *", false},
		{`[1]`, "", false}, // the path of the whole is empty
	} {
		found := slices.DeleteFunc(find(tree, c.data, c.pictures), func(s string) bool { return s == "" })
		if got := strings.Join(found, " "); got != c.found {
			t.Errorf("%s: %q, want %q", c.data, got, c.found)
		}
	}
}

// TestFindQuiet: bookkeeping is found on demand only, and nothing else is then.
func TestFindQuiet(t *testing.T) {
	const data = `{"id":"a","counts":{"all":1,"some":1},"filter":[{"results":{"hate":{"citation":{"blocked":false}}}}],"times":{"all":5},"usage":{"all":3,"tier_of_it":"flex","some":2},"parts":[{"type":"search"}]}`
	if got := find(tree, data, false); !slices.Equal(got, []string{"usage.some", "parts[].search"}) {
		t.Errorf("found %q", got)
	}
	quiet := func(data string) (paths []string) {
		tree.FindQuiet([]byte(data), func(path string) { paths = append(paths, path) })
		return paths
	}
	if got := quiet(data); !slices.Equal(got, []string{"counts.some", "filter", "times", "usage.tier_of_it"}) {
		t.Errorf("quiet are %q", got)
	}
	deep := strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000)
	for _, data := range []string{`{"filter":[{"hate":{"blocked":true,"severity":"high"}}]}`, `{"filter":{"all":` + deep + `}}`} {
		if got := quiet(data); len(got) > 0 {
			t.Errorf("%.100s: quiet are %q", data, got)
		}
	}
	if got := find(tree, `{"filter":[{"hate":{"blocked":true}}]}`, false); !slices.Equal(got, []string{"filter"}) {
		t.Errorf("of a verdict, found %q", got)
	}
	if got := quiet(`{"times":{"all":0},"usage":{"tier_of_it":null}}`); len(got) > 0 {
		t.Errorf("of empty members, quiet are %q", got)
	}
}

// TestFindDeep: a value is not followed deeper than the tree, and something is found in it.
func TestFindDeep(t *testing.T) {
	const deep = 100_000
	data := `{"x":` + strings.Repeat(`[`, deep) + strings.Repeat(`]`, deep) + `,"` + strings.Repeat("n", 1000) + `":1}`
	if got := find(tree, data, false); !slices.Equal(got, []string{"x", "*"}) {
		t.Errorf("%.200q", got)
	}
}

func BenchmarkFind(b *testing.B) {
	for _, size := range []int{4, 4000} {
		frame := fmt.Appendf(nil, `{"id":"c1","model":"m-1","delta":{"text":"%s"},"usage":null}`, strings.Repeat("x", size))
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				tree.Find(frame, false, func(Finding) {})
			}
		})
	}
}

// TestReply: of frames in any order, a reply finds what is found in each, and it looks at few frames that are alike.
func TestReply(t *testing.T) {
	frames := []string{
		`{"id":"a","delta":{"text":"%"}}`, `{"id":"a","delta":{"text":"%","note":"n"}}`, `{"id":"a","delta":{"note":"%"}}`, `{"id":"a","delta":{"more":"%"}}`,
		`{"parts":[{"type":"text","text":"%"}]}`, `{"parts":[{"type":"search","text":"%"}]}`, `{"parts":[{"type":"picture","data":"x","text":"%"}]}`,
		`{"parts":"%"}`, `{"content":"%"}`, `{"content":[{"text":"%"}]}`, `{"content":{"text":"%"}}`, `{"content":[{"text":"x","content":"%"}]}`,
		`{"created_at":"%","content":"%"}`, `{"times":{"text":"%"}}`, `{"times":{"text":"%"},"content":1}`, `{"counts":{"text":"%"},"x":"%"}`, `{"text":"%"}`, `%`, `{"content":"%`,
	}
	texts := []string{"", "a", `\"more\":1`, `\\`, `x","more":"y`, "created_at"}
	rnd := rand.New(rand.NewPCG(4, 2))
	for range 5000 {
		pictures := rnd.IntN(2) == 0
		r := tree.Reply(pictures)
		few := []string{frames[rnd.IntN(len(frames))], frames[rnd.IntN(len(frames))]}
		var want, got []string
		for range 8 {
			frame := few[rnd.IntN(2)]
			for strings.Contains(frame, "%") {
				frame = strings.Replace(frame, "%", texts[rnd.IntN(len(texts))], 1)
			}
			want = append(want, find(tree, frame, pictures)...)
			r.Find([]byte(frame), func(f Finding) {
				if f.Answer {
					f.Path += "!"
				}
				got = append(got, f.Path)
			})
			for _, path := range want {
				if !slices.Contains(got, path) {
					t.Fatalf("%q, after %q: %q was not found, but %q", frame, few, path, got)
				}
			}
			for _, path := range got {
				if !slices.Contains(want, path) {
					t.Fatalf("%q, after %q: %q was found, which is not there", frame, few, path)
				}
			}
		}
	}
	r, found := tree.Reply(false), 0
	for i := range 100 {
		r.Find(fmt.Appendf(nil, `{"id":"a","delta":{"text":"%d","more":1}}`, i), func(Finding) { found++ })
	}
	if found != 1 {
		t.Errorf("%d of 100 frames that are alike were looked at", found)
	}
}

// BenchmarkReply reads frames of a stream that are alike.
func BenchmarkReply(b *testing.B) {
	r, frame := tree.Reply(false), []byte(`{"id":"c1","model":"m-1","delta":{"text":"some"},"usage":null}`)
	b.ReportAllocs()
	for b.Loop() {
		r.Find(frame, func(Finding) {})
	}
}
