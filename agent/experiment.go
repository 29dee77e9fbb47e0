package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// An Experiment is an agent that works unattended for some cycles. In each cycle it
// gets its goal and its earlier reflections, uses its tools, and ends with a
// reflection.
type Experiment struct {
	// Name is the run's name, of at most 48 bytes; see [record.CheckRun].
	Name string
	// System begins the system prompt; if empty, DefaultSystem.
	System string
	// Goal is what the agent is told in each cycle.
	Goal string
	// Cycles is how many cycles the run has; if zero, 10. A higher number extends a
	// run that has begun or ended with a lower one.
	Cycles int

	Model model.Model
	// API is the name of the provider's codec; see [Turn.API].
	API     string
	Request model.Request // settings; see [Turn.Request]
	// Grammar and Start are as in [Turn].
	Grammar *sotto.Grammar
	Start   sotto.Beginning
	Calls   CallMode
	Limits  Limits

	Policy Policy // if empty, Strip
	// DecisionMarks and DecisionTools are of [Selective]; if both are empty, the
	// mark is "Decision:".
	DecisionMarks, DecisionTools []string
	// ThoughtBudget bounds, in bytes, the thoughts that [Retrieve] brings back; if
	// zero, 4 KiB.
	ThoughtBudget int
	// Recall lets the agent search its earlier thoughts.
	Recall Recall
	// ReflectionBudget is how many bytes of earlier reflections, with the notes
	// beside them, a prompt holds. The latest are taken. If zero, 16 KiB.
	ReflectionBudget int
	// ReflectionHeading is the line above earlier reflections; if empty,
	// [DefaultHeading]. ReflectionLabel stands before each of them, with the number of
	// the cycle in the place of {cycle}; if empty, [DefaultLabel].
	ReflectionHeading, ReflectionLabel string
	// CarryCalls says which calls of earlier cycles a prompt holds; if empty,
	// [CarryNone]. CarryBudget is how many bytes of them; if zero, 8 KiB. The latest
	// are taken.
	CarryCalls  CarryMode
	CarryBudget int
	// Template asks for reflections of three parts; see [Reflection].
	Template bool

	Advisory Advisory
	// Embedder compares reflections. If nil, they are compared by their letters.
	Embedder model.Embedder

	// Memory gives the agent the tools of its memory, all of them or those named.
	Memory []string
	// Operator, if set, gives the agent the tool send_message_to_operator.
	Operator Operator
	// Wait is how long the agent waits for the operator's answer. Zero means not at all.
	Wait time.Duration
	// Tools are further tools.
	Tools  []Tool
	Agents []Subagent
	// Confirm names the tools and agents that are called only if the operator agrees.
	// Without an operator, or a time to wait for the answer, those calls are refused.
	Confirm []string
	// Price and Currency say what tokens cost; see [Turn].
	Price    func(model string, input, output int64) (cost int64, known bool)
	Currency string

	// Settings is what the record says of the experiment. A run can only be resumed
	// with the same settings.
	Settings map[string]any
	// Secrets are the keys and tokens that its models and tools use. No record of a
	// run holds them.
	Secrets []string

	closers []func() error
}

// Close ends the connections of the tools that a file describes, and the processes
// that it started for them.
func (x *Experiment) Close() error { return closeAll(x.closers) }

// An Advisory says whether the agent is told that it repeats itself.
type Advisory struct {
	Off bool
	// Threshold is the similarity from which the agent is told; if zero, the
	// method's default.
	Threshold float64
}

const (
	// DefaultHeading stands above earlier reflections unless another is given.
	DefaultHeading = "## Your reflections of earlier cycles"
	// DefaultLabel stands before each of them unless another is given.
	DefaultLabel = "**Cycle {cycle}**:"
)

// AllMemory names all tools of the memory.
func AllMemory() []string { return []string{"write", "read", "list", "delete", "pattern_search"} }

// DefaultSystem is how the system prompt begins unless one is given.
const DefaultSystem = `You work alone, in cycles, and nobody watches each step. In every cycle you may use your tools; what you write when you call none is your reflection, which ends the cycle. Between cycles you keep only your reflections and what you have written to your memory. Say in each reflection what you did, what you found, and what comes next.`

// Options say where a run is kept.
type Options struct {
	// Record is the folder of the record, and Memory that of the memories.
	Record, Memory string
	// RecordOptions say how the record is written. A run is resumed from its record,
	// so the levels must be full. KeepFor and KeepSize prune when the run begins and
	// when it ends, and nothing of the run itself.
	RecordOptions record.Options
	// Identities decrypt a record that is encrypted to recipients. Without them such
	// a record can be begun, but no run in it resumed or replayed.
	Identities []age.Identity
	Observer   Observer
	Log        *slog.Logger // if nil, nothing is logged
}

const defaultCycles = 10

// maxRunName leaves room for the names of agents below a run.
const maxRunName = 48

