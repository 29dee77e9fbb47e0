// Package solve puts a stream of problems to a model, with a memory of what was
// solved before, and says what the memory saved.
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
// Each problem is distilled to its canonical query; memory is asked; the model is
// asked, with what memory gave; the reply is read, the candidate extracted and
// validated; if it is wrong the model is told why and asked again, as often as
// there are temperatures; and what passed is distilled and learned.
//
//	mode      memory is read and written   the prompt
//	io        no                           wants the answer only
//	cot       no                           the instruction of the dialect
//	graph     yes                          the same, with paths as examples
//	template  yes                          none, where a known template solves the
//	                                       game by exact substitution; else as graph
//
// # Guarantees
//
//  1. The validator sees the candidate, never the reply; memory gets what passed,
//     never reasoning; and a retry is told the candidate and the reason, never
//     reasoning and never the right answer.
//  2. A finished problem is never done again: its result and what memory learned
//     of it are one transaction, and a stream that was killed goes on behind it.
//  3. A budget is looked at before every call of the model. The call that crosses
//     it is paid for, and ends the stream.
//  4. Everything is in the record, if there is one: every call with its reply byte
//     for byte, every extraction with its verdict, what memory gave and learned.
//
// # Tasks
//
// [TaskNamed] finds the tasks that come with the package: game24, countdown, gsm8k,
// mgsm, wordsort, and all of package answer. A task of one's own is an
// [answer.Task] with one method more; see [Task].
package solve
