// Package a2aserver makes an agent available over A2A, the protocol by which
// agents talk to each other. It never passes on the agent's thoughts as its
// answer.
//
//	s, err := a2aserver.New(a2aserver.Config{Mind: &a2aserver.ChatMind{Model: m}})
//	…
//	http.ListenAndServe("127.0.0.1:8383", s)
//
// A [Mind] answers: [ChatMind] is one reply of any model of package model,
// [AgentMind] an agent of package agent with its tools. The protocol is served by
// the official Go SDK: JSON-RPC and REST of 1.0, JSON-RPC of 0.3, and the agent
// card at /.well-known/agent-card.json. A [Remote] is the opposite: an A2A agent
// as a tool. Package probe checks any A2A server.
//
// # What a client gets
//
//	task submitted → working → … progress … → artifact → completed
//
// Progress comes as status updates: tools that start and end, and narration. At the
// end comes one artifact, "answer", with one text part. A task without an answer
// has no artifact, and an [Ending] says why. If the mind has a question, the task
// waits as input-required, with the question as its status message. The next
// message to the same task is the answer.
//
// # Guarantees
//
//  1. No artifact and no piece of one holds reasoning, or a part of a marker,
//     wherever the model's stream was cut. Pieces, joined, are a beginning of
//     the answer; the last artifact update holds all of it and replaces them. A
//     reply that was cut before it showed how it began may all be reasoning, and
//     is withheld, unless its family or the operator says otherwise.
//  2. Reasoning leaves the server only if [Config.Reasoning] allows it and the
//     client asked for it by [ReasoningExtension]. It then comes in status updates,
//     in separate parts that are marked by [ThoughtKey]. Incoming parts with that
//     mark reach no mind.
//  3. A task's history is small: a turn of any length has about a hundred
//     updates at most, and 256 KiB of narration and reasoning.
//  4. What the card declares is supported, and what it does not declare is refused.
//  5. Tasks are on disk before a client sees them. After a restart, finished
//     and waiting tasks are available again; work that was in progress has failed,
//     as [Interrupted]. A conversation goes on with its finished turns: a turn that
//     was killed is part of it whole or not at all.
//  6. A task that has ended does not change: a cancelled one stays cancelled,
//     whatever its mind still says.
//  7. Pushes go to public addresses over TLS, or where [Config.PushTo] says; the
//     address that is dialed is checked each time, redirects are not followed.
//     A task never waits for a push. The push that says that a task has ended or
//     waits is on disk from the moment its state is, until it has arrived or was
//     refused. It arrives at least once, always with the same Idempotency-Key.
//  8. Off loopback the server needs a token. Tokens are compared in constant time,
//     and each caller sees only its own tasks.
//  9. Everything that a peer can make larger has [Limits], and waiting tasks of
//     one caller do not keep others out. A mind that gives no sign of life is
//     ended; a long answer is not.
//  10. A request takes one of the caller's places when its body has arrived, and
//     the memory of all requests is bounded. A page of tasks costs the memory of
//     the tasks on it, however many are stored.
//  11. With [Config.Record], all that a mind of this package thinks is recorded
//     before its answer is given: a task is a run, a message to it is a cycle.
//  12. A message that the same caller sends again runs once, also after a restart.
//     It is answered with the task that took it. Another content under its id is
//     refused.
//
// # Security
//
// What a model writes is its claim, not a trust boundary: reasoning that it
// writes without any marker looks like part of its answer. The file of tasks
// holds messages, answers, and the credentials of push configurations; only its
// owner can read it (0600). The log holds neither.
package a2aserver
