// Package historyreplay sends the recorded requests of conversations again, under
// several history policies, and compares what comes back: refusals, tokens, cached
// tokens, answers.
//
//	record → cases → for each policy a request → rows → report
//
// A [Collector] makes cases of exchanges. A [Runner] asks the model and writes a row
// for each reply. A [Tally] makes the report from the rows alone.
package historyreplay
