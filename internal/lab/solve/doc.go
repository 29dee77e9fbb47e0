// Package solve gives a stream of problems to a model, with a memory of problems
// solved before, and reports what the memory saved.
//
//	memory, err := metagraph.Open("memory.db", metagraph.Options{})
//	s, err := solve.New(solve.Options{
//		Task: task, Mode: solve.Template, Model: m, Memory: memory,
//	})
//	err = s.Stream(ctx, problems, nil, solve.Budget{Tokens: 100_000}, func(r solve.Result) error {
//		fmt.Println(r.ID, r.Solved, r.Hit)
//		return nil
//	})
//
// # The loop
//
// Each problem is distilled to its canonical query. The solver looks the query up
// in memory and asks the model, with what memory returned. It reads the reply,
// and extracts and validates the candidate. If the candidate is wrong, it asks
// again, and says why the candidate is wrong. There are as many attempts as
// temperatures. A solution that passes is distilled and learned.
//
//	mode      memory is read and written   the prompt
//	io        no                           asks for the answer only
//	cot       no                           the instruction of the dialect
//	graph     yes                          the same, with paths as examples
//	template  yes                          none, if a known template solves the
//	                                       game by exact substitution; otherwise as graph
//	bot       yes                          the kind of the problem first, then the best path alone
//	tot       no                           steps that are proposed and chosen, then the answer
//	got       no                           three ways that are chosen and merged, then the answer
//
// The columns of memory are those of the command line: io, cot, bot, tot and got read and
// write a memory if they are given one. A call of tot and got for another step than the
// answer is a try with a step; only the reply to the last call of an attempt is judged. No
// mode runs code that a model writes.
//
// # Guarantees
//
//  1. The validator sees the candidate, never the reply. Memory gets what passed,
//     never reasoning. The prompt of a retry has the candidate and the reason, never
//     reasoning and never the right answer.
//  2. A finished problem is never solved again: its result and what memory learned
//     from it are one transaction, and a stream that was killed resumes after it.
//  3. The budget is checked before every call of the model. The call that crosses
//     it counts, and ends the stream.
//  4. Memory keeps the name of the model that each solution comes from, and a
//     result names the model whose template solved it. A model's own share never
//     includes that of another.
//  5. If there is a record, it holds everything: every call with its reply byte
//     for byte, every extraction with its verdict, what memory returned and learned.
//
// # Tasks
//
// [TaskNamed] finds the tasks that come with the package: those of package
// answer. [Shipped] has problems of some. Your own task is an [answer.Task] with
// one more method; see [Task].
package solve
