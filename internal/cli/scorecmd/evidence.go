package scorecmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/record"
)

// An evidence records a batch. Each input is a run. Each line is a cycle, numbered
// as the line, with the reply and the extraction from it. A nil evidence records
// nothing. It is safe for concurrent use.
type evidence struct {
	w     *record.Writer
	dir   string
	name  string // of the runs, without the number of the input
	agent string
	task  string
	model string
	// resumed says that an earlier run has recorded lines that are not in the
	// output.
	resumed bool
	began   time.Time

	mu     sync.Mutex
	runs   map[int]*evidenceRun // by the input's order
	failed error                // why recording stopped
}

// An evidenceRun is the run of one input.
type evidenceRun struct {
	name  string
	done  map[int]bool       // lines whose extraction is recorded
	asked map[int]record.Ref // lines of which only the reply is recorded
	ended bool               // its last event says so
}

// openEvidence opens the record of a command. It returns nil if none is requested.
func openEvidence(f *recording.Settings, sh *shell.Shell, agent string, e *scoring.Extractor, model string, o *output, resumed bool) (*evidence, error) {
	w, err := f.Open(nil, sh.Log(slog.LevelInfo))
	if w == nil || err != nil {
		return nil, err
	}
	v := &evidence{
		w: w, dir: f.Record, agent: agent, task: e.Task.Name(), model: model, resumed: resumed,
		began: time.Now(), runs: map[int]*evidenceRun{},
	}
	v.name = agent + "-" + v.began.UTC().Format("20060102T150405.000000000")
	if o.Output != "" && o.Output != "-" { // so that it can be found again
		whole, err := filepath.Abs(o.Output)
		if err != nil {
			whole = o.Output
		}
		sum := sha256.Sum256([]byte(whole))
		v.name = agent + "-" + hex.EncodeToString(sum[:8])
	}
	return v, nil
}

// checkResume refuses a run that cannot be resumed without recording lines twice.
func checkResume(f *recording.Settings, o *output) error {
	if o.Resume && f.Record != "" && len(f.RecordRecipient) > 0 {
		return errors.New("--resume does not work with an encrypted record: the command cannot read back what it wrote before")
	}
	return nil
}

// line records a reply and the extraction from it. verdict is nil if nothing was
// judged. What an earlier run has recorded is not recorded again.
func (v *evidence) line(p *scoring.Posed, found answer.Extraction, verdict *answer.Verdict) error {
	if v == nil {
		return nil
	}
	run, err := v.run(p.File)
	if err != nil {
		return v.fail(err)
	}
	number := max(p.Line, 1)
	v.mu.Lock()
	done, of := run.done[number], run.asked[number]
	run.ended = run.ended && done
	v.mu.Unlock()
	if done {
		return nil
	}
	if of.Seq == 0 {
		if of, err = v.reply(run, number, p); err != nil {
			return v.fail(err)
		}
	}
	_, err = v.w.Append(context.Background(), record.Event{Run: run.name, Cycle: number, Payload: extractionOf(of, v.task, found, verdict)})
	return v.fail(err)
}

// resumeRun resumes the run of an input of which an earlier run has done lines.
func (v *evidence) resumeRun(src *source) error {
	if v == nil || src.first == 0 {
		return nil
	}
	_, err := v.run(&src.origin)
	return v.fail(err)
}

// reply records what the model wrote.
func (v *evidence) reply(run *evidenceRun, number int, p *scoring.Posed) (record.Ref, error) {
	reply := record.Reply{Dialect: p.Name, Start: p.Start, End: p.End, Raw: record.Say(p.Raw)}
	if r, err := p.Grammar.Parse(p.Raw, p.Start, p.End); err == nil {
		reply = record.ReplyOf(r)
	}
	e := record.Invocation{Model: p.Model, Purpose: "logged", Replies: []record.Reply{reply}}
	if p.Problem.Input != "" {
		e.Messages = []record.Message{{Role: "user", Text: record.Say(p.Problem.Input)}}
	}
	receipt, err := v.w.Append(context.Background(), record.Event{Run: run.name, Cycle: number, Payload: e})
	if err != nil {
		return record.Ref{}, err
	}
	return record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}, nil
}

func extractionOf(of record.Ref, task string, found answer.Extraction, verdict *answer.Verdict) record.Extraction {
	e := record.Extraction{
		Of: of, Task: task, Method: found.Method, Status: string(found.Status), Rules: found.Rules,
		Candidate: record.Say(found.Candidate), Written: record.Say(found.Written),
	}
	if found.Span != nil {
		e.Span = &record.Span{Start: found.Span.Start, End: found.Span.End}
	}
	if verdict != nil {
		e.Verdict = &record.Verdict{OK: verdict.OK, Reason: string(verdict.Reason), By: verdict.By, Detail: record.Say(verdict.Detail)}
	}
	return e
}

