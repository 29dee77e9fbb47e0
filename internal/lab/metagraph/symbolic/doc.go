// Package symbolic makes templates from solved arithmetic games and solves further
// games with them. Its arithmetic is exact.
//
//	t, err := symbolic.Abstract("(8-5)*(11-3)") // 3 5 8 11 make 24
//	fmt.Println(t)                              // (d-a)*(c-b)
//	fmt.Println(t.Fill([]int64{1, 4, 7, 9}))    // (9-1)*(7-4)
//
// A [Template] is an expression in which every number is a slot: a is the smallest
// number of the game, b the next, and so on. Each slot occurs once.
//
// # Guarantees
//
//  1. Two templates are the same function of their slots if and only if they have
//     the same key. The key does not depend on the order in which a game or its
//     solution names the numbers, on brackets, or on signs that cancel.
//  2. Values are exact fractions, whatever the size of the numbers; a division by
//     zero has no value.
//  3. What [Template.Fill] returns has the value that [Template.Makes] tests for,
//     in any parser that knows + - * / and parentheses.
//
// Templates are immutable and safe for concurrent use.
package symbolic
