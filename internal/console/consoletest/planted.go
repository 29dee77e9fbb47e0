package consoletest

import (
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// A Fault is a pair of runs of which one has a planted fault, and what a reader must see to
// know it.
type Fault struct {
	Name  string
	A, B  string
	Cause []string
}

// A planted run has what a fault can change.
type planted struct {
	goal, model, system, parameters string
	tools                           []record.Tool
	cycles                          []plantedCycle
	status, bound, result           string
}

type plantedCycle struct {
	thought, said, tool, arguments, result, failed, answer string
	missing, twice                                         bool   // the use of the tool
	failure, outage                                        string // an error after it, and one in place of the reply
	child                                                  string // what the tool of the called agent gave
	status                                                 string
}

// Planted records pairs of runs with one fault each. It returns the record's folder and the
// faults.
func Planted(t testing.TB) (dir string, faults []Fault) {
	t.Helper()
	w, dir := Open(t)
	defer w.Close()
	put := func(run string, cycle int, p record.Payload) record.Receipt {
		r, err := w.Append(t.Context(), record.Event{Run: run, Cycle: cycle, Payload: p})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i, f := range []struct {
		name   string
		change func(*planted)
		cause  []string
	}{
		{"the goal", func(p *planted) { p.goal = "Count the towers of Quebec." }, []string{"Ontario", "Quebec"}},
		{"the model", func(p *planted) { p.model = "qwen3:4b" }, []string{"qwen3:8b", "qwen3:4b"}},
		{"the instructions", func(p *planted) { p.system = "Be terse. Never use the archive." }, []string{"Never use the archive"}},
		{"the temperature", func(p *planted) { p.parameters = `{"temperature":1.9}` }, []string{"0.2", "1.9"}},
		{"a tool that is missing", func(p *planted) { p.tools = p.tools[:1] }, []string{"archive"}},
		{"another tool", func(p *planted) { p.cycles[3].tool = "guess" }, []string{"look_up", "guess"}},
		{"an argument", func(p *planted) { p.cycles[3].arguments = `{"tower":"number 33"}` }, []string{"number 4", "number 33"}},
		{"a result", func(p *planted) { p.cycles[4].result = "no such tower" }, []string{"metres", "no such tower"}},
		{"an error of a tool", func(p *planted) { p.cycles[2].result, p.cycles[2].failed = "error: the archive is closed", "failed" }, []string{"error: the archive is closed"}},
		{"a call that is not there", func(p *planted) { p.cycles[3].missing = true }, []string{"number 4"}},
		{"a call too many", func(p *planted) { p.cycles[1].twice = true }, []string{"number 2"}},
		{"an outage", func(p *planted) { p.cycles[4].outage = "the model server does not answer" }, []string{"the model server does not answer"}},
		{"an error of the run", func(p *planted) { p.cycles[5].failure = "the memory is full" }, []string{"the memory is full"}},
		{"an answer", func(p *planted) { p.cycles[5].answer = "Sixty-six towers." }, []string{"Tower 6 is known.", "Sixty-six towers."}},
		{"an answer that is empty", func(p *planted) { p.cycles[2].answer = "" }, []string{"Tower 3 is known."}},
		{"a thought", func(p *planted) { p.cycles[4].thought = "I make it up." }, []string{"I make it up."}},
		{"what a called agent found", func(p *planted) { p.cycles[3].child = "the page is torn" }, []string{"the page is torn"}},
		{"a run that stops early", func(p *planted) { p.cycles = p.cycles[:4] }, []string{"number 5"}},
		{"a bound", func(p *planted) { p.status, p.bound = "bounded", "tokens" }, []string{"done", "bounded", "tokens"}},
		{"a difference far into a long result", func(p *planted) { p.cycles[1].result = long("north") }, []string{"north", "south"}},
	} {
		x := Fault{f.name, fmt.Sprintf("plain-%d", i+1), fmt.Sprintf("fault-%d", i+1), f.cause}
		for _, run := range []string{x.A, x.B} {
			p := plain()
			if run == x.B {
				f.change(p)
			}
			p.put(put, run)
		}
		faults = append(faults, x)
	}
	return dir, faults
}

// long is a result whose one telling word stands far from its beginning.
func long(word string) string {
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("line %d of the archive says nothing of interest\n", i)
	}
	return text + "the tower stands in the " + word + "\n"
}

// plain is a run without a fault.
func plain() *planted {
	p := &planted{
		goal: "Count the towers of Ontario.", model: "qwen3:8b", system: "Be terse.", parameters: `{"temperature":0.2}`, status: "done", result: "Six towers.",
		tools: []record.Tool{{Name: "look_up", Definition: record.Say("{}")}, {Name: "archive", Definition: record.Say("{}")}},
	}
	for i := range 6 {
		p.cycles = append(p.cycles, plantedCycle{
			thought: fmt.Sprintf("Tower %d is next.", i+1), said: "I look.", tool: "look_up", arguments: fmt.Sprintf(`{"tower":"number %d"}`, i+1), result: fmt.Sprintf("%d metres", 100+i), answer: fmt.Sprintf("Tower %d is known.", i+1), status: "answered",
		})
	}
	p.cycles[1].result = long("south")
	p.cycles[3].child = "the page is whole"
	return p
}

func (p *planted) put(put func(string, int, record.Payload) record.Receipt, run string) {
	number := 0
	ask := func(run string, cycle int, raw string, calls []record.Call, failed string) *record.Ref {
		x := Exchange(p.model, p.goal, raw)
		x.Replies[0].ToolCalls = calls
		inv := record.Invocation{Model: p.model, Purpose: "act", Millis: 7, Replies: x.Replies, Error: failed, Parameters: record.Say(p.parameters), Tools: p.tools, Messages: append([]record.Message{{Role: "system", Text: record.Say(p.system)}}, x.Messages...)}
		if failed != "" {
			inv.Replies = nil
		}
		return &record.Ref{Seq: put(run, cycle, inv).Seq}
	}
	use := func(run string, cycle int, c record.Call, of *record.Ref, result, failed string, child *record.Child) {
		number++
		x := record.ToolCall{ID: c.ID, Name: c.Name, Number: number, Of: of, Phase: "start", Arguments: c.Arguments}
		put(run, cycle, x)
		x.Phase, x.Result, x.Error, x.Child, x.Millis = "end", record.Say(result), failed, child, 3
		put(run, cycle, x)
	}
	put(run, 0, record.RunStart{Agent: "counter", Model: p.model, Goal: record.Say(p.goal)})
	for i, c := range p.cycles {
		n := i + 1
		put(run, n, record.CycleStart{})
		if c.outage != "" {
			ask(run, n, "", nil, c.outage)
			put(run, n, record.CycleEnd{Status: "failed"})
			continue
		}
		times := 1
		if c.twice {
			times = 2
		}
		if c.missing {
			times = 0
		}
		for range times {
			call := record.Call{ID: fmt.Sprintf("c%d", number), Name: c.tool, Arguments: record.Say(c.arguments)}
			of := ask(run, n, "<think>"+c.thought+"</think>"+c.said, []record.Call{call}, "")
			use(run, n, call, of, c.result, c.failed, nil)
		}
		if c.child != "" {
			call := record.Call{ID: fmt.Sprintf("c%d", number), Name: "clerk", Arguments: record.Say(`{"task":"read the page"}`)}
			of := ask(run, n, "<think>The clerk reads.</think>", []record.Call{call}, "")
			below := fmt.Sprintf("%s+clerk.%d", run, n)
			put(below, 0, record.RunStart{Agent: "clerk", Parent: run, Goal: record.Say("read the page")})
			look := record.Call{ID: "k", Name: "page", Arguments: record.Say("{}")}
			use(below, 0, look, ask(below, 0, "<think>So be it.</think>", []record.Call{look}, ""), c.child, "", nil)
			put(below, 0, record.RunEnd{Status: "answered", Result: record.Say("The page says so.")})
			use(run, n, call, of, "The page says so.", "", &record.Child{Run: below})
		}
		if c.failure != "" {
			put(run, n, record.Failure{Code: "memory", Message: c.failure})
		}
		ask(run, n, "<think>Enough.</think>"+c.answer, nil, "")
		put(run, n, record.CycleEnd{Status: c.status, Millis: 40, Summary: record.Say(c.answer)})
	}
	put(run, 0, record.RunEnd{Status: p.status, Bound: p.bound, Cycles: len(p.cycles), Millis: 300, Result: record.Say(p.result)})
}
