// Package dialect describes how models mark their thoughts, their calls and their answers
// in the text of a reply.
//
// A [Dialect] is data. It says which markers there are, which channel each gives the text
// that it encloses, where markers count, and how a reply of the model begins. The package
// comes with the dialects of the known families of models; package dialectfile reads files
// with others. It does not read replies: package sotto compiles a dialect into a grammar,
// which does.
//
//	d, known := dialect.ForModel("qwen3:8b") // the data
//	g, known := sotto.ForModel("qwen3:8b")   // the grammar of the same dialect
//
// docs/reference/dialect-file.md of the source tree describes the fields, and lists the dialects.
package dialect