// run returns the run of an input, which begins with its first line.
func (v *evidence) run(src *scoring.Origin) (*evidenceRun, error) {
	order, file := 0, ""
	if src != nil {
		order, file = src.Order, src.Name
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.runs[order]; r != nil || v.failed != nil {
		return r, v.failed
	}
	r := &evidenceRun{name: v.name}
	if order > 0 {
		r.name += "." + strconv.Itoa(order+1)
	}
	begun := false
	if v.resumed {
		var err error
		if begun, err = r.recall(v.dir); err != nil {
			return nil, err
		}
	}
	if !begun {
		config := map[string]string{"task": v.task, "file": cmp.Or(file, "-")}
		e := record.RunStart{Agent: "sotto " + v.agent, Model: v.model, Config: config}
		if _, err := v.w.Append(context.Background(), record.Event{Run: r.name, Payload: e}); err != nil {
			return nil, err
		}
	}
	v.runs[order] = r
	return r, nil
}

// recall finds what the last run of this name recorded.
func (r *evidenceRun) recall(dir string) (begun bool, err error) {
	reader, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		return false, err
	}
	half := map[int]uint64{}
	for e, err := range reader.Entries(record.Query{Run: r.name}) {
		if err != nil {
			return false, err
		}
		r.ended = e.Type == record.TypeRunEnd
		switch e.Type {
		case record.TypeRunStart:
			begun, half, r.done = true, map[int]uint64{}, map[int]bool{}
		case record.TypeInvocation:
			half[e.Cycle] = e.Seq
		case record.TypeExtraction:
			delete(half, e.Cycle)
			if r.done != nil {
				r.done[e.Cycle] = true
			}
		}
	}
	r.asked = map[int]record.Ref{}
	for number, seq := range half {
		for e, err := range reader.Events(record.Query{After: seq - 1, Limit: 1}) {
			if err != nil {
				return false, err
			}
			if p, ok := e.Payload.(record.Invocation); ok && e.Seq == seq && len(p.Replies) == 1 {
				r.asked[number] = record.Ref{Seq: seq, Digest: p.Replies[0].Digest}
			}
		}
	}
	return begun, nil
}

// fail notes why recording stopped. After that there is no further output.
func (v *evidence) fail(err error) error {
	if err == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = v.named(err)
	}
	return v.failed
}

// named adds the record's name to an error. It does not wrap the error: the code
// that writes the output shows only the cause of a file's error, so that it would
// look as if the output had failed.
func (v *evidence) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the record in %s: %v", v.dir, err)
}

// together lets lines that wait for the disk wait together.
func (v *evidence) together(p *batch.Pipeline) *batch.Pipeline {
	if v != nil {
		p.Workers, p.Batch = 128, 2<<10
	}
	return p
}

// guard returns a writer that stops writing objects once recording has failed, so
// that everything in the output is in the record.
func (v *evidence) guard(w io.Writer) io.Writer {
	if v == nil {
		return w
	}
	return shell.WriterTo(func(p []byte) error {
		v.mu.Lock()
		failed := v.failed
		v.mu.Unlock()
		if failed != nil {
			return failed
		}
		_, err := w.Write(p)
		return err
	})
}

// open returns the runs without an end, and why recording stopped. If a batch broke
// off, some of its lines may still be in progress.
func (v *evidence) open() (runs []string, failed error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.runs {
		if !r.ended {
			runs = append(runs, r.name)
		}
	}
	return runs, v.failed
}

// end ends the runs according to how the batch ended, and closes the record.
func (v *evidence) end(err error) error {
	if v == nil {
		return err
	}
	status := "done"
	switch {
	case errors.Is(err, batch.ErrFailed):
		status = "lines failed"
	case err != nil && !errors.Is(err, shell.ErrNoVisible):
		status = "failed"
	}
	open, failed := v.open()
	for _, run := range open {
		if failed != nil {
			break
		}
		e := record.RunEnd{Status: status, Millis: time.Since(v.began).Milliseconds()}
		_, cause := v.w.Append(context.Background(), record.Event{Run: run, Payload: e})
		failed = v.fail(cause)
	}
	closed := v.named(v.w.Close())
	if err == nil || errors.Is(err, batch.ErrFailed) {
		err = worst(err, failed, closed)
	}
	if err != nil && failed != nil {
		return errorhint.Add(err, "the record has all output so far; with --output, --resume continues from there")
	}
	return err
}
