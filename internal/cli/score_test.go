package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// TestWilson holds the interval to published values.
func TestWilson(t *testing.T) {
	for _, test := range []struct {
		count, n  int
		low, high float64
	}{
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {81, 263, 0.2553, 0.3662}, {0, 0, 0, 1},
	} {
		r := newRate("", test.count, test.n)
		if math.Abs(r.Low-test.low) > 5e-5 || math.Abs(r.High-test.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f … %.4f, want %.4f … %.4f", test.count, test.n, r.Low, r.High, test.low, test.high)
		}
	}
}

// TestPassAtK counts every choice of k replies.
func TestPassAtK(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for c := range n + 1 {
			for k := 1; k <= n; k++ {
				hit, all := 0, 0
				for set := range 1 << n {
					if ones(set) != k {
						continue
					}
					all++
					if set&(1<<c-1) != 0 {
						hit++
					}
				}
				if got, want := passAtK(n, c, k), float64(hit)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Errorf("n %d c %d k %d: %v, want %v", n, c, k, got, want)
				}
			}
		}
	}
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

func TestMajority(t *testing.T) {
	for _, test := range []struct {
		votes map[uint64]share
		want  float64
	}{
		{nil, 0},
		{map[uint64]share{1: {3, 3}, 2: {2, 0}}, 1},
		{map[uint64]share{1: {3, 0}, 2: {2, 2}}, 0},
		{map[uint64]share{1: {2, 0}, 2: {2, 2}}, 0.5},
		{map[uint64]share{1: {1, 0}, 2: {1, 1}, 3: {1, 0}}, 1.0 / 3},
	} {
		if got := (&samples{votes: test.votes}).majority(); got != test.want {
			t.Errorf("%v: %v, want %v", test.votes, got, test.want)
		}
	}
}

// TestSummaryIsTheSameInAnyOrder shuffles the lines.
func TestSummaryIsTheSameInAnyOrder(t *testing.T) {
	lines := gameLines(3000)
	args := []string{"score", "--task", "game24", "--jsonl", "--json", "--k", "--by-field", "arm", "--logged-field", "logged"}
	_, report, _ := runSotto(t, strings.Join(lines, "\n"), args...)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if _, again, _ := runSotto(t, strings.Join(lines, "\n"), args...); lastLine(again) != lastLine(report) {
			t.Fatalf("the summary is\n%s, was\n%s", lastLine(again), lastLine(report))
		}
	}
}

// TestPage reads the page as a browser that forgives nothing would.
func TestPage(t *testing.T) {
	hostile := `{"id":"<script>alert(1)</script>","input":"1 2 3 4 \"><img src=x onerror=y>","arm":"</svg><script>","raw":"<think>if a < b & c</think>Answer: </pre><script src='http://e.example/x.js'></script> \u202e\u001b[31m"}`
	lines := strings.Join(append([]string{hostile, hostile}, gameLines(200)...), "\n")
	name := filepath.Join(t.TempDir(), "page.html")
	_, report, _ := runSotto(t, lines, "score", "--task", "game24", "--jsonl", "--html", name, "--by-field", "arm", "--logged-field", "logged")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err, report)
	}
	wellFormed(t, string(data))
	for _, bad := range []string{"<script", "<img", "src=", "href=", "url(", "@import", " on", "\x1b", "\u202e"} {
		if i := strings.Index(tagsOf(string(data)), bad); i >= 0 {
			t.Errorf("the page holds %q", bad)
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(data)
	sum := sha256.Sum256(style[1])
	policy := regexp.MustCompile(`content="(default-src[^"]*)"`).FindSubmatch(data)
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(strings.ReplaceAll(string(policy[1]), "&#43;", "+"), hash) {
		t.Errorf("the policy %s does not allow the style %s", policy[1], hash)
	}
	for _, want := range []string{`<span class="reasoning">if a &lt; b &amp; c</span>`, `class="text candidate"`, "<polyline", "Best of k"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// tagsOf returns the tags of a page, and every byte that would act outside them.
func tagsOf(page string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>|[\x00-\x08\x0e-\x1f\x{202a}-\x{202e}]`).FindAllString(page, -1), "\n")
}

func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.Replace(page, "<!DOCTYPE html>", "", 1)))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if n := len(open); n == 0 || open[n-1] != token.Name.Local {
				t.Fatalf("</%s> closes %v", token.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v is not closed", open)
	}
}

// BenchmarkScore judges lines of ordinary replies on one core.
func BenchmarkScore(b *testing.B) {
	text := strings.Join(notBroken(gameLines(20000)), "\n")
	text = strings.ReplaceAll(text, `"input":"3 8 1 `, `"input":"3 8 1 `)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if status := Run([]string{"score", "--task", "game24", "--jsonl"}, strings.NewReader(text), io.Discard, io.Discard, noEnv); status == shell.StatusUsage {
			b.Fatal(status)
		}
	}
}
