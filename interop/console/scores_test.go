package console

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// scored judges two runs of replies to sums, of which the second is right more often.
func scored(t *testing.T) *scoreview.Files { return scoredIn(t, t.TempDir()) }

// scoredIn is scored, with the files in a folder. The page names them by it.
func scoredIn(t *testing.T, dir string) *scoreview.Files {
	t.Helper()
	all := &scoreview.Files{}
	add := func(name string, data []byte) *scoreview.File {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := scoreview.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var asked []byte
	for run, off := range []int{3, 5} {
		var judged []byte
		for i := range 40 {
			says := i * 17
			if i%off == 0 {
				says++
			}
			raw := fmt.Sprintf("<think>\n17 times %d: ten times is %d, seven times is %d.\n</think>\nFirst I take the tens, then the rest.\n\nThe answer is %d.", i, 10*i, 7*i, says)
			if i%7 == 6 {
				raw = fmt.Sprintf("<think>hm, %d</think>\nI cannot tell without a calculator.", i)
			}
			id, text := fmt.Sprintf(`"sum-%03d"`, i), strconv.Quote(raw)
			x := answer.Extract(answer.Number, raw, answer.Problem{}, answer.Options{End: sotto.EndStopped})
			line := scoring.AppendVerdict(scoring.AppendExtraction(nil, []byte(id), x), answer.Number.Validate(x.Candidate, answer.Problem{Gold: strconv.Itoa(17 * i)}))
			judged = append(append(judged, line...), "}\n"...)
			if run == 0 {
				question, _ := json.Marshal(fmt.Sprintf("What is 17 times %d?", i))
				asked = fmt.Appendf(asked, `{"id":%s,"raw":%s,"gold":"%d","model":"qwen3:%db","input":%s}`+"\n", id, text, 17*i, 4+4*(i%2), question)
			}
		}
		all.Scores = append(all.Scores, add(fmt.Sprintf("run-%d.jsonl", run+1), judged))
	}
	all.Replies = []*scoreview.File{add("replies.jsonl", asked)}
	return all
}
