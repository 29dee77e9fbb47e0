// Package agent runs agents that work in cycles. It records in full what they think
// and do, and puts into their later prompts only what they said.
//
//	x := agent.Experiment{Name: "leap", Goal: "Find the rule.", Model: m, Memory: agent.AllMemory()}
//	result, err := agent.Run(ctx, x, agent.Options{Record: "audit", Memory: "audit/memory"})
//
// A cycle is a new conversation. The model gets its goal and the reflections of
// earlier cycles, and calls tools. What it writes when it calls none is the
// cycle's reflection. A [Turn] is that conversation alone, for servers that
// answer messages.
//
// # The machine
//
//	load → assemble → invoke → parse → dispatch → … → finalize → load | terminate
//
// machine.go describes its states, on one page.
//
// # Guarantees
//
//  1. Only visible text is delivered: to observers, to the operator, to tools
//     that take prose, and from an agent to the agent above it.
//  2. Under policy [Strip] no thought is in a later prompt, a reflection or the
//     memory, wherever a reply was cut. The exception is reasoning that a provider
//     requires back: it goes back to that provider, within a turn.
//  3. The record holds every reply, every prompt, and every call with its result,
//     all complete. A run can be resumed from its record and its memory alone.
//  4. A run that is killed at any point and resumed leaves the same record as one
//     that was not, except for timestamps. No recorded reply is asked for again,
//     and no call whose end is recorded is made again.
//  5. A call that a crash left open is made again, under the same [Use.Key], if its
//     tool is a [Repeater] that allows it. Those of the memory and of the operator
//     allow it. Otherwise the model is told that its end is not known.
//  6. Only one process at a time runs in a record ([record.ErrLocked]).
//  7. A call that the model wrote into its text is not a reflection. It is made
//     only if [CallMode] says so.
//  8. Everything that a model, a tool or an operator can make larger has a bound,
//     in [Limits] and the constants. If a bound ended a cycle or a run, the
//     record says which.
//
// # What cannot be promised
//
// Reasoning without any marker looks like an answer. A reply may be cut inside a
// block that the template opened, before its close. It is read as a thought if
// the dialect's templates open a block, and else as the start says
// ([Turn.Start]). A model may repeat its thoughts in its answer. A tool may
// repeat in its result an argument that is not prose ([Func.Prose]).
//
// # Security
//
// What models write is untrusted. Arguments are checked against the tool's schema,
// which must not refer to other documents. The configuration sets a tool's
// endpoint, and redirects are not followed. The endpoint's answer is text for the
// model, which may do what it says. So give an agent only tools that may be called
// by anyone who can write what it reads. Keys are kept in the environment or in
// files, never in a record.
package agent