// checkName returns what is wrong with the name of a top-level run.
func checkName(name string) error {
	if name == "" || len(name) > maxRunName || strings.Contains(name, childMark) || record.CheckRun(name) != nil {
		return fmt.Errorf("%q: want 1 to %d letters, digits, or . _ - : @, and no . or - first", name, maxRunName)
	}
	return nil
}

// check returns what is wrong with an experiment.
func (x *Experiment) check() error {
	var list []error
	if err := checkName(x.Name); err != nil {
		list = append(list, fmt.Errorf("name %w", err))
	}
	if x.Model == nil {
		list = append(list, errors.New("no model"))
	}
	if x.Cycles < 0 {
		list = append(list, errors.New("negative number of cycles"))
	}
	of := func(field string, err error) {
		if err != nil {
			list = append(list, fmt.Errorf("%s: %w", field, err))
		}
	}
	if key, err := x.Recall.check(x.Policy); err != nil {
		list = append(list, fmt.Errorf("Recall: %s %w", key, err))
	}
	of("CarryCalls", x.CarryCalls.check())
	of("ReflectionHeading", checkHeading(x.ReflectionHeading))
	of("ReflectionLabel", checkLabel(x.ReflectionLabel))
	for i := range x.Agents {
		list = append(list, x.Agents[i].check(1))
	}
	return errors.Join(list...)
}

func (x Experiment) filled() *Experiment {
	x.Cycles = cmp.Or(x.Cycles, defaultCycles)
	x.System = cmp.Or(x.System, DefaultSystem)
	x.Policy = cmp.Or(x.Policy, Strip)
	x.ThoughtBudget = cmp.Or(x.ThoughtBudget, 4<<10)
	x.ReflectionBudget = cmp.Or(x.ReflectionBudget, 16<<10)
	x.ReflectionHeading = cmp.Or(x.ReflectionHeading, DefaultHeading)
	x.ReflectionLabel = cmp.Or(x.ReflectionLabel, DefaultLabel)
	x.Recall.Budget = cmp.Or(x.Recall.Budget, defaultRecallBudget)
	x.CarryBudget = cmp.Or(x.CarryBudget, defaultCarryBudget)
	x.Limits = x.Limits.filled()
	return &x
}

// planAs sets the number of cycles to that of a recorded start, also in the settings
// that are recorded.
func (x *Experiment) planAs(start *record.RunStart) {
	var settings struct{ Cycles *int }
	if json.Unmarshal([]byte(start.Config["experiment"]), &settings) != nil {
		return // it does not say
	}
	x.Cycles = defaultCycles
	if x.Settings != nil {
		x.Settings = maps.Clone(x.Settings)
		delete(x.Settings, "cycles")
	}
	if settings.Cycles != nil {
		x.Cycles = *settings.Cycles
		if x.Settings != nil {
			x.Settings["cycles"] = x.Cycles
		}
	}
}

// config returns what RUN_START says: all settings that the run depends on.
func (x *Experiment) config() map[string]string {
	settings := x.Settings
	if settings == nil {
		settings = map[string]any{
			"cycles": x.Cycles, "system": x.System, "policy": x.Policy, "calls": x.Calls, "template": x.Template,
			"limits": x.Limits, "memory": x.Memory, "start": x.Start, "request": x.Request,
		}
		x.addSettings(settings)
	}
	text := encode(settings)
	config := map[string]string{"experiment": string(text), "sha256": record.DigestOf(string(text)).String()}
	config["overflow"] = "cut" // earlier versions only warned; see window
	if tools := foreignTools(x.Tools); tools != "" {
		config["tools"] = tools
	}
	return config
}

// addSettings adds the settings that earlier versions did not have, unless they have
// their defaults: a run that was recorded without them can be resumed.
func (x *Experiment) addSettings(settings map[string]any) {
	if x.CarryCalls.on() {
		settings["carry-calls"], settings["carry-budget"] = x.CarryCalls, x.CarryBudget
	}
	if x.Recall.On {
		settings["recall"] = map[string]any{"runs": x.Recall.Runs, "budget": x.Recall.Budget}
	}
	if x.ReflectionHeading != DefaultHeading {
		settings["reflection-heading"] = x.ReflectionHeading
	}
	if x.ReflectionLabel != DefaultLabel {
		settings["reflection-label"] = x.ReflectionLabel
	}
}

// changed finds the first setting in which two configurations differ.
func changed(was, now string) Difference {
	d := Difference{Field: "settings"}
	var a, b any
	if json.Unmarshal([]byte(was), &a) == nil && json.Unmarshal([]byte(now), &b) == nil {
		d.find("settings", a, b)
	}
	return d
}

// Planned returns how many cycles the run has if nothing ends it early.
func (x *Experiment) Planned() int { return cmp.Or(x.Cycles, defaultCycles) }
