// Package metagraph remembers solved problems, so that the next problem is cheaper.
// It keeps a graph of distilled templates in one file.
//
//	g, err := metagraph.Open("memory.db", metagraph.Options{})
//	p := answer.Problem{Input: "3 5 8 11"}
//	passed, _ := metagraph.Judge(answer.Game24, p, "(8-5)*(11-3)", "")
//	query := metagraph.Query(answer.Game24, p) // Solve 24 with 3 5 8 11
//	_, err = g.Learn(ctx, metagraph.Attempt{Task: "game24", Query: query, Passed: passed})
//	paths, err := g.Retrieve(ctx, metagraph.Search{Task: "game24", Query: "Solve 24 with 3 5 9 11"})
//	fmt.Print(paths[0].Text())
//	// Template: (d-a)*(c-b)
//	// Task: Game24
//	// Input: 3 5 8 11
//	// Solution: (8-5)*(11-3)
//
// # Vocabulary
//
// A node is a trace or a template. A trace is one problem and its solution,
// distilled. A template is an expression over slots, made by package symbolic. An
// edge says what a node was used for, and with what outcome. A path is a trace and
// the template that solved it, in the form that goes into a prompt. The canonical
// query of a problem is the same for every way to pose it.
//
// # Guarantees
//
//  1. Nothing enters without passing: [Graph.Learn] takes a solution only as a
//     [Passed], which only [Judge] makes, and [Graph.Import] judges every node
//     again. What a model reasoned cannot enter: a Passed holds the candidate, and
//     from the visible text only what the task distils.
//  2. Problems with one canonical query are one trace, and solutions that are one
//     function one template: 11 8 5 2 and 2 5 8 11 meet the same node.
//  3. A read changes nothing. The age of a node is computed from its times on
//     each read.
//  4. Failures at other queries do not count against a node. Its rank for a query,
//     and whether it is pruned, depend only on its successes and on that query.
//  5. A change is applied in full or not at all, and survives kill -9. Any
//     number of goroutines and of processes on one machine read and write at the
//     same time.
//  6. An attempt with an ID is learned once, however often it is submitted, until
//     [Graph.Prune] removes old IDs of its task.
//  7. An export, imported into an empty graph, gives the same graph, except for its
//     identity and the IDs of attempts.
//  8. A node names the model whose solution it was first.
//
// # Retrieval
//
// Queries are compared as multisets of words, in which rarer words count more: 4 4
// 7 10 is not 4 7 7 10. If the caller has embeddings, queries are also compared by
// the cosine of their embeddings, and the larger similarity counts. Paths below the
// floor are not returned, and the returned paths fit into the token budget.
//
// # Files
//
// The graph is an SQLite file with mode 0600. SQLite keeps its log and index beside
// it (-wal, -shm). The file must not be on a network file system, because SQLite
// cannot rely on its locks. All data for searches is held in memory, about 1 KB per
// node.
//
// The file's application_id and user_version say what it is. [Open] reads them
// before it changes anything: a file of another program, or of a newer version, is
// refused as it is. A file of an older version is migrated in one transaction. A
// process that still runs the older version then fails at its next change.
//
// With [Options.ReadOnly] the file need not be writable. If SQLite cannot make its
// files beside the graph, the graph is read as it is on the disk, and nobody may
// write it meanwhile.
//
// # Security
//
// Users and models wrote the contents of nodes: escape them when you show them. A
// validator that can be fooled lets wrong nodes in. The check is only as good as
// the task's Validate.
package metagraph
