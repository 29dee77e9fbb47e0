// Package agent runs agents that work in cycles, records in full what they think
// and do, and lets into their later prompts what they said.
//
//	x := agent.Experiment{Name: "leap", Goal: "Find the rule.", Model: m, Memory: agent.AllMemory()}
//	result, err := agent.Run(ctx, x, agent.Options{Record: "audit", Memory: "audit/memory"})
//
// A cycle is one turn of a conversation that begins anew: the model gets its goal
// and the reflections of earlier cycles, calls tools, and what it writes when it
// calls none is the cycle's reflection. A [Turn] is that conversation alone, for
// servers that answer messages.
//
// # The machine
//
//	load → assemble → invoke → parse → dispatch → … → finalize → load | terminate
//
// machine.go has its states, on one page.
//
// # Guarantees
//
//  1. What is delivered is visible text: to observers, to the operator, to tools
//     that take prose, and from an agent to the agent above it.
//  2. Under policy [Strip] no thought is in a later prompt, a reflection or the
//     memory, wherever a reply was cut; but what a provider requires back goes
//     back to it, within a turn.
//  3. The record holds every reply whole, every prompt, and every call with its
//     result. A run goes on from its record and its memory alone.
//  4. A run that was killed at any point ends with the record that it had had
//     without, but for the times. No reply that was recorded is asked for again,
//     and no call that has its end.
//  5. A call that a crash left open is made again, under the same [Use.Key], if its
//     tool is a [Repeater] that allows it, and those of the memory and of the
//     operator do. Else the model is told that its end is not known.
//  6. One process at a time runs in a record ([record.ErrLocked]).
//  7. A call that the model wrote into its text is no reflection. It is made only
//     where [CallMode] says so.
//  8. Everything a model, a tool or an operator can make grow has a bound, in
//     [Limits] and the constants; the bound that ended a cycle or a run is in the
//     record.
//
// # What cannot be promised
//
// Reasoning without any marker cannot be told from an answer. A reply that the
// template opened inside a block, and that was cut before its close, is a thought
// where the dialect's templates do that, and else is read as the start says
// ([Turn.Start]). A model may repeat in its answer what it thought, and a tool in
// its result what it got in an argument that is no prose ([Func.Prose]).
//
// # Security
//
// What models write is untrusted. Arguments are checked against the tool's schema;
// a schema refers to nothing outside. A tool's endpoint is the configuration's,
// redirects are not followed, and what it answers is text for the model, which may
// do what it says: give an agent only tools that may be called by anyone who can
// write what it reads. Keys stand in the environment or in files, and in no
// record.
package agent
