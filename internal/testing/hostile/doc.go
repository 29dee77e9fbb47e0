// Package hostile attacks the sotto command as a hostile peer would: as a model
// server, as a client, and as an agent that speaks A2A. It holds tests only.
//
// Each attack runs against the real program in a process of its own, because
// what matters here happens to a process: it dies, it grows, it stops
// answering. An attack states its bound as a count: the peak of the process's
// resident memory, its open descriptors, the requests that are still answered.
// No test asserts a duration; the deadlines only turn a hang into a failure.
//
// The packages hold the finer tests: one for each fault, in the package that
// has the rule. docs/evidence/threats-from-clients.md and threats-from-servers.md list them.
package hostile
