// Package metagraph remembers what was solved, so that the next problem is
// cheaper: a graph of distilled templates in one file.
//
//	g, err := metagraph.Open("memory.db", metagraph.Options{})
//	p := answer.Problem{Input: "3 5 8 11"}
//	passed, _ := metagraph.Judge(answer.Game24, p, "(8-5)*(11-3)", "")
//	query := metagraph.Query(answer.Game24, p) // Solve 24 with 3 5 8 11
//	_, err = g.Learn(ctx, metagraph.Outcome{Task: "game24", Query: query, Passed: passed})
//	paths, err := g.Retrieve(ctx, metagraph.Search{Task: "game24", Query: "Solve 24 with 3 5 9 11"})
//	fmt.Print(paths[0].Text())
//	// Template: (d-a)*(c-b)
//	// Task: game24
//	// Input: Solve 24 with 3 5 8 11
//	// Solution: (8-5)*(11-3)
//
// # Vocabulary
//
// A node is a trace (one problem and its solution, distilled) or a template (an
// expression over slots, of package symbolic). An edge says what a node was used
// for, and how that went. A path is a trace and the template that solved it, as a
// prompt is told. The canonical query of a problem is what every way to pose it
// has in common.
//
// # Guarantees
//
//  1. Nothing enters that did not pass: [Graph.Learn] takes a solution only as a
//     [Passed], which only [Judge] makes, and [Graph.Import] judges every node
//     again. What a model reasoned cannot enter: a Passed holds the candidate, and
//     of the visible text what the task distils.
//  2. Problems with one canonical query are one trace, and solutions that are one
//     function one template: 11 8 5 2 and 2 5 8 11 meet the same node.
//  3. A read changes nothing. Ageing is worked out from the times when it is asked
//     for.
//  4. What failed elsewhere does not count against a node: its rank for a query,
//     and whether it is pruned, depend on its successes and on that query alone.
//  5. A change is in the graph whole or not at all, and survives kill -9. Any
//     number of goroutines and of processes on one machine read and write at the
//     same time.
//  6. An outcome with an ID is learned once, however often it is handed in.
//  7. An export, imported into an empty graph, gives the same graph.
//
// # Retrieval
//
// Queries are compared as multisets of words, the rarer word counting more: 4 4 7
// 10 is not 4 7 7 10. Where the caller has embeddings, also by their cosine; the
// larger of the two counts. What is below the floor is not given, and what is given
// fits into the budget of tokens.
//
// # Files
//
// The graph is an SQLite file with mode 0600, and its log and index beside it
// (-wal, -shm). It must not lie on a network's file system, whose locks SQLite
// cannot trust. Everything that is searched is held in memory, about 1 KB a node.
//
// # Security
//
// What a node holds was written by users and models: escape it where it is shown.
// A validator that can be fooled lets wrong nodes in; the gate is as good as the
// task's Validate.
package metagraph
